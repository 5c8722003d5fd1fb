from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Attempt = Callable[[int], list[dict[str, Any]]]


def test_feedback_turns_a_failed_attempt_into_an_approved_one(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(1), attempt_of(3)], **verifiers})
    head = project.git("rev-parse", "HEAD").strip()
    ran = project.run()
    assert ran.status == 0, ran.err
    assert ran.block == {
        "STATUS": "APPROVED_NO_PR",
        "PR_URL": "none",
        "PR_STATE": "none",
        "BRANCH": "none",
        "HEAD_SHA": head,
        "REMOTE_HEAD_SHA": "none",
        "TURNS_USED": "2 of 10",
        "VERIFY_RUNS": "2",
        "REVIEWER": "reviewer (Codex unavailable)",
    }
    ledger = project.ledger
    assert [row["decision"] for row in ledger["verificationRuns"]] == ["FEEDBACK", "APPROVED"]
    feedback = (project.folder / ledger["turns"][1]["feedbackFile"]).read_text()
    assert "TOTAL BLOCKING ITEMS: 1" in feedback
    assert ledger["terminal"] == {"status": "APPROVED_NO_PR", "reason": ledger["terminal"]["reason"], "reported": True}
    assert not (project.folder / "private").exists()


def test_a_local_run_leaves_the_work_uncommitted_and_the_index_as_it_was(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    (project.path / "mine.txt").write_text("not the player's\n")
    (project.path / "staged.txt").write_text("staged before\n")
    project.git("add", "staged.txt")
    before = project.git("diff", "--cached", "--raw"), project.git("rev-parse", "HEAD")
    assert project.run().status == 0
    assert (project.git("diff", "--cached", "--raw"), project.git("rev-parse", "HEAD")) == before
    assert project.git("status", "--porcelain").splitlines() == ["A  staged.txt", "?? mine.txt", "?? value.py"]
    assert project.ledger["run"]["ownedPaths"] == ["value.py"]


def test_the_last_turn_without_approval_is_the_turn_limit(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(1)], **verifiers})
    ran = project.run("--max-turns", "2")
    assert (ran.status, ran.block["STATUS"], ran.block["TURNS_USED"]) == (3, "TURN_LIMIT_VERIFY", "2 of 2")


def test_commits_of_the_player_are_folded_back_and_kept(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    commit = {"run": {"command": "git add value.py && git commit -q -m mine"}}
    turn = attempt_of(3)
    project.configure({"player": [[turn[0], commit, *turn[1:]]], **verifiers}, permissions={"allow": ["bash(git *)"]})
    head = project.git("rev-parse", "HEAD")
    ran = project.run()
    row = project.ledger["turns"][0]
    assert project.git("rev-parse", "HEAD") == head
    # The permission policy already refuses the commit; either way nothing is committed in a local run.
    assert ran.status == 0, ran.err
    assert row["changedPaths"] == ["value.py"]


def test_a_second_start_of_an_ended_run_begins_a_new_one_with_numbers_that_go_on(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    assert project.run().status == 0
    (project.path / "value.py").unlink()
    ran = project.run()
    assert (ran.status, ran.block["TURNS_USED"], ran.block["VERIFY_RUNS"]) == (0, "1 of 10", "1")
    ledger = project.ledger
    assert [row["verifyRun"] for row in ledger["verificationRuns"]] == [1, 2]
    assert [past["terminal"]["status"] for past in ledger["runs"]] == ["APPROVED_NO_PR"]


def test_a_new_run_goes_on_with_what_an_earlier_one_left_untracked(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(1)], **verifiers})
    assert project.run("--max-turns", "1").status == 3
    (project.path.parent / "script.json").write_text(json.dumps({"version": 1, "player": [attempt_of(3)], **verifiers}))
    ran = project.run("--max-turns", "1")
    assert (ran.status, ran.block["STATUS"]) == (0, "APPROVED_NO_PR"), ran.err
    assert project.ledger["turns"][-1]["changedPaths"] == ["value.py"]
    assert project.git("status", "--porcelain") == "?? value.py\n"


def test_a_change_of_touchlines_own_configuration_is_a_finding_and_changes_nothing_of_the_run(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    cheat = {"write": {"path": "touchline.yaml", "content": '{"tests": {"command": ["true"]}}'}}
    project.configure({"player": [[cheat, *attempt_of(1)]], **verifiers})
    ran = project.run("--max-turns", "1")
    assert ran.status == 3
    titles = [finding["title"] for finding in project.ledger["findings"]]
    assert any("rules by which it is verified" in title for title in titles), titles
    assert any("test" in title for title in titles)


def test_a_changed_plan_is_a_blocking_finding_and_the_copy_counts(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    cheat = {"write": {"path": "docs/plans/value.md", "content": "# Do nothing\n"}}
    project.configure({"player": [[cheat, *attempt_of(3)]], **verifiers})
    ran = project.run("--max-turns", "1")
    assert ran.status == 3
    assert any(f["mechanism"] == "changed-plan" and f["severity"] == 8 for f in project.ledger["findings"])
    assert "VALUE = 3" in (project.folder / "plan.md").read_text()


def test_questions_are_answered_at_most_three_times_and_noted_as_assumptions(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    ask = [{"ask": "which value?"}]
    project.configure({"player": [{"steps": ask, "resumed": [ask, attempt_of(3)]}], **verifiers})
    ran = project.run()
    assert ran.status == 0, ran.err
    assert len(project.ledger["run"]["assumptions"]) == 2
    project.configure({"player": [{"steps": ask, "resumed": [ask, ask, ask, ask]}], **verifiers})
    (project.path / "value.py").write_text("VALUE = 3\n")
    ran = project.run("--max-turns", "1", "--new")
    assert ran.status == 3
    row = project.ledger["turns"][-1]
    assert (row["settlement"]["kind"], row["declared"]) == ("asked", False)
    assert len(project.ledger["run"]["assumptions"]) == 3


@pytest.mark.parametrize("kind", ["rate-limit", "model-error"])
def test_a_failure_that_does_not_count_is_retried_in_the_same_turn(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any], kind: str
) -> None:
    fail = [{"fail": {"kind": kind, "reason": "busy"}}]
    project.configure({"player": [{"steps": fail, "resumed": [attempt_of(3)]}], **verifiers})
    ran = project.run(timeout_s=90)
    assert ran.status == 0, ran.err
    (row,) = project.ledger["turns"]
    assert [one["kind"] for one in row["attempts"]] == [kind]


def test_two_runs_on_one_change_the_second_is_refused_with_the_holders_name(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    hang = {"player": [[{"hang": 20}]], **verifiers}
    project.configure(hang)
    first = subprocess.Popen(
        [sys.executable, "-m", "touchline", "run", "--no-pr", "--headless"],
        cwd=project.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    )
    try:
        deadline = time.monotonic() + 20
        while not list(Path(os.environ["XDG_STATE_HOME"]).glob("*/*/*/ledger.json")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        ran = project.run()
        assert ran.status == 2
        assert f"process {first.pid}" in ran.err
        assert ran.out == ""
    finally:
        first.terminate()
        assert first.wait(timeout=20) == 130


def test_touchline_refuses_to_run_inside_a_run(project: Any, attempt_of: Attempt, verifiers: dict[str, Any]) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    ran = project.run(env={"TOUCHLINE_RUN": "20260101000000"})
    assert ran.status == 2
    assert "inside a run" in ran.err


def test_two_changes_of_one_repository_run_side_by_side(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any], tmp_path: Path
) -> None:
    project.configure({"player": [[{"hang_after": 1}, *attempt_of(3)]], **verifiers})
    project.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    argv = [sys.executable, "-m", "touchline", "run", "--no-pr", "--headless"]
    running = [
        subprocess.Popen(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for cwd in (project.path, tmp_path / "other")
    ]
    ended = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0], ended
    folders = list(Path(os.environ["XDG_STATE_HOME"]).glob("player-coach/*/*/ledger.json"))
    assert len({folder.parent.parent for folder in folders}) == 1
    assert sorted(folder.parent.name for folder in folders) == ["main-local", "other-local"]


def test_what_was_changed_before_the_run_is_named_and_stays(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    (project.path / ".gitignore").write_text("__pycache__/\n*.log\n")
    (project.path / "note.txt").write_text("mine\n")
    ran = project.run()
    assert ran.status == 0
    assert "changed before the run: .gitignore" in ran.err
    assert "untracked before: note.txt" in ran.err
    assert project.git("status", "--porcelain").splitlines() == [" M .gitignore", "?? note.txt", "?? value.py"]


def test_a_terminal_status_that_was_never_shown_is_shown_by_the_next_start_and_nothing_else_happens(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    first = project.run()
    path = project.folder / "ledger.json"
    ledger = project.ledger
    ledger["terminal"]["reported"] = False
    path.write_text(json.dumps(ledger))
    again = project.run("--max-turns", "7")
    assert (again.status, again.out) == (0, first.out)
    assert project.ledger["runs"] == []
    assert len(project.ledger["turns"]) == 1


def test_rules_of_verification_md_are_gates_and_its_copy_of_the_start_counts(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    (project.path / "VERIFICATION.md").write_text("# Review\n\n- The value is documented.\n")
    drop = {"write": {"path": "VERIFICATION.md", "content": "nothing\n"}}
    weighed = {"answer": {"issues": [], "noticed": [{"item": 1, "askedFor": True, "evidence": "it is for this test"}]}}
    project.configure({"player": [[drop, *attempt_of(3)]], **verifiers, "judge": [[weighed]]})
    ran = project.run("--max-turns", "1")
    assert ran.status == 3
    gates = [gate["gate"] for gate in project.ledger["verificationRuns"][0]["gates"]]
    assert gates == ["custom:review:The value is documented."]
    (project.path / "value.py").unlink()
    answered = {"answer": {"issues": [], "gates": [{"gate": 1, "status": "PASS", "evidence": "read it"}]}}
    project.configure({"player": [attempt_of(3)], **verifiers, "judge": [[answered]]})
    (project.path / "VERIFICATION.md").write_text("# Review\n\n- The value is documented.\n")
    ran = project.run("--max-turns", "1")
    assert ran.status == 0, ran.err


def test_a_run_that_could_never_be_approved_is_refused(project: Any, attempt_of: Attempt) -> None:
    project.configure({"player": [attempt_of(3)]}, exerciser={"enabled": False})
    ran = project.run()
    assert (ran.status, ran.out) == (2, "")
    assert "exerciser.enabled" in ran.err


def test_text_that_utf_8_cannot_hold_ends_no_run(project: Any, verifiers: dict[str, Any]) -> None:
    said = "half a character: \ud800"
    steps = [
        {"write": {"path": "value.py", "content": "VALUE = 3\n"}},
        {"run": f"true '{said}'"},
        {"say": said},
    ]
    project.configure(
        {
            "player": [{"steps": [*steps, {"ask": said}], "resumed": [[{"say": said}, {"finish": {"summary": said}}]]}],
            **verifiers,
        }
    )
    ran = project.run("--epic-context", "caf\udce9.md")
    assert (ran.status, ran.block["STATUS"]) == (0, "APPROVED_NO_PR"), ran.err
    assert project.ledger["turns"][0]["settlement"]["summary"] == "half a character: \ufffd"
    assert "half a character" in project.ledger["run"]["assumptions"][0]


def test_a_repository_whose_path_is_no_utf_8_can_be_worked_on(
    project: Any, tmp_path: Path, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(2), attempt_of(3)], **verifiers})
    moved = type(project)(project.path.rename(tmp_path / "caf\udce9"))
    ran = moved.run()
    assert (ran.status, ran.block["STATUS"]) == (0, "APPROVED_NO_PR"), ran.err
