"""Recorded turns of opencode: each ends as what it was, and only the message list makes an end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import (
    ExecutorSettings,
    Notice,
    PermissionAnswer,
    Retrying,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from touchline.testing import RecordedExecutorContract
from touchline.testing.replay import ReplayCli
from touchline.turn.settle import FailureKind
from touchline_opencode.executor import REPEATS, OpencodeExecutor

Play = Callable[..., Any]
DATA = Path(__file__).with_name("data") / "1.18.33"
SESSION = "ses_11111111222243338444555555"


def recorded(name: str, session_id: str = SESSION) -> bytes:
    """A recorded stream with its session replaced by the one that the test asks for."""
    text = (DATA / f"{name}.jsonl").read_text(encoding="utf-8")
    return re.sub(r"ses_[A-Za-z0-9]+", session_id, text).encode()


def messages(*answers: dict[str, object]) -> bytes:
    """The last line of a turn with these answers."""
    listed = [{"info": {"role": "assistant", **answer}, "parts": []} for answer in answers]
    opened = {"type": "bridge.session", "id": SESSION}
    lines = [opened, {"type": "bridge.messages", "messages": listed}]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


class TestRecordedOpencode(RecordedExecutorContract):
    def driver(self, command: tuple[str, ...]) -> OpencodeExecutor:
        return OpencodeExecutor(ExecutorSettings(), bridge=command)

    def stream(self, text: str, session_id: str) -> bytes:
        return recorded("resumed").decode().replace('"Again."', json.dumps(text, ensure_ascii=False)).encode()


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


def test_unknown_session_is_a_lost_resume(play: Play, tmp_path: Path) -> None:
    assert play(ReplayCli(tmp_path, recorded("unknown_session"), status=1), resume=True).turn.lost_resume


@pytest.mark.parametrize("session_id", ["--port", "ses/../../x", "11111111-2222-4333-8444-555555555555"])
def test_session_id_that_cannot_be_opencodes_starts_nothing(play: Play, tmp_path: Path, session_id: str) -> None:
    cli = ReplayCli(tmp_path, recorded("resumed"))
    assert play(cli, session_id=session_id, resume=True).turn.lost_resume
    assert cli.stdin() == []


def test_recorded_end_keeps_text_tools_model_usage_and_cost(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("allowed_tool"), wait_for_lines=3))
    assert (played.turn.text, played.turn.failure) == ("Done.", None)
    assert "".join(event.text for event in played.events if isinstance(event, TextDelta)) == "Done."
    assert [event.input for event in played.events if isinstance(event, ToolStarted)] == ["touch a"]
    (finished,) = [event for event in played.events if isinstance(event, ToolFinished)]
    assert finished.status == "ok"
    assert finished.duration_s is not None
    assert played.turn.model == "fake/fake-model"
    assert (played.turn.usage.input, played.turn.usage.output, played.turn.usage.cached) == (260, 40, 60)
    assert played.turn.usage.cost == pytest.approx(0.00126)


def test_session_is_told_first_and_its_model_as_soon_as_it_is_known(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("resumed")))
    assert [event for event in played.events if isinstance(event, SessionStarted)] == [
        SessionStarted(SESSION),
        SessionStarted(SESSION, "fake/fake-model"),
    ]
    assert played.events[0] == SessionStarted(SESSION)


def test_denial_goes_back_with_its_reason_and_permission_once(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("denied_tool"), wait_for_lines=3)
    played = play(cli, permit=PermissionAnswer(False, "touchline: no"))
    order, rules, reply = (json.loads(line) for line in cli.stdin())
    assert order["prompt"] == "Do it."
    assert {"permission": "*", "pattern": "*", "action": "ask"} in rules["rules"]
    assert (reply["reply"], reply["message"]) == ("reject", "touchline: no")
    assert [event.status for event in played.events if isinstance(event, ToolFinished)] == ["denied"]
    cli = ReplayCli(tmp_path, recorded("allowed_tool"), wait_for_lines=3)
    play(cli)
    assert json.loads(cli.stdin()[2])["reply"] == "once"


@pytest.mark.parametrize("name", ["overloaded", "rate_limit", "refused"])
def test_retries_are_announced_and_then_cut_short(play: Play, tmp_path: Path, name: str) -> None:
    cli = ReplayCli(tmp_path, recorded(name), wait_for_lines=3)
    played = play(cli)
    assert [event.attempt for event in played.events if isinstance(event, Retrying)] == [1, 2, 3]
    assert json.loads(cli.stdin()[-1]) == {"abort": True}


def test_answers_that_break_off_are_not_asked_for_again_for_ever(play: Play, tmp_path: Path) -> None:
    cli = ReplayCli(tmp_path, recorded("cut"), wait_for_lines=3)
    played = play(cli)
    assert "broke off" in played.turn.failure.reason
    assert json.loads(cli.stdin()[-1]) == {"abort": True}


def test_usage_limit_tells_when_it_resets(play: Play, tmp_path: Path) -> None:
    played = play(ReplayCli(tmp_path, recorded("usage_limit")))
    assert played.turn.failure.resets_at.startswith("2026-12-01T")


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([], FailureKind.LOST_RESULT),
        ([{"finish": "tool-calls"}], FailureKind.LOST_RESULT),
        ([{"finish": "unknown"}], FailureKind.MODEL_ERROR),
        ([{"finish": "length"}], FailureKind.MODEL_ERROR),
        ([{}], FailureKind.MODEL_ERROR),
        ([{"finish": "stop", "error": {"name": "MessageAbortedError"}}], FailureKind.CRASHED),
        ([{"finish": "stop", "error": {"name": "ProviderAuthError"}}], FailureKind.NOT_AUTHENTICATED),
        ([{"error": {"name": "ContextOverflowError", "data": {"message": "x"}}}], FailureKind.MODEL_ERROR),
        ([{"finish": "stop"}, {"finish": "tool-calls"}], FailureKind.LOST_RESULT),
    ],
)
def test_message_list_without_a_good_last_answer_is_a_failure(
    play: Play, tmp_path: Path, answers: list[dict[str, object]], kind: FailureKind
) -> None:
    assert play(ReplayCli(tmp_path, messages(*answers))).turn.failure.kind is kind


def test_denied_call_that_ended_the_turn_is_a_refused_permission(play: Play, tmp_path: Path) -> None:
    kept = b"".join(
        line for line in recorded("denied_tool").splitlines(keepends=True) if b"bridge.messages" not in line
    )
    cli = ReplayCli(tmp_path, kept + messages({"finish": "tool-calls"}).splitlines(keepends=True)[1])
    played = play(cli, permit=PermissionAnswer(False, "no"))
    assert played.turn.failure.kind is FailureKind.REFUSED_PERMISSION


def test_permission_that_somebody_else_answered_ends_the_turn(play: Play, tmp_path: Path) -> None:
    foreign = {"type": "permission.replied", "properties": {"requestID": "per_x", "reply": "always"}}
    stream = json.dumps(foreign).encode() + b"\n" + recorded("resumed")
    played = play(ReplayCli(tmp_path, stream))
    assert played.turn.failure.kind is FailureKind.REFUSED_PERMISSION
    assert "somebody else" in played.turn.failure.reason


def test_call_that_asks_for_its_folder_and_for_itself_is_asked_once(play: Play, tmp_path: Path) -> None:
    request = {"metadata": {"command": "cat /etc/x"}, "tool": {"callID": "c1"}}
    asked = [
        {"type": "permission.asked", "properties": {"id": f"per_{name}", "permission": name, **request}}
        for name in ("external_directory", "bash")
    ]
    part = {"messageID": "m", "type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "running"}}
    seen = [
        {"type": "message.updated", "properties": {"info": {"role": "assistant", "id": "m"}}},
        {"type": "message.part.updated", "properties": {"part": part}},
    ]
    stream = b"".join(json.dumps(line).encode() + b"\n" for line in (*seen, *asked)) + messages({"finish": "stop"})
    cli = ReplayCli(tmp_path, stream, wait_for_lines=3)
    played = play(cli, permit=PermissionAnswer(False, "no"))
    assert [asked.command for asked in played.turn.denials] == ["cat /etc/x"]
    assert [json.loads(line)["reply"] for line in cli.stdin()[1:]] == ["reject", "reject"]


def test_same_call_again_and_again_is_refused_at_last(play: Play, tmp_path: Path) -> None:
    asked = [
        {"type": "permission.asked", "properties": {"id": f"per_{number}", "permission": "doom_loop"}}
        for number in range(REPEATS)
    ]
    stream = b"".join(json.dumps(line).encode() + b"\n" for line in asked) + messages({"finish": "stop"})
    cli = ReplayCli(tmp_path, stream, wait_for_lines=REPEATS + 1)
    played = play(cli)
    assert [json.loads(line)["reply"] for line in cli.stdin()[1:]] == ["once"] * (REPEATS - 1) + ["reject"]
    assert played.turn.denials == ()


def test_shell_line_that_ran_without_a_question_is_noticed(play: Play, tmp_path: Path) -> None:
    lines = [line for line in recorded("allowed_tool").splitlines(keepends=True) if b"permission." not in line]
    played = play(ReplayCli(tmp_path, b"".join(lines)))
    assert played.turn.failure is None
    assert ["touch a" in event.text for event in played.events if isinstance(event, Notice)] == [True]
