"""Reading the stream never raises and never invents an end, and the loops of the CLI are cut short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.executor import Notice, QuestionAsked, ReasoningDelta, Retrying, TextDelta, UsageReported
from touchline.turn.settle import FailureKind
from touchline_opencode.stream import STEPS, Abort, OpencodeStream, RulesWanted

DATA = Path(__file__).with_name("data") / "1.18.33"
KEYS = st.sampled_from(
    [
        *(
            "type",
            "properties",
            "part",
            "info",
            "status",
            "error",
            "id",
            "role",
            "messageID",
            "partID",
            "field",
            "delta",
        ),
        *("text", "tool", "callID", "state", "input", "tokens", "cache", "read", "cost", "finish", "messages", "parts"),
        *(
            "permission",
            "patterns",
            "metadata",
            "requestID",
            "attempt",
            "next",
            "message",
            "name",
            "data",
            "statusCode",
        ),
    ]
)
TYPES = st.sampled_from(
    [
        *("message.updated", "message.part.updated", "message.part.delta", "session.status", "session.error"),
        *("permission.asked", "permission.replied", "question.asked", "session.idle", "bridge.agents"),
        *("bridge.session", "bridge.messages", "bridge.failed", "assistant", "stop", "step-finish", "retry", "running"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | TYPES
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)
RECORDED = [line for path in sorted(DATA.glob("*.jsonl")) for line in path.read_text().splitlines()]
OPENED = {"type": "message.updated", "properties": {"info": {"role": "assistant", "id": "m"}}}


def fed(lines: list[str]) -> OpencodeStream:
    stream = OpencodeStream()
    for line in lines:
        assert all(item is not None for item in stream.feed(line))
    return stream


def items(*events: object) -> list[object]:
    stream = OpencodeStream()
    return [item for event in events for item in stream.feed(json.dumps(event))]


def part(**fields: object) -> dict[str, object]:
    return {"type": "message.part.updated", "properties": {"part": {"messageID": "m", **fields}}}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.dictionaries(KEYS, VALUES, max_size=6), TYPES), max_size=5))
def test_any_json_is_read_without_an_error(events: list[tuple[dict[str, object], str]]) -> None:
    stream = fed([json.dumps({**fields, "type": kind}) for fields, kind in events])
    if stream.result is not None and stream.result.failure is None:
        assert any(kind == "bridge.messages" for _, kind in events)


@given(st.text())
def test_any_line_is_read_without_an_error(line: str) -> None:
    stream = OpencodeStream()
    assert all(isinstance(item, Notice) for item in stream.feed(line))
    assert stream.result is None


@given(st.lists(st.sampled_from(RECORDED), max_size=30))
def test_recorded_lines_in_any_order_and_number_end_well_only_at_a_message_list(lines: list[str]) -> None:
    stream = fed(lines)
    if stream.result is not None and stream.result.failure is None:
        assert any('"bridge.messages"' in line and '"finish": "stop"' in line for line in lines)


@given(st.sampled_from(RECORDED), st.integers(0, 4000))
def test_truncated_line_is_never_an_end(line: str, size: int) -> None:
    assert fed([line[: min(size, len(line) - 1)]]).result is None


@pytest.mark.parametrize("name", ["allowed_tool", "denied_tool", "resumed"])
def test_every_line_of_a_good_end_doubled_ends_the_same_way(name: str) -> None:
    lines = (DATA / f"{name}.jsonl").read_text().splitlines()
    own = [line for line in lines if "permission.replied" not in line]
    once, twice = fed(own), fed([line for line in own for _ in range(2)])
    assert once.result is not None
    assert once.result.failure is None
    assert twice.result == once.result


def test_deeply_nested_line_is_a_notice() -> None:
    assert [type(item) for item in OpencodeStream().feed("[" * 100_000)] == [Notice]


def test_unknown_event_is_a_notice() -> None:
    (notice,) = items({"type": "telepathy"})
    assert isinstance(notice, Notice)
    assert "telepathy" in notice.text


def test_text_arrives_once_whether_by_deltas_or_whole() -> None:
    delta = {
        "type": "message.part.delta",
        "properties": {"messageID": "m", "partID": "p", "field": "text", "delta": "Hel"},
    }
    whole = part(id="p", type="text", text="Hello.")
    assert items(OPENED, delta, whole, whole) == [TextDelta("Hel"), TextDelta("lo.")]


def test_reasoning_is_never_text() -> None:
    delta = {
        "type": "message.part.delta",
        "properties": {"messageID": "m", "partID": "p", "field": "text", "delta": "Hm."},
    }
    assert items(OPENED, part(id="p", type="reasoning", text=""), delta) == [ReasoningDelta("Hm.")]


def test_prompt_that_comes_back_is_no_text_of_the_model() -> None:
    assert (
        items(OPENED, {"type": "message.part.updated", "properties": {"part": {"messageID": "u", "text": "Do."}}}) == []
    )


def test_step_is_counted_once_with_everything_that_was_sent() -> None:
    tokens = {"input": 100, "output": 20, "reasoning": 5, "cache": {"read": 30, "write": 7}}
    step = part(id="s", type="step-finish", reason="stop", tokens=tokens, cost=0.5)
    assert items(OPENED, step, step) == [UsageReported(137, 25, 30, 0.5)]


def test_model_without_a_price_has_an_unknown_cost() -> None:
    step = part(id="s", type="step-finish", reason="stop", tokens={"input": 1, "output": 1}, cost=0)
    assert items(OPENED, step) == [UsageReported(1, 1, 0, None)]


def test_retry_is_awaited_only_as_long_as_it_is_announced_from_now() -> None:
    def status(attempt: int, next_ms: int) -> dict[str, object]:
        told = {"type": "retry", "attempt": attempt, "message": "overloaded", "next": next_ms}
        return {"type": "session.status", "properties": {"status": told}, "bridgeTime": 1000.0}

    assert items(status(1, 1_002_500), status(2, 999_000)) == [
        Retrying("overloaded", 1, 2.5),
        Retrying("overloaded", 2, 0.0),
    ]
    assert items(status(4, 1_002_500)) == [Abort("overloaded")]
    assert items(status(1, 5_000_000)) == [Abort("overloaded")]


def test_turn_without_end_is_aborted_by_its_steps() -> None:
    stream = OpencodeStream()
    lines = [json.dumps(OPENED)] + [
        json.dumps(part(id=f"s{number}", type="step-finish", reason="tool-calls")) for number in range(STEPS)
    ]
    aborts = [item for line in lines for item in stream.feed(line) if isinstance(item, Abort)]
    assert len(aborts) == 1
    assert list(stream.feed('{"type": "bridge.failed", "stage": "lost"}')) == []
    assert stream.result is not None
    assert stream.result.failure is not None
    assert stream.result.failure.kind is FailureKind.TIMEOUT


def test_question_tool_is_seen_and_ends_the_turn_though_it_is_refused() -> None:
    asked = {"type": "question.asked", "properties": {"id": "q", "questions": [{"question": "Why?"}]}}
    first, second = items(asked)
    assert first == QuestionAsked("q", "Why?")
    assert isinstance(second, Abort)


def test_rules_are_wanted_once_the_agents_are_known() -> None:
    assert items({"type": "bridge.agents", "agents": [], "default": None}) == [RulesWanted([], None)]
