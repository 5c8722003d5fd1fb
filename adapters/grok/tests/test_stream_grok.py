"""Reading the stream never raises, never invents an end, and believes nothing before the hook has spoken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.executor import Notice, SessionStarted, TextDelta, ToolStarted, UsageReported
from touchline_grok.stream import GrokStream, HookCall, HookHeard

DATA = Path(__file__).with_name("data") / "1.0.41"
KEYS = st.sampled_from(
    [
        *("type", "data", "id", "event", "sessionId", "hookEventName", "toolUseId", "toolName", "toolInput", "inside"),
        *("toolInputTruncated", "toolCallId", "rawInput", "rawOutput", "status", "content", "text", "usage", "command"),
        *("stopReason", "modelUsage", "total_cost_usd", "input_tokens", "output_tokens", "message", "exit_code"),
    ]
)
TYPES = st.sampled_from(
    [
        *("text", "thought", "tool_call", "tool_call_update", "usage", "end", "error", "end_turn", "pre_tool_use"),
        *("bridge.hook", "bridge.exited", "bridge.failed", "max_turns_reached", "completed", "failed", "in_progress"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | TYPES
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)
RECORDED = [line for path in sorted(DATA.glob("*.jsonl")) for line in path.read_text().splitlines()]
HOOK = {"type": "bridge.hook", "id": 1, "event": {"sessionId": "s-1", "hookEventName": "user_prompt_submit"}}


def feed(*events: object) -> tuple[list[object], GrokStream]:
    stream = GrokStream(session_id="s-1")
    return [item for event in events for item in stream.feed(json.dumps(event))], stream


def fed(lines: list[str]) -> GrokStream:
    stream = GrokStream(session_id="s-1")
    for line in lines:
        assert all(item is not None for item in stream.feed(line))
    return stream


def ends_well(lines: list[str]) -> bool:
    """Whether some prefix of what the stream needs for a good end is there at all."""
    return any('"end_turn"' in line and '"type":"end"' in line.replace(": ", ":") for line in lines)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.dictionaries(KEYS, VALUES, max_size=6), TYPES), max_size=5))
def test_any_json_is_read_without_an_error(events: list[tuple[dict[str, object], str]]) -> None:
    stream = fed([json.dumps({**fields, "type": kind}) for fields, kind in events])
    if stream.result is not None and stream.result.failure is None:
        assert any(kind == "end" and fields.get("stopReason") == "end_turn" for fields, kind in events)
        assert any(kind == "bridge.hook" for _, kind in events)


@given(st.text())
def test_any_line_is_read_without_an_error(line: str) -> None:
    stream = GrokStream(session_id="s-1")
    assert all(isinstance(item, Notice) for item in stream.feed(line))
    assert stream.result is None


@given(st.lists(st.sampled_from(RECORDED), max_size=30))
def test_recorded_lines_in_any_order_and_number_are_read_and_end_well_only_at_an_end(lines: list[str]) -> None:
    stream = fed(lines)
    if stream.result is not None and stream.result.failure is None:
        assert ends_well(lines)


@given(st.sampled_from(RECORDED), st.integers(0, 2000))
def test_truncated_line_is_never_an_end(line: str, size: int) -> None:
    cut = line[: min(size, len(line) - 1)]
    stream = fed([json.dumps(HOOK), cut])
    assert stream.result is None


@pytest.mark.parametrize("name", ["allowed_tool", "denied_tool", "resumed"])
def test_every_line_of_a_good_end_doubled_ends_once_and_well(name: str) -> None:
    lines = (DATA / f"{name}.jsonl").read_text().splitlines()
    once, twice = fed(lines), fed([line for line in lines for _ in range(2)])
    assert once.result is not None
    assert twice.result is not None
    assert twice.result.failure is None
    assert twice.result.text == once.result.text * 2  # equal pieces of a text are not told from a text that repeats


def test_deeply_nested_line_is_a_notice() -> None:
    assert [type(item) for item in GrokStream(session_id="s-1").feed("[" * 100_000)] == [Notice]


def test_unknown_event_is_a_notice() -> None:
    (notice,), _ = feed({"type": "telepathy", "content": "?"})
    assert isinstance(notice, Notice)
    assert "telepathy" in notice.text


def test_first_word_of_the_hook_opens_the_session() -> None:
    items, _ = feed(HOOK, {"type": "text", "data": "Hi."})
    assert items == [SessionStarted("s-1"), HookHeard(1), TextDelta("Hi.")]


def test_call_of_the_hook_holds_the_whole_input() -> None:
    given_input = {"command": "ls"}
    call = {
        "hookEventName": "pre_tool_use",
        "toolUseId": "c1",
        "toolName": "run_terminal_command",
        "toolInput": given_input,
        "toolInputTruncated": False,
    }
    items, _ = feed(HOOK, {"type": "bridge.hook", "id": 2, "event": call, "inside": False})
    assert items[-1] == HookCall(2, "run_terminal_command", given_input, "c1", False, False)
    items, _ = feed(HOOK, {"type": "bridge.hook", "id": 2, "event": {**call, "toolInputTruncated": True}})
    assert isinstance(items[-1], HookCall)
    assert items[-1].truncated


def test_text_before_the_last_tool_is_not_the_final_text() -> None:
    _, stream = feed(
        HOOK,
        {"type": "text", "data": "First I look."},
        {"type": "usage", "usage": {}},
        {"type": "tool_call", "toolCallId": "c1", "toolName": "read_file", "rawInput": {"target_file": "a"}},
        {"type": "tool_call_update", "toolCallId": "c1", "status": "completed"},
        {"type": "text", "data": "Do"},
        {"type": "text", "data": "ne."},
        {"type": "usage", "usage": {}},
        {"type": "end", "stopReason": "end_turn", "sessionId": "s-1"},
    )
    assert stream.result is not None
    assert (stream.result.text, stream.result.failure) == ("Done.", None)


def test_error_after_an_end_takes_the_end_back() -> None:
    end = {"type": "end", "stopReason": "end_turn", "sessionId": "s-1"}
    _, stream = feed(HOOK, {"type": "usage", "usage": {}}, end, {"type": "error", "message": "could not save"})
    assert stream.result is not None
    assert stream.result.failure is not None


def test_usage_adds_up_to_what_the_end_tells_with_its_cost() -> None:
    step = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 3}
    total = {"input_tokens": 30, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 9}
    items, _ = feed(
        HOOK,
        {"type": "usage", "usage": step},
        {"type": "end", "stopReason": "end_turn", "sessionId": "s-1", "usage": total, "total_cost_usd": 0.5},
    )
    reports = [item for item in items if isinstance(item, UsageReported)]
    assert [(report.input, report.output, report.cached, report.cost) for report in reports] == [
        (17, 3, 5, None),
        (20, 6, 0, 0.5),
    ]


def test_what_a_person_sees_of_a_call_is_its_most_telling_field() -> None:
    items, _ = feed(HOOK, {"type": "tool_call", "toolCallId": "c", "toolName": "x", "rawInput": {"b": 1, "a": 2}})
    assert items[-1] == ToolStarted("x", '{"a": 2, "b": 1}', "c")
