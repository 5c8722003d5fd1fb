"""The engine's limits, its structured output, and what it keeps (spec page 7)."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.probe import EngineConfig, PermissionDenial, TurnEngine


def test_a_turn_is_kept_and_counted_in_words() -> None:
    engine = TurnEngine(EngineConfig(), "s")
    result = engine.submit_message("review  this\tfile", ["review"], ["Read"], [PermissionDenial("Bash", "no")])
    assert result.stop_reason == "completed"
    assert result.output.startswith("Prompt: review")
    assert (result.matched_commands, result.matched_tools) == (("review",), ("Read",))
    assert result.permission_denials == (PermissionDenial("Bash", "no"),)
    assert result.usage.input_tokens == 3
    assert result.usage.output_tokens == len(result.output.split())
    assert engine.replay_user_messages() == ("review  this\tfile",)


def test_at_the_message_limit_nothing_is_stored() -> None:
    engine = TurnEngine(EngineConfig(max_turns=1), "s")
    first = engine.submit_message("one")
    second = engine.submit_message("two")
    assert second.stop_reason == "max_turns_reached"
    assert "two" in second.output
    assert second.usage == first.usage
    assert engine.replay_user_messages() == ("one",)


def test_an_engine_without_room_takes_nothing() -> None:
    engine = TurnEngine(EngineConfig(max_turns=0), "s")
    assert engine.submit_message("one").stop_reason == "max_turns_reached"
    assert engine.replay_user_messages() == ()


def test_over_budget_the_turn_is_stored_and_says_so() -> None:
    engine = TurnEngine(EngineConfig(max_budget_tokens=5), "s")
    result = engine.submit_message("one")
    assert result.stop_reason == "max_budget_reached"
    assert result.usage.total > 5
    assert engine.replay_user_messages() == ("one",)


def test_exactly_the_budget_is_within_it() -> None:
    used = TurnEngine(EngineConfig(), "s").submit_message("one").usage.total
    assert TurnEngine(EngineConfig(max_budget_tokens=used), "s").submit_message("one").stop_reason == "completed"
    engine = TurnEngine(EngineConfig(max_budget_tokens=used - 1), "s")
    assert engine.submit_message("one").stop_reason == "max_budget_reached"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.characters(codec=None), max_size=60), st.integers(0, 2), st.integers(0, 30))
def test_structured_output_is_one_json_object_on_every_turn(prompt: str, max_turns: int, budget: int) -> None:
    engine = TurnEngine(EngineConfig(max_turns, budget, structured_output=True), "s")
    for _ in range(3):
        output = engine.submit_message(prompt, ["a"], ["\udfff"]).output
        found = json.loads(output)
        assert set(found) == {"summary", "session_id"}
        assert found["session_id"] == "s"
        json.dumps(found, ensure_ascii=False).encode()
        assert "\n" not in output


def test_plain_output_can_always_be_encoded() -> None:
    TurnEngine(EngineConfig(), "s").submit_message("\ud800 x").output.encode()
