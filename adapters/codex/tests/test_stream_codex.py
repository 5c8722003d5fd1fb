"""Reading the conversation never raises and never invents an end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.executor import (
    Notice,
    PermissionAnswer,
    ReasoningDelta,
    Retrying,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from touchline.turn.settle import FailureKind
from touchline_codex.approvals import PermissionRequest, script_of
from touchline_codex.conversation import Conversation, Send, TurnPlan

CWD = Path("/repo")
RECORDED = sorted((Path(__file__).parent / "data" / "0.171.0").glob("*.jsonl"))
ENDS = {"approvals", "declined", "declined_with_reason", "declined_in_code_mode", "refused_request", "resumed"}
LINES = [line for path in RECORDED for line in path.read_text(encoding="utf-8").splitlines()]

KEYS = st.sampled_from(
    [
        *("id", "method", "params", "result", "error", "message", "thread", "threadId", "turn", "turnId", "item"),
        *("type", "status", "text", "delta", "itemId", "changes", "path", "kind", "move_path", "command", "cwd"),
        *("tokenUsage", "total", "last", "inputTokens", "outputTokens", "codexErrorInfo", "httpStatusCode"),
        *("willRetry", "additionalDetails", "rateLimits", "primary", "resetsAt", "usedPercent", "durationMs"),
        *("exitCode", "items", "phase", "delivery", "reason", "grantRoot", "model"),
    ]
)
WORDS = st.sampled_from(
    [
        *("turn/completed", "turn/started", "item/started", "item/completed", "item/agentMessage/delta", "error"),
        *("thread/tokenUsage/updated", "account/rateLimits/updated", "item/commandExecution/requestApproval"),
        *("item/fileChange/requestApproval", "completed", "failed", "interrupted", "declined", "commandExecution"),
        *("fileChange", "agentMessage", "mcpToolCall", "usageLimitExceeded", "T", "U", "commentary", "\ud800"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)


def conversation(*, resume_id: str = "", may_leave_sandbox: bool = False) -> Conversation:
    plan = TurnPlan("Do it.", CWD, {}, resume_id=resume_id, may_leave_sandbox=may_leave_sandbox)
    talk = Conversation(plan)
    talk.opening()
    return talk


def feed(talk: Conversation, *messages: object) -> list[object]:
    return [item for message in messages for item in talk.feed(json.dumps(message))]


def begun(**plan: bool) -> Conversation:
    """A conversation whose thread T runs the turn U."""
    talk = conversation(**plan)
    feed(talk, {"id": 1, "result": {}}, {"id": 2, "result": {"thread": {"id": "T"}, "model": "m"}})
    feed(talk, {"id": 3, "result": {"turn": {"id": "U"}}})
    return talk


def note(method: str, *, thread: str = "T", turn: str = "U", **fields: object) -> dict[str, object]:
    return {"method": method, "params": {"threadId": thread, "turnId": turn, **fields}}


def end(status: str = "completed", *, thread: str = "T", turn: str = "U", **fields: object) -> dict[str, object]:
    return {
        "method": "turn/completed",
        "params": {"threadId": thread, "turn": {"id": turn, "status": status, **fields}},
    }


def said(text: str, **fields: object) -> dict[str, object]:
    return note("item/completed", item={"type": "agentMessage", "id": "m", "text": text, **fields})


@settings(deadline=None)
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=8), max_size=4))
def test_any_json_is_read_without_an_error(messages: list[dict[str, object]]) -> None:
    talk = begun()
    for message in messages:
        for item in talk.feed(json.dumps(message)):
            assert item is not None
            if isinstance(item, PermissionRequest):
                assert json.dumps(talk.answer(item, PermissionAnswer(False, "no")))
    if talk.result is not None and talk.result.failure is None:
        assert any(message.get("method") == "turn/completed" for message in messages)


@settings(deadline=None)
@given(st.text())
def test_any_line_is_read_without_an_error(line: str) -> None:
    talk = begun()
    assert all(isinstance(item, Notice) for item in talk.feed(line))
    assert talk.result is None


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(LINES), max_size=60))
def test_recorded_lines_in_any_order_are_no_end_without_an_end_of_that_turn(lines: list[str]) -> None:
    talk = conversation()
    for line in lines:
        list(talk.feed(line))
    if talk.result is not None and talk.result.failure is None:
        ended = {json.loads(line)["params"]["turn"]["id"] for line in lines if '"turn/completed"' in line}
        begun_ids = {json.loads(line)["result"]["turn"]["id"] for line in lines if '"result":{"turn"' in line}
        told = {json.loads(line)["params"]["turn"]["id"] for line in lines if '"turn/started"' in line}
        assert ended & (begun_ids | told)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(RECORDED), st.data())
def test_truncated_recording_is_no_end(path: Path, data: st.DataObject) -> None:
    content = path.read_text(encoding="utf-8").rstrip("\n")
    cut = data.draw(st.integers(0, len(content) - 1))
    talk = conversation()
    for line in content[:cut].splitlines():
        list(talk.feed(line))
    assert talk.result is None or talk.result.failure is not None


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
@pytest.mark.parametrize("double", [False, True])
def test_recording_ends_the_same_with_every_line_twice(path: Path, double: bool) -> None:
    talk = conversation()
    for line in path.read_text(encoding="utf-8").splitlines():
        for _ in range(1 + double):
            list(talk.feed(line))
    ended_well = talk.result is not None and talk.result.failure is None
    assert ended_well is (path.stem in ENDS)


def test_deeply_nested_line_is_a_notice() -> None:
    assert [type(item) for item in begun().feed("[" * 100_000)] == [Notice]


def test_opening_leads_to_the_prompt_step_by_step() -> None:
    talk = Conversation(TurnPlan("Do \ud800 it.", CWD, {"cwd": "/repo"}))
    assert talk.opening()["method"] == "initialize"
    sent = feed(talk, {"id": 1, "result": {}})
    assert [item.message["method"] for item in sent if isinstance(item, Send)] == ["initialized", "thread/start"]
    started, prompt = feed(talk, {"id": 2, "result": {"thread": {"id": "T"}, "model": "m"}})
    assert started == SessionStarted("T", "m")
    assert isinstance(prompt, Send)
    assert prompt.message["params"] == {"threadId": "T", "input": [{"type": "text", "text": "Do \ufffd it."}]}


def test_key_is_given_before_the_thread_is_opened_and_never_twice() -> None:
    talk = Conversation(TurnPlan("Do it.", CWD, {}, api_key="sk-1"))
    talk.opening()
    _, login = feed(talk, {"id": 1, "result": {}})
    assert isinstance(login, Send)
    assert login.message["params"] == {"type": "apiKey", "apiKey": "sk-1"}
    (thread,) = feed(talk, {"id": 2, "result": {"type": "apiKey"}})
    assert isinstance(thread, Send)
    assert thread.message["method"] == "thread/start"


@pytest.mark.parametrize("other", [end(turn="X"), end(thread="X"), end(thread=""), end(turn="")])
def test_end_of_another_turn_is_no_end(other: dict[str, object]) -> None:
    talk = begun()
    assert [type(item) for item in feed(talk, said("x"), other)] == [TextDelta, Notice]
    assert talk.result is None


def test_end_before_the_turn_began_is_no_end() -> None:
    talk = conversation()
    feed(talk, end(), end(turn=""))
    assert talk.result is None


def test_answer_is_the_last_message_and_not_what_was_said_on_the_way() -> None:
    talk = begun()
    feed(talk, said("first"), said("the answer"), said("looking", phase="commentary"), said("hi", delivery="async"))
    feed(talk, end())
    assert talk.result is not None
    assert talk.result.text == "the answer"


def test_answer_whose_item_was_not_seen_is_taken_from_the_end() -> None:
    talk = begun()
    feed(talk, end(items=[{"type": "agentMessage", "text": "whole"}]))
    assert talk.result is not None
    assert talk.result.text == "whole"


def test_message_is_taken_whole_only_where_its_deltas_were_not_seen() -> None:
    delta = note("item/agentMessage/delta", itemId="m", delta="hi")
    assert feed(begun(), said("hi")) == [TextDelta("hi")]
    assert feed(begun(), delta, said("hi")) == [TextDelta("hi")]


def test_text_of_a_subagent_is_not_the_turns() -> None:
    talk = begun()
    other = note("item/completed", thread="S", item={"type": "agentMessage", "id": "m", "text": "aside"})
    assert feed(talk, other, note("item/agentMessage/delta", thread="S", itemId="m", delta="aside")) == []
    feed(talk, end())
    assert talk.result is not None
    assert talk.result.text == ""


def test_reasoning_is_not_text() -> None:
    assert feed(begun(), note("item/reasoning/textDelta", delta="hm")) == [ReasoningDelta("hm")]


def test_tools_of_every_kind_begin_and_end() -> None:
    command = {"type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'ls -l'"}
    patch = {"type": "fileChange", "id": "p", "changes": [{"path": "/repo/a", "kind": {"type": "add"}, "diff": "+x"}]}
    mcp = {"type": "mcpToolCall", "id": "m", "server": "mail", "tool": "send", "arguments": {"to": "x"}}
    started = feed(begun(), *[note("item/started", item=item) for item in (command, patch, mcp)])
    assert started == [
        ToolStarted("exec_command", "ls -l", "c"),
        ToolStarted("apply_patch", "/repo/a", "p"),
        ToolStarted("mail.send", '{"to": "x"}', "m"),
    ]
    ended = [
        {**command, "status": "completed", "exitCode": 0, "aggregatedOutput": "a\n", "durationMs": 1500},
        {**command, "status": "completed", "exitCode": 2},
        {**patch, "status": "declined"},
        {**mcp, "status": "completed", "result": {"content": []}},
        {**mcp, "status": "inProgress"},
    ]
    finished = feed(begun(), *[note("item/completed", item=item) for item in ended])
    assert finished == [
        ToolFinished("ok", "a\n", 1.5, "c"),
        ToolFinished("error", "", None, "c"),
        ToolFinished("denied", "+x", None, "p"),
        ToolFinished("ok", '{"content": []}', None, "m"),
        ToolFinished("unknown", "", None, "m"),
    ]


def test_unknown_notification_and_unknown_item_are_notices() -> None:
    items = feed(begun(), note("telepathy/updated", message="?"), note("item/started", item={"type": "telepathy"}))
    assert [type(item) for item in items] == [Notice, Notice]


def usage(total: int, last: int, *, thread: str = "T", turn: str = "U") -> dict[str, object]:
    def tokens(count: int) -> dict[str, int]:
        return {"inputTokens": count, "outputTokens": count // 10, "cachedInputTokens": count // 2}

    return note(
        "thread/tokenUsage/updated", thread=thread, turn=turn, tokenUsage={"total": tokens(total), "last": tokens(last)}
    )


def test_usage_is_the_difference_of_totals() -> None:
    reports = feed(begun(), usage(1000, 200), usage(1000, 200), usage(1300, 300))
    assert reports == [UsageReported(200, 20, 100), UsageReported(300, 30, 150)]


def test_usage_told_for_an_earlier_turn_is_not_counted() -> None:
    assert feed(begun(), usage(1000, 200, turn="before"), usage(1100, 100)) == [UsageReported(100, 10, 50)]


def test_usage_of_a_subagent_counts() -> None:
    assert feed(begun(), usage(100, 100, thread="S", turn="V")) == [UsageReported(100, 10, 50)]


def test_announced_retry_is_an_event_and_its_error_is_not_the_end() -> None:
    error = {"message": "Reconnecting... 2/5", "additionalDetails": "stream closed"}
    talk = begun()
    assert feed(talk, note("error", error=error, willRetry=True)) == [Retrying("stream closed", 2)]
    assert talk.result is None


@pytest.mark.parametrize(
    ("info", "message", "kind"),
    [
        ("usageLimitExceeded", "limit", FailureKind.USAGE_LIMIT),
        ("rateLimitExceeded", "slow", FailureKind.RATE_LIMIT),
        ("unauthorized", "who", FailureKind.NOT_AUTHENTICATED),
        ("modelNotFound", "no such", FailureKind.PROTOCOL),
        ("sessionBudgetExceeded", "spent", FailureKind.BUDGET),
        ("tooManyDenials", "no", FailureKind.REFUSED_PERMISSION),
        ("serverOverloaded", "busy", FailureKind.MODEL_ERROR),
        ("contextWindowExceeded", "long", FailureKind.MODEL_ERROR),
        ("somethingNew", "?", FailureKind.MODEL_ERROR),
        ({"httpConnectionFailed": {"httpStatusCode": 529}}, "x", FailureKind.MODEL_ERROR),
        ({"httpConnectionFailed": {"httpStatusCode": None}}, "x", FailureKind.MODEL_ERROR),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "x", FailureKind.NOT_AUTHENTICATED),
        ({"httpConnectionFailed": {"httpStatusCode": 404}}, "x", FailureKind.PROTOCOL),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "x", FailureKind.RATE_LIMIT),
        ({}, "x", FailureKind.MODEL_ERROR),
        (["?"], "x", FailureKind.MODEL_ERROR),
        ("other", "Missing environment variable: `KEY`.", FailureKind.NOT_AUTHENTICATED),
        ("other", "The 'x' model is not supported when using Codex with an account.", FailureKind.PROTOCOL),
        ("other", "stream disconnected before completion", FailureKind.MODEL_ERROR),
    ],
)
def test_typed_error_has_its_kind(info: object, message: str, kind: FailureKind) -> None:
    talk = begun()
    feed(talk, said("half"), end("failed", error={"message": message, "codexErrorInfo": info}))
    assert talk.result is not None
    assert talk.result.failure is not None
    assert talk.result.failure.kind is kind
    assert message in talk.result.failure.reason


def test_error_told_before_the_end_is_used_where_the_end_has_none() -> None:
    talk = begun()
    feed(talk, note("error", error={"message": "slow", "codexErrorInfo": "rateLimitExceeded"}, willRetry=False))
    feed(talk, end("failed", error=None))
    assert talk.result is not None
    assert talk.result.failure is not None
    assert talk.result.failure.kind is FailureKind.RATE_LIMIT


def test_usage_limit_tells_when_the_exhausted_window_opens() -> None:
    limits = {"primary": {"usedPercent": 100, "resetsAt": 4102444800}, "secondary": {"usedPercent": 40, "resetsAt": 1}}
    talk = begun()
    feed(talk, {"method": "account/rateLimits/updated", "params": {"rateLimits": limits}})
    feed(talk, {"method": "account/rateLimits/updated", "params": {"rateLimits": {"primary": None}}})
    feed(talk, end("failed", error={"message": "limit", "codexErrorInfo": "usageLimitExceeded"}))
    assert talk.result is not None
    assert talk.result.failure is not None
    assert talk.result.failure.resets_at == "2100-01-01T00:00:00+00:00"


def test_end_with_an_unknown_status_is_a_protocol_failure() -> None:
    talk = begun()
    feed(talk, said("x"), end("inProgress"))
    assert talk.result is not None
    assert talk.result.failure is not None
    assert talk.result.failure.kind is FailureKind.PROTOCOL


def test_second_end_changes_nothing() -> None:
    talk = begun()
    feed(talk, said("x"), end(), end("failed"))
    assert talk.result is not None
    assert (talk.result.text, talk.result.failure) == ("x", None)


def ask(method: str = "item/commandExecution/requestApproval", **fields: object) -> dict[str, object]:
    return {"id": 0, **note(method, itemId="c", **fields)}


def request_of(talk: Conversation, message: dict[str, object]) -> PermissionRequest:
    (item,) = feed(talk, message)
    assert isinstance(item, PermissionRequest)
    return item


def test_command_is_asked_for_without_the_shell_around_it() -> None:
    request = request_of(begun(), ask(command="/bin/bash -lc 'touch a && ls'", cwd="/repo"))
    assert (request.asked.tool, request.asked.command, request.refusal) == ("bash", "touch a && ls", "")


def test_command_in_another_folder_says_so() -> None:
    request = request_of(begun(), ask(command="/bin/bash -lc ls", cwd="/repo/a b"))
    assert request.asked.command == "cd '/repo/a b' && ls"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"command": None},
        {"command": "ls", "kind": "writeStdin"},
        {"command": "ls", "networkApprovalContext": {"host": "x"}},
        {"command": "ls", "reason": "needs git"},
    ],
)
def test_request_that_cannot_be_judged_or_leaves_the_sandbox_is_refused(fields: dict[str, object]) -> None:
    assert request_of(begun(), ask(**fields)).refusal


def test_patch_is_asked_for_with_every_path() -> None:
    changes = [
        {"path": "/repo/a", "kind": {"type": "add"}},
        {"path": "/repo/b", "kind": {"type": "update", "move_path": "/etc/c"}},
    ]
    talk = begun()
    feed(talk, note("item/started", item={"type": "fileChange", "id": "c", "changes": changes}))
    request = request_of(talk, ask("item/fileChange/requestApproval"))
    assert (request.asked.tool, request.asked.paths) == ("edit", ("/repo/a", "/repo/b", "/etc/c"))
    assert not request.refusal


def test_patch_that_was_not_announced_is_refused() -> None:
    assert request_of(begun(), ask("item/fileChange/requestApproval")).refusal


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("/bin/bash -lc 'echo \"a b\"'", 'echo "a b"'),
        ("/usr/bin/zsh -c ls", "ls"),
        ("/repo/bash -lc ls", "/repo/bash -lc ls"),
        ("./bash -lc ls", "./bash -lc ls"),
        ("/bin/bash -lc ls extra", "/bin/bash -lc ls extra"),
        ("/bin/bash -lc 'open", "/bin/bash -lc 'open"),
        ("git push", "git push"),
    ],
)
def test_only_a_known_shell_is_taken_off(command: str, script: str) -> None:
    assert script_of(command) == script


def test_reason_that_could_not_be_given_is_a_notice() -> None:
    talk = begun()
    request = request_of(talk, ask(command="ls"))
    steer, decline = talk.answer(request, PermissionAnswer(False, "no"))
    assert decline == {"id": 0, "result": {"decision": "decline"}}
    items = feed(talk, {"id": steer["id"], "error": {"message": "no active turn"}})
    assert [type(item) for item in items] == [Notice]
    assert talk.result is None
