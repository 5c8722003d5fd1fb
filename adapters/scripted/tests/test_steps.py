"""Every step of a script does what it says, in a real process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import (
    Limits,
    Notice,
    PermissionAnswer,
    QuestionAsked,
    ReasoningDelta,
    Retrying,
    TextDelta,
    ToolFinished,
)
from touchline.testing.repositories import git
from touchline.turn.settle import FailureKind

Play = Callable[..., Any]


def script(*steps: str, more: str = "") -> str:
    return "version: 1\nany:\n  - steps:\n" + "".join(f"      - {step}\n" for step in steps) + more


def test_ask_ends_the_turn_with_the_protocols_question(play: Play) -> None:
    played = play(script("say: Hm.", "ask: Which port?", "say: never said"))
    assert (played.settlement.kind, played.settlement.question) == ("asked", "Which port?")
    assert "never said" not in played.turn.text


def test_native_question_is_an_event_and_goes_before_the_text(play: Play) -> None:
    played = play(script("question: Which one?", "end: some text"))
    assert QuestionAsked("question", "Which one?") in played.events
    assert played.settlement.question == "Which one?"


def test_files_are_written_edited_and_deleted(play: Play, repo: Path) -> None:
    played = play(
        script(
            "write: {path: deep/a.txt, content: one}",
            "edit: {path: deep/a.txt, old: one, new: two}",
            "edit: {path: deep/a.txt, old: absent, new: x}",
            "delete: README.md",
            "finish:",
        )
    )
    assert (repo / "deep" / "a.txt").read_text() == "two"
    assert not (repo / "README.md").exists()
    statuses = [event.status for event in played.events if isinstance(event, ToolFinished)]
    assert statuses == ["ok", "ok", "error", "ok"]
    assert [entry["path"] for entry in played.settlement.report["changed"]] == ["deep/a.txt", "README.md"]


def test_run_branches_on_what_really_happened(play: Play) -> None:
    text = script(
        'run: {command: "false", on_ok: [{end: worked}], on_failed: [{say: "it failed, "}]}',
        'run: {command: "true", on_ok: [{end: then it worked}]}',
    )
    assert play(text).turn.text == "it failed, then it worked"


def test_denied_steps_do_nothing_and_the_script_goes_on_with_the_reason(play: Play, repo: Path) -> None:
    played = play(
        script(
            "write: {path: a.txt, content: x}",
            "edit: {path: README.md, old: example, new: x}",
            "delete: README.md",
            'run: {command: "touch b.txt", on_denied: [{say: "told: ${denial}"}]}',
        ),
        permit=lambda asked: PermissionAnswer(False, "not today"),
    )
    assert git(repo, "status", "--porcelain") == ""
    assert len(played.turn.denials) == 4
    assert played.turn.text == "told: not today"


def test_denial_that_a_script_expects_passes_and_another_outcome_fails_the_turn(play: Play) -> None:
    text = script('run: {command: "git push", expect: denied}', "end: as expected")
    assert play(text, permit=lambda asked: PermissionAnswer(False, "no")).turn.text == "as expected"
    failed = play(text)
    assert failed.turn.failure.kind is FailureKind.PROTOCOL
    assert "expected `git push` to be denied, it was failed" in failed.turn.failure.reason


def test_what_a_cli_reports_becomes_events(play: Play) -> None:
    played = play(
        script(
            "think: hmm",
            "usage: {input: 5, output: 2, cached: 1, cost: 0.25}",
            "retry: {reason: overloaded, attempt: 1, next_in_s: 0.5}",
            "notice: careful",
            "print: no event at all",
            "print_bytes: fffe0a",
            "end: done",
        )
    )
    assert ReasoningDelta("hmm") in played.events
    assert Retrying("overloaded", 1, 0.5) in played.events
    assert Notice("careful") in played.events
    assert played.turn.usage.cost == 0.25
    assert sum(isinstance(event, Notice) and "not understood" in event.text for event in played.events) == 2
    assert played.turn.text == "done"


def test_long_line_is_survived(play: Play) -> None:
    played = play(script("long_line: 20000000", "end: done"))
    assert played.turn.text == "done"
    assert any(isinstance(event, Notice) and "oversized" in event.text for event in played.events)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ("crash: {signal: KILL}", FailureKind.CRASHED),
        ("crash: {status: 3, stderr: boom}", FailureKind.CRASHED),
        ("crash: {status: 0}", FailureKind.LOST_RESULT),
        ("hang: true", FailureKind.STALLED),
        ("fail: {kind: usage-limit, reason: later, resets_at: '2026-12-01T06:00:00+00:00'}", FailureKind.USAGE_LIMIT),
    ],
)
def test_what_goes_wrong_is_a_typed_failure_with_the_text_so_far(play: Play, step: str, kind: FailureKind) -> None:
    played = play(script("say: so far", step), limits=Limits(wall_s=20, idle_s=1, grace_s=1))
    assert played.turn.failure.kind is kind
    assert played.turn.text == "so far"
    assert not played.settlement.ok


def test_hang_after_the_end_keeps_the_result(play: Play) -> None:
    played = play(script("hang_after: true", "finish: {summary: done}"))
    assert played.settlement.kind == "finished"
    assert played.turn.duration_s < 10


def test_runaway_in_the_background_is_ended_with_the_turn(play: Play, repo: Path) -> None:
    text = script(
        'run: {command: "echo $$ > pid; exec sleep 300", background: true}',
        'run: "while [ ! -s pid ]; do sleep 0.02; done"',
        "end: done",
    )
    play(text)
    pid = int((repo / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_resumed_session_plays_its_continuations_in_order(play: Play) -> None:
    text = script(
        "ask: Which?",
        more="    resumed:\n      - - ask: Really?\n      - - finish: {summary: done}\n",
    )
    session = "s-1"
    assert play(text, session_id=session).settlement.question == "Which?"
    assert play(text, session_id=session, resume=True).settlement.question == "Really?"
    assert play(text, session_id=session, resume=True).settlement.kind == "finished"


def test_part_decides_which_steps_are_played(play: Play) -> None:
    text = "version: 1\njudge:\n  - - end: as judge\nplayer:\n  - - end: first\n  - - end: second\n"
    assert play(text, role="verifier", purpose="judge").turn.text == "as judge"
    assert play(text, turn=1).turn.text == "first"
    assert play(text, turn=2).turn.text == "second"
    missing = play(text, role="executor")
    assert missing.turn.failure.kind is FailureKind.PROTOCOL
    assert "nothing for the part 'executor'" in missing.turn.failure.reason


def test_placeholders_are_filled_in_texts_and_nothing_else(play: Play, repo: Path) -> None:
    played = play(script('say: "${branch} ${turn} ${task} ${unknown}"', "write: {path: a, content: '${turn}'}"), turn=3)
    assert "".join(event.text for event in played.events if isinstance(event, TextDelta)) == "main 3 task-1 ${unknown}"
    assert (repo / "a").read_text() == "${turn}"


def test_session_id_never_becomes_a_path(play: Play) -> None:
    played = play(script("end: hi"), session_id="../../escaped")
    assert played.turn.failure.kind is FailureKind.PROTOCOL


def test_variable_that_the_configuration_removes_does_not_arrive(
    play: Play, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNWANTED", "1")
    text = script("run: env > environment.txt", "end: done")
    play(text)
    assert "UNWANTED=1" in (repo / "environment.txt").read_text()
    play(text, env_remove=("UNWANTED",))
    assert "UNWANTED" not in (repo / "environment.txt").read_text()
