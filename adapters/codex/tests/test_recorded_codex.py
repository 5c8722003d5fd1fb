"""Recorded conversations with Codex: each ends as what it was, whatever its exit status says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import ExecutorSettings, Notice, PermissionAnswer, PermissionAsked, TextDelta, ToolFinished
from touchline.testing import RecordedExecutorContract
from touchline.testing.replay import ReplayCli
from touchline.turn.settle import FailureKind
from touchline_codex.executor import CodexExecutor

Play = Callable[..., Any]
FOLDER = Path(__file__).parent
NO = PermissionAnswer(False, "touchline: no")


def recorded(name: str, session: str = "11111111-2222-4333-8444-555555555555") -> bytes:
    """What the server said, with the thread that the test asks for."""
    text = (FOLDER / "data" / "0.171.0" / f"{name}.jsonl").read_text(encoding="utf-8")
    thread = text.partition('"result":{"thread":{"id":"')[2].partition('"')[0]
    assert thread
    return text.replace(thread, session).encode()


class TestRecordedCodex(RecordedExecutorContract):
    def driver(self, command: tuple[str, ...]) -> CodexExecutor:
        return CodexExecutor(ExecutorSettings(command=command))

    def stream(self, text: str, session_id: str) -> bytes:
        said = json.dumps('Done.\n{"branch":"work","commit":"HEAD","summary":"added a.txt"}')[1:-1]
        lines = recorded("resumed", session_id).decode()
        assert said in lines
        return lines.replace(said, json.dumps(text, ensure_ascii=False)[1:-1]).encode()


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("status_429", 0, FailureKind.RATE_LIMIT),
        ("status_500", 0, FailureKind.MODEL_ERROR),
        ("refused", 0, FailureKind.MODEL_ERROR),
        ("interrupted", 0, FailureKind.CRASHED),
        ("killed", -9, FailureKind.CRASHED),
        ("without_end", 0, FailureKind.LOST_RESULT),
        ("without_end", 1, FailureKind.CRASHED),
    ],
)
def test_recorded_failure_has_its_kind_whatever_the_exit_status(
    play: Play, tmp_path: Path, name: str, status: int, kind: FailureKind
) -> None:
    played = play(ReplayCli(tmp_path, recorded(name), status=status))
    assert played.turn.failure.kind is kind
    assert played.turn.failure.reason


def test_turn_that_ends_after_a_denial_is_a_refused_permission(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("cancelled")), permit=NO)
    assert played.turn.failure.kind is FailureKind.REFUSED_PERMISSION


@pytest.mark.parametrize("name", ["declined", "declined_with_reason", "declined_in_code_mode", "approvals"])
def test_recorded_end_keeps_text_and_usage(play: Play, tmp_path: Path, name: str) -> None:
    played = play(ReplayCli(tmp_path, recorded(name)), permit=NO)
    assert played.turn.failure is None
    assert played.turn.text
    assert "".join(event.text for event in played.events if isinstance(event, TextDelta)) == played.turn.text
    assert played.turn.session_id == "11111111-2222-4333-8444-555555555555"
    assert played.turn.model
    assert (played.turn.usage.input, played.turn.usage.output) in [(200, 40), (300, 60)]


def test_usage_of_a_resumed_session_leaves_out_the_turns_before(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("resumed")), resume=True)
    assert (played.turn.usage.input, played.turn.usage.output) == (100, 20)


def test_denial_is_answered_after_its_reason_was_sent_as_input(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("declined"), wait_for_lines=6)
    played = play(cli, permit=NO)
    sent = [json.loads(line) for line in cli.stdin()]
    assert [one.get("method", "answer") for one in sent] == [
        *("initialize", "initialized", "thread/start", "turn/start", "turn/steer", "answer")
    ]
    assert sent[4]["params"]["input"][0]["text"].endswith("`: touchline: no")
    assert sent[5] == {"id": 0, "result": {"decision": "decline"}}
    assert [event.status for event in played.events if isinstance(event, ToolFinished)] == ["denied"]


def test_allowed_request_is_accepted_this_once(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("declined"), wait_for_lines=5)
    play(cli)
    assert json.loads(cli.stdin()[4]) == {"id": 0, "result": {"decision": "accept"}}


@pytest.mark.parametrize(("role", "asked"), [("executor", 1), ("player", 0), ("verifier", 0)])
def test_only_a_role_that_commits_may_ask_to_leave_the_sandbox(
    play: Play, tmp_path: Path, role: str, asked: int
) -> None:
    cli = ReplayCli(tmp_path, recorded("declined_with_reason"), wait_for_lines=5)
    played = play(cli, role=role)
    assert len([event for event in played.events if isinstance(event, PermissionAsked)]) == asked
    decision = "accept" if asked else "decline"
    assert {"id": 0, "result": {"decision": decision}} in [json.loads(line) for line in cli.stdin()]


@pytest.mark.parametrize("method", ["item/tool/requestUserInput", "item/permissions/requestApproval", "new/idea"])
def test_request_that_is_not_offered_is_refused(play: Play, tmp_path: Path, method: str) -> None:
    request = json.dumps({"id": "r-1", "method": method, "params": {}}).encode() + b"\n"
    cli = ReplayCli(tmp_path, request + recorded("resumed"), wait_for_lines=5)
    played = play(cli)
    refused = [message for line in cli.stdin() if (message := json.loads(line)).get("id") == "r-1"]
    assert [one["error"]["code"] for one in refused] == [-32601]
    assert any(method in event.text for event in played.events if isinstance(event, Notice))
    assert played.turn.failure is None


def test_resumed_thread_is_asked_for_without_its_history(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("resumed"), wait_for_lines=4)
    play(cli, resume=True)
    call = json.loads(cli.stdin()[2])
    assert call["method"] == "thread/resume"
    assert call["params"]["threadId"] == "11111111-2222-4333-8444-555555555555"
    assert call["params"]["excludeTurns"] is True


def test_thread_that_is_not_there_is_a_lost_resume(play: Play, tmp_path: Path) -> None:
    answers = [{"id": 1, "result": {}}, {"id": 2, "error": {"code": -32600, "message": "no rollout found"}}]
    stream = "".join(json.dumps(one) + "\n" for one in answers).encode()
    assert play(ReplayCli(tmp_path, stream), resume=True).turn.lost_resume


def test_refused_start_says_what_was_refused(play: Play, tmp_path: Path) -> None:
    answers = [{"id": 1, "result": {}}, {"id": 2, "error": {"code": -32600, "message": "unknown variant `untrusted`"}}]
    stream = "".join(json.dumps(one) + "\n" for one in answers).encode()
    failure = play(ReplayCli(tmp_path, stream)).turn.failure
    assert failure.kind is FailureKind.PROTOCOL
    assert "thread/start: unknown variant" in failure.reason


@pytest.mark.parametrize(
    "stderr", ["Error: Unknown feature flag: apps\n", "error: unexpected argument '--disable' found\n"]
)
def test_option_that_a_version_does_not_know_is_a_protocol_failure(play: Play, tmp_path: Path, stderr: str) -> None:
    played = play(ReplayCli(tmp_path, b"", status=1, stderr=stderr))
    assert played.turn.failure.kind is FailureKind.PROTOCOL
