"""Recorded streams of Claude Code: each ends as what it was, whatever its exit status says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import (
    ExecutorSettings,
    PermissionAnswer,
    Retrying,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from touchline.testing import RecordedExecutorContract
from touchline.testing.replay import ReplayCli
from touchline.turn.settle import FailureKind
from touchline_claude.executor import ClaudeExecutor

Play = Callable[..., Any]
DATA = Path(__file__).with_name("data")
SESSION = "11111111-2222-4333-8444-555555555555"


def recorded(name: str) -> bytes:
    """A recorded stream with its session replaced by the one that the test asks for."""
    text = (DATA / f"{name}.jsonl").read_text(encoding="utf-8")
    return re.sub(r'("session_id": ?)"[^"]*"', rf'\1"{SESSION}"', text).encode()


class TestRecordedClaude(RecordedExecutorContract):
    def driver(self, command: tuple[str, ...]) -> ClaudeExecutor:
        return ClaudeExecutor(ExecutorSettings(command=command))

    def stream(self, text: str, session_id: str) -> bytes:
        lines = (DATA / "2.1.332" / "resumed.jsonl").read_text(encoding="utf-8").replace("Again.", text)
        return re.sub(r'("session_id": ?)"[^"]*"', rf'\1"{session_id}"', lines).encode()


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("2.1.197/err_400", 1, FailureKind.MODEL_ERROR),
        ("2.1.197/err_401", 1, FailureKind.NOT_AUTHENTICATED),
        ("2.1.197/err_429_max1", 1, FailureKind.RATE_LIMIT),
        ("2.1.197/err_500_max1", 1, FailureKind.MODEL_ERROR),
        ("2.1.197/err_500_default_retries", 1, FailureKind.MODEL_ERROR),
        ("2.1.197/err_refused_max1", 1, FailureKind.MODEL_ERROR),
        ("2.1.197/err_malformed_nofallback", 1, FailureKind.MODEL_ERROR),
        ("2.1.197/err_max_turns", 1, FailureKind.TIMEOUT),
        ("2.1.197/killed_2", 1, FailureKind.CRASHED),
        ("2.1.197/killed_9", -9, FailureKind.CRASHED),
        ("2.1.197/permission_deny_interrupt", 1, FailureKind.REFUSED_PERMISSION),
        ("2.1.332/usage_limit", 1, FailureKind.USAGE_LIMIT),
        ("2.1.332/not_logged_in", 1, FailureKind.NOT_AUTHENTICATED),
        ("2.1.332/overloaded", 1, FailureKind.MODEL_ERROR),
        ("2.1.332/refused", 1, FailureKind.MODEL_ERROR),
        ("2.1.332/cut", 1, FailureKind.MODEL_ERROR),
    ],
)
def test_recorded_failure_has_its_kind_whatever_the_exit_status(
    play: Play, tmp_path: Path, name: str, status: int, kind: FailureKind
) -> None:
    for exit_status in {status, 0} if status > 0 else {status}:
        played = play(ReplayCli(tmp_path, recorded(name), status=exit_status))
        assert played.turn.failure.kind is kind
        assert played.turn.failure.reason


@pytest.mark.parametrize("name", ["2.1.197/resume_unknown", "2.1.332/unknown_session"])
def test_unknown_session_is_a_lost_resume(play: Play, tmp_path: Path, name: str) -> None:
    assert play(ReplayCli(tmp_path, recorded(name), status=1), resume=True).turn.lost_resume


def test_session_id_that_is_in_use_is_a_lost_resume_so_that_a_fresh_one_is_opened(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, b"", status=1, stderr=f"Error: Session ID {SESSION} is already in use.\n")
    assert play(cli).turn.lost_resume


def test_usage_limit_tells_when_it_resets(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("2.1.332/usage_limit"), status=1))
    assert played.turn.failure.resets_at == "2026-12-01T04:51:50+00:00"


@pytest.mark.parametrize("name", ["2.1.197/basic", "2.1.332/allowed_tool"])
def test_recorded_end_keeps_text_tools_model_and_usage(play: Play, tmp_path: Path, name: str) -> None:
    played = play(ReplayCli(tmp_path, recorded(name)))
    assert played.turn.failure is None
    assert played.turn.text.startswith("Done.")
    assert "".join(event.text for event in played.events if isinstance(event, TextDelta)) == played.turn.text
    assert [event.tool for event in played.events if isinstance(event, ToolStarted)] == ["Bash"]
    assert [event.status for event in played.events if isinstance(event, ToolFinished)] == ["ok"]
    assert played.turn.model.startswith("claude-")
    assert played.turn.usage.input >= 200
    assert played.turn.usage.output == 40
    assert played.turn.usage.cost > 0


def test_usage_of_a_resumed_session_leaves_out_the_turns_before(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("2.1.332/resumed")), resume=True)
    assert (played.turn.usage.input, played.turn.usage.output, played.turn.usage.cached) == (130, 20, 30)
    assert played.turn.usage.cost == pytest.approx(0.000806)


def test_cost_of_a_resumed_session_is_unknown_where_an_older_version_adds_it_up(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("2.1.197/basic")), resume=True)
    assert played.turn.usage.cost is None


def test_permission_request_is_answered_on_standard_input(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("2.1.332/denied_tool"), wait_for_lines=2)
    played = play(cli, permit=PermissionAnswer(False, "touchline: no"))
    prompt, answer = (json.loads(line) for line in cli.stdin())
    assert prompt["message"]["content"] == "Do it."
    assert answer["response"]["response"] == {"behavior": "deny", "message": "touchline: no"}
    assert [event.status for event in played.events if isinstance(event, ToolFinished)] == ["denied"]


def test_allowed_request_goes_back_with_its_own_input(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("2.1.332/denied_tool"), wait_for_lines=2)
    play(cli)
    answer = json.loads(cli.stdin()[1])["response"]["response"]
    assert answer == {"behavior": "allow", "updatedInput": {"command": "touch b", "description": "scripted"}}


def test_request_that_is_not_offered_is_refused(play: Play, tmp_path: Path) -> None:
    request = b'{"type":"control_request","request_id":"r-1","request":{"subtype":"hook_callback"}}\n'
    cli = ReplayCli(tmp_path, request + recorded("2.1.332/allowed_tool"), wait_for_lines=3)
    play(cli)
    answer = json.loads(cli.stdin()[1])
    assert answer["response"]["subtype"] == "error"
    assert answer["response"]["request_id"] == "r-1"


def test_announced_retries_are_events(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("2.1.197/err_500_default_retries"), status=1))
    retries = [event for event in played.events if isinstance(event, Retrying)]
    assert [retry.attempt for retry in retries] == list(range(1, len(retries) + 1))
    assert retries[0].reason == "server_error (500)"
    assert retries[-1].next_in_s > 5


def test_option_that_an_old_version_does_not_know_is_a_protocol_failure(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, b"", status=1, stderr="error: unknown option '--permission-prompt-tool'\n"))
    assert played.turn.failure.kind is FailureKind.PROTOCOL


def test_success_with_denied_work_is_no_failure_of_the_program(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("2.1.197/headless_default")))
    assert played.turn.failure is None
