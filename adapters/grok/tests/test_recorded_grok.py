"""Recorded streams of grok: each ends as what it was, whatever its exit status says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import ExecutorSettings, PermissionAnswer, SessionStarted, TextDelta, ToolFinished, ToolStarted
from touchline.testing import RecordedExecutorContract
from touchline.testing.replay import ReplayCli
from touchline.turn.settle import FailureKind
from touchline_grok.executor import GrokExecutor

Play = Callable[..., Any]
DATA = Path(__file__).with_name("data") / "1.0.41"
SESSION = "11111111-2222-4333-8444-555555555555"
HOOKED = f'{{"type": "bridge.hook", "id": 1, "event": {{"sessionId": "{SESSION}"}}}}\n'


def recorded(name: str, session_id: str = SESSION) -> bytes:
    """A recorded stream with its session replaced by the one that the test asks for."""
    text = (DATA / f"{name}.jsonl").read_text(encoding="utf-8")
    return re.sub(r'("session(?:Id|_id)": ?)"[^"]*"', rf'\1"{session_id}"', text).encode()


def end(stop: str, **more: object) -> bytes:
    return json.dumps({"type": "end", "stopReason": stop, "sessionId": SESSION, **more}).encode() + b"\n"


class TestRecordedGrok(RecordedExecutorContract):
    def driver(self, command: tuple[str, ...]) -> GrokExecutor:
        return GrokExecutor(ExecutorSettings(), bridge=command)

    def stream(self, text: str, session_id: str) -> bytes:
        lines = recorded("resumed", session_id).decode().replace('"Again."', json.dumps(text, ensure_ascii=False))
        return "".join(line for line in lines.splitlines(keepends=True) if "bridge.exited" not in line).encode()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("bad_key", FailureKind.NOT_AUTHENTICATED),
        ("cut", FailureKind.MODEL_ERROR),
        ("killed", FailureKind.CRASHED),
        ("malformed", FailureKind.MODEL_ERROR),
        ("overloaded", FailureKind.MODEL_ERROR),
        ("rate_limit", FailureKind.RATE_LIMIT),
        ("refused", FailureKind.MODEL_ERROR),
        ("unknown_model", FailureKind.PROTOCOL),
        ("usage_limit", FailureKind.USAGE_LIMIT),
    ],
)
@pytest.mark.parametrize("status", [0, 1])
def test_recorded_failure_has_its_kind_whatever_the_exit_status(
    play: Play, tmp_path: Path, name: str, status: int, kind: FailureKind
) -> None:
    played = play(ReplayCli(tmp_path, recorded(name), status=status))
    assert played.turn.failure.kind is kind
    assert played.turn.failure.reason


def test_nobody_logged_in_is_told_with_what_to_do(play: Play, tmp_path: Path) -> None:
    said = {"type": "error", "message": "Not signed in. To authenticate without a browser, run:\n  grok login"}
    played = play(ReplayCli(tmp_path, json.dumps(said).encode() + b"\n", status=1))
    assert played.turn.failure.kind is FailureKind.NOT_AUTHENTICATED
    assert "grok login" in played.turn.failure.reason


@pytest.mark.parametrize(
    "said",
    [
        'Session "x" not found locally, restoring conversation from remote...\nError: Failed to authenticate\n',
        "Couldn't create session: Session does not exist",
        f"Error: Error: Session ID {SESSION} is already in use.\n",
    ],
)
def test_session_that_is_not_there_or_taken_is_a_lost_resume(play: Play, tmp_path: Path, said: str) -> None:
    cli = ReplayCli(tmp_path, b'{"type": "bridge.exited", "status": 1}\n', status=1, stderr=said)
    assert play(cli, resume=True).turn.lost_resume


def test_session_id_that_grok_would_not_take_starts_nothing(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("allowed_tool"))
    assert play(cli, session_id="--yolo").turn.failure.kind is FailureKind.PROTOCOL
    assert play(cli, session_id="latest", resume=True).turn.lost_resume
    assert cli.stdin() == []


def test_recorded_end_keeps_text_tools_model_and_usage(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("allowed_tool"), wait_for_lines=3))
    assert (played.turn.text, played.turn.failure) == ("Done.", None)
    assert [event.input for event in played.events if isinstance(event, ToolStarted)] == ["touch a"]
    assert [event.status for event in played.events if isinstance(event, ToolFinished)] == ["ok"]
    assert played.turn.model == "fake-model"
    assert (played.turn.usage.input, played.turn.usage.output, played.turn.usage.cached) == (260, 40, 60)
    assert played.turn.usage.cost is None


def test_allowed_and_denied_calls_are_answered_to_the_hook(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("denied_tool"), wait_for_lines=3)
    played = play(cli, permit=PermissionAnswer(False, "touchline: no"))
    _, prompt, call = (json.loads(line) for line in cli.stdin())
    assert prompt["decision"] == "allow"
    assert (call["decision"], call["reason"]) == ("deny", "touchline: no")
    assert [event.status for event in played.events if isinstance(event, ToolFinished)] == ["denied"]
    cli = ReplayCli(tmp_path, recorded("allowed_tool"), wait_for_lines=3)
    play(cli)
    assert json.loads(cli.stdin()[2])["decision"] == "allow"


def test_prompt_and_hook_are_files_that_do_not_outlive_the_turn(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("resumed"))
    play(cli)
    order = json.loads(cli.stdin()[0])
    assert "Do it." not in cli.stdin()[0]
    assert order["argv"][:3] == ["grok", "--output-format", "streaming-json"]
    assert not Path(order["folder"]).exists()


@pytest.mark.parametrize("name", ["allowed_tool", "resumed"])
def test_turn_whose_hook_did_not_speak_is_never_believed(play: Play, tmp_path: Path, name: str) -> None:
    lines = recorded(name).splitlines(keepends=True)
    played = play(ReplayCli(tmp_path, b"".join(line for line in lines if b"bridge.hook" not in line)))
    assert played.turn.failure.kind is FailureKind.PROTOCOL
    assert "hook" in played.turn.failure.reason
    assert not any(isinstance(event, TextDelta | ToolStarted) for event in played.events)


def test_tool_that_runs_without_being_asked_for_ends_the_turn(play: Play, tmp_path: Path) -> None:
    lines = [line for line in recorded("allowed_tool").splitlines(keepends=True) if b'"PreToolUse"' not in line]
    played = play(ReplayCli(tmp_path, b"".join(lines)))
    assert played.turn.failure.kind is FailureKind.PROTOCOL
    assert "run_terminal_command ran without being asked for" in played.turn.failure.reason


def test_command_that_another_hook_changed_after_it_was_allowed_ends_the_turn(play: Play, tmp_path: Path) -> None:
    lines = recorded("allowed_tool").splitlines(keepends=True)
    ran = [line.replace(b"touch a", b"touch b") if b'"rawOutput"' in line else line for line in lines]
    played = play(ReplayCli(tmp_path, b"".join(ran)))
    assert played.turn.failure.kind is FailureKind.REFUSED_PERMISSION
    assert "touch b" in played.turn.failure.reason


def test_answer_whose_usage_was_not_told_was_cut_off(play: Play, tmp_path: Path) -> None:
    lines = [line for line in recorded("resumed").splitlines(keepends=True) if not line.startswith(b'{"type":"usage"')]
    played = play(ReplayCli(tmp_path, b"".join(lines)))
    assert played.turn.failure.kind is FailureKind.MODEL_ERROR


@pytest.mark.parametrize(
    ("stop", "before", "kind"),
    [
        ("cancelled", b"", FailureKind.REFUSED_PERMISSION),
        ("cancelled", b'{"type": "max_turns_reached"}\n', FailureKind.TIMEOUT),
        ("max_tokens", b"", FailureKind.MODEL_ERROR),
        ("refusal", b"", FailureKind.MODEL_ERROR),
        ("somehow", b"", FailureKind.PROTOCOL),
    ],
)
def test_other_ends_are_failures(play: Play, tmp_path: Path, stop: str, before: bytes, kind: FailureKind) -> None:
    assert play(ReplayCli(tmp_path, HOOKED.encode() + before + end(stop))).turn.failure.kind is kind


def test_session_of_somebody_else_is_refused(play: Play, tmp_path: Path) -> None:
    other = recorded("resumed", "22222222-2222-4333-8444-555555555555")
    assert play(ReplayCli(tmp_path, other)).turn.failure.kind is FailureKind.PROTOCOL
    assert play(ReplayCli(tmp_path, other), resume=True).turn.lost_resume


def test_session_is_told_before_anything_else(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("allowed_tool"), wait_for_lines=3))
    assert played.events[0] == SessionStarted(SESSION)


def test_option_that_an_old_version_does_not_know_is_a_protocol_failure(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, b"", status=2, stderr="error: unexpected argument '--verbatim' found\n")
    assert play(cli).turn.failure.kind is FailureKind.PROTOCOL
