"""Reading the stream never raises and never invents an end."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.executor import Notice, PermissionAsked, QuestionAsked, TextDelta, ToolStarted, UsageReported
from touchline_claude.stream import ClaudeStream, PermissionRequest, UnsupportedRequest

KEYS = st.sampled_from(
    [
        *("type", "subtype", "message", "content", "event", "delta", "usage", "request", "request_id", "input"),
        *("result", "is_error", "errors", "id", "text", "session_id", "rate_limit_info", "resetsAt", "modelUsage"),
        *("tool_result_meta", "permission_decision", "permission_denials", "api_error_status", "total_cost_usd"),
        *("model_usage_since_last_result", "questions", "tool_name", "parent_tool_use_id", "output_tokens", "error"),
    ]
)
TYPES = st.sampled_from(
    [
        *("stream_event", "assistant", "user", "system", "control_request", "rate_limit_event", "result", "success"),
        *("message_start", "message_delta", "content_block_delta", "text_delta", "tool_use", "tool_result"),
        *("can_use_tool", "init", "api_retry", "AskUserQuestion", "rejected", "error_during_execution"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | TYPES
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)


def feed(*events: object) -> list[object]:
    stream = ClaudeStream(session_id="s-1")
    return [item for event in events for item in stream.feed(json.dumps(event))]


@settings(deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=8), TYPES)
def test_any_json_is_read_without_an_error(fields: dict[str, object], kind: str) -> None:
    stream = ClaudeStream(session_id="s-1")
    for item in stream.feed(json.dumps({**fields, "type": kind})):
        assert item is not None
    if stream.result is not None and stream.result.failure is None:
        assert fields["is_error"] is False
        assert isinstance(fields["result"], str)


@settings(deadline=None)
@given(st.text())
def test_any_line_is_read_without_an_error(line: str) -> None:
    stream = ClaudeStream(session_id="s-1")
    assert all(isinstance(item, Notice) for item in stream.feed(line))
    assert stream.result is None


def test_deeply_nested_line_is_a_notice() -> None:
    stream = ClaudeStream(session_id="s-1")
    assert [type(item) for item in stream.feed("[" * 100_000)] == [Notice]


def test_unknown_event_is_a_notice() -> None:
    (notice,) = feed({"type": "telepathy", "content": "?"})
    assert isinstance(notice, Notice)
    assert "telepathy" in notice.text


def test_message_whose_deltas_were_not_seen_is_taken_whole() -> None:
    items = feed({"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "whole"}]}})
    assert TextDelta("whole") in items


def test_message_whose_deltas_were_seen_is_not_taken_twice() -> None:
    start = {"type": "stream_event", "event": {"type": "message_start", "message": {"id": "m1"}}}
    delta = {
        "type": "stream_event",
        "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hi"}},
    }
    whole = {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "hi"}]}}
    assert feed(start, delta, whole) == [TextDelta("hi")]


def test_text_of_a_subagent_is_not_the_turns_text() -> None:
    message = {"id": "m2", "content": [{"type": "text", "text": "aside"}]}
    items = feed({"type": "assistant", "parent_tool_use_id": "toolu_1", "message": message})
    assert not any(isinstance(item, TextDelta) for item in items)


def test_permission_request_is_normalised() -> None:
    request = {"subtype": "can_use_tool", "tool_name": "Edit", "input": {"file_path": "/r/a.py"}, "tool_use_id": "t1"}
    (item,) = feed({"type": "control_request", "request_id": "r1", "request": request})
    assert isinstance(item, PermissionRequest)
    assert item.asked == PermissionAsked(
        "t1", "edit", paths=("/r/a.py",), text='Edit {"file_path": "/r/a.py"}', raw_tool="Edit"
    )


def test_tool_that_is_not_known_is_other_and_shows_its_whole_input() -> None:
    request = {"subtype": "can_use_tool", "tool_name": "mcp__mail__send", "input": {"to": "x"}, "tool_use_id": "t1"}
    (item,) = feed({"type": "control_request", "request_id": "r1", "request": request})
    assert isinstance(item, PermissionRequest)
    assert (item.asked.tool, item.asked.command) == ("other", "")
    assert item.asked.text == 'mcp__mail__send {"to": "x"}'


def test_other_control_request_is_unsupported() -> None:
    assert feed({"type": "control_request", "request_id": "r1", "request": {"subtype": "mcp_message"}}) == [
        UnsupportedRequest("r1", "mcp_message")
    ]


def test_question_tool_is_seen_even_though_it_is_disallowed() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "AskUserQuestion", "input": {"questions": [{"question": "Why?"}]}}
    items = feed({"type": "assistant", "message": {"id": "m1", "content": [block]}})
    assert [type(item) for item in items] == [ToolStarted, QuestionAsked]


def test_usage_adds_up_to_what_the_result_tells() -> None:
    delta = {"type": "stream_event", "event": {"type": "message_delta", "usage": {"output_tokens": 7}}}
    start = {
        "type": "stream_event",
        "event": {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 10}}},
    }
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "x",
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 15, "cache_read_input_tokens": 5, "output_tokens": 9},
    }
    reports = [item for item in feed(start, delta, result) if isinstance(item, UsageReported)]
    assert sum(report.input for report in reports) == 20
    assert sum(report.output for report in reports) == 9
    assert sum(report.cached for report in reports) == 5
    assert [report.cost for report in reports if report.cost is not None] == [0.5]
