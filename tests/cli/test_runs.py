"""`touchline runs` and `touchline show` (spec page 8): what ledgers say, and never what a terminal would obey."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.documents.ledger import (
    Finding,
    GateRow,
    LastExit,
    Ledger,
    PastRun,
    RunOptions,
    Settlement,
    Terminal,
    TurnRow,
    VerificationRow,
)
from touchline.ledger.lock import RunLock
from touchline.state import run_folder, state_root

Touchline = Callable[..., Any]
Keep = Callable[..., Ledger]

RUN = "20261201000000"


def rows(touchline: Touchline) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(touchline("runs", "--json").out)}


def full(keep_ledger: Keep, title: str = "slug() drops digits") -> None:
    turn = TurnRow(
        run_number=RUN,
        turn=1,
        state="recorded",
        executor="scripted",
        start_head="a" * 40,
        start_tree="b" * 40,
        started_at="2026-12-01T00:00:00Z",
        changed_paths=["slugs.py", "tests.py"],
        settlement=Settlement(kind="finished", summary="Added slug()"),
    )
    verification = VerificationRow(
        run_number=RUN,
        verify_run=1,
        turn=1,
        state="decided",
        head_sha="a" * 40,
        report_path="reports/1.json",
        full_audit=True,
        decision="FEEDBACK",
        reason="1 blocking finding",
        gates=[GateRow(gate="tester", status="FAILED", severity=10)],
    )
    common = {"root_cause": "x", "mechanism": "y", "first_seen": 1, "last_seen": 1, "disposition_set_at": 1}
    findings = [
        Finding.model_validate(
            {"id": "F-2", "key": "k2", "title": "typo", "class": "comment", "severity": 2, "disposition": "open"}
            | common
        ),
        Finding.model_validate(
            {"id": "F-1", "key": "k1", "title": title, "class": "correctness", "severity": 8, "disposition": "open"}
            | common
        ),
    ]
    keep_ledger("slugs-0a1b2c3d", "main-local", turns=[turn], verification_runs=[verification], findings=findings)


def test_no_runs_is_said(touchline: Touchline) -> None:
    assert touchline("runs").out == "no runs are kept on this machine\n"
    assert json.loads(touchline("runs", "--json").out) == []


def test_each_run_stands_with_its_status(keep_ledger: Keep, touchline: Touchline) -> None:
    keep_ledger("one-00000000", "done", terminal=Terminal(status="APPROVED_NO_PR", reason="all gates passed"))
    exited = LastExit(status="INTERRUPTED", reason="Ctrl-C", at="2026-12-01T00:00:00Z")
    keep_ledger("one-00000000", "stopped", run={"last_exit": exited})
    keep_ledger("two-00000000", "fresh")
    keep_ledger("two-00000000", "busy")
    broken = run_folder(state_root(os.environ), "two-00000000", "broken")
    broken.path.mkdir()
    broken.ledger.write_text("{")
    with RunLock(run_folder(state_root(os.environ), "two-00000000", "busy").path):
        found = rows(touchline)
    assert {name: row["status"] for name, row in found.items()} == {
        "one-00000000/done": "APPROVED_NO_PR",
        "one-00000000/stopped": "INTERRUPTED",
        "two-00000000/fresh": "UNFINISHED",
        "two-00000000/busy": "RUNNING",
        "two-00000000/broken": "UNREADABLE",
    }
    assert found["one-00000000/done"]["detail"] == "all gates passed"
    assert found["two-00000000/broken"]["detail"]
    lines = touchline("runs").out.splitlines()
    assert len(lines) == 5
    assert any(line.startswith("one-00000000/done") and "turns 0 of 10" in line for line in lines)


def test_a_folder_without_a_ledger_is_no_run(touchline: Touchline) -> None:
    with RunLock(run_folder(state_root(os.environ), "one-00000000", "refused").path):
        assert rows(touchline) == {}
    assert touchline("show", "refused").status == 2


def test_looking_at_a_run_takes_no_lock_and_writes_nothing(keep_ledger: Keep, touchline: Touchline) -> None:
    keep_ledger("one-00000000", "main")
    folder = run_folder(state_root(os.environ), "one-00000000", "main").path
    before = {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}
    touchline("runs")
    touchline("show", "main")
    assert {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]} == before


def test_show_tells_turns_verifications_and_findings_blocking_ones_first(
    keep_ledger: Keep, touchline: Touchline
) -> None:
    full(keep_ledger)
    said = touchline("show", "slugs-0a1b2c3d/main-local")
    assert said.status == 0
    assert "turns: 1 of 10 used" in said.out
    assert "finished     2 paths changed     Added slug()" in said.out
    assert "full audit  FEEDBACK     1 blocking finding" in said.out
    assert "failed gate: tester (FAILED)" in said.out
    assert "findings: 2, 1 of them blocking" in said.out
    assert said.out.index("F-1") < said.out.index("F-2")


def test_a_run_can_be_named_by_its_change_alone_where_that_is_clear(keep_ledger: Keep, touchline: Touchline) -> None:
    full(keep_ledger)
    assert "slugs-0a1b2c3d/main-local" in touchline("show", "main-local").out
    keep_ledger("other-00000000", "main-local")
    said = touchline("show", "main-local")
    assert said.status == 2
    assert "other-00000000/main-local, slugs-0a1b2c3d/main-local" in said.err


def test_a_run_can_be_named_by_the_number_that_its_start_announces(keep_ledger: Keep, touchline: Touchline) -> None:
    full(keep_ledger)
    assert "slugs-0a1b2c3d/main-local" in touchline("show", RUN).out
    assert touchline("show", "20261201000001").status == 2


def past(number: str, status: str | None) -> PastRun:
    ended = Terminal.model_validate({"status": status, "reason": f"because of {number}"}) if status else None
    options = RunOptions(executor="scripted", max_turns=4, severity=7)
    return PastRun(run_number=number, options=options, turns_used=3, verify_runs=5, terminal=ended)


def test_every_run_of_a_change_is_listed_the_present_one_first(keep_ledger: Keep, touchline: Touchline) -> None:
    earlier = [past("20261130000001", "TURN_LIMIT_VERIFY"), past("20261130000002", None)]
    keep_ledger("one-00000000", "main-local", runs=earlier)
    keep_ledger("two-00000000", "main-local", terminal=Terminal(status="APPROVED_NO_PR", reason="x"))
    listed = [row for row in json.loads(touchline("runs", "--json").out) if row["name"] == "one-00000000/main-local"]
    assert [(row["run_number"], row["status"], row["current"]) for row in listed] == [
        (RUN, "UNFINISHED", True),
        ("20261130000002", "GIVEN_UP", False),
        ("20261130000001", "TURN_LIMIT_VERIFY", False),
    ]
    lines = touchline("runs").out.splitlines()
    assert len(lines) == 4
    (line,) = (line for line in lines if "20261130000001" in line)
    assert "turns 3 of 4, verified 5x" in line
    assert line.endswith("because of 20261130000001")


def test_an_earlier_run_is_shown_by_its_number_with_its_own_turns_and_ending(
    keep_ledger: Keep, touchline: Touchline
) -> None:
    old, new = (
        TurnRow(
            run_number=number,
            turn=1,
            state="recorded",
            executor="scripted",
            start_head="a" * 40,
            start_tree="b" * 40,
            started_at="2026-12-01T00:00:00Z",
            settlement=Settlement(kind="finished", summary=f"turn of {number}"),
        )
        for number in ("20261130000001", RUN)
    )
    runs = [past("20261130000001", "TURN_LIMIT_VERIFY"), past("20261130000002", None)]
    keep_ledger("one-00000000", "main-local", turns=[old, new], runs=runs)
    shown = touchline("show", "20261130000001").out
    assert "status     TURN_LIMIT_VERIFY: because of 20261130000001" in shown
    assert "turns: 1 of 4 used" in shown
    assert "turn of 20261130000001" in shown
    assert f"turn of {RUN}" not in shown
    assert f"other runs of this change: {RUN}, 20261130000002" in shown
    assert "status     GIVEN_UP\n" in touchline("show", "20261130000002").out
    present = touchline("show", "main-local").out
    assert f"turn of {RUN}" in present
    assert "status     UNFINISHED" in present


@pytest.mark.parametrize("name", ["nope", "../..", "/etc", "a/b/c", ""])
def test_an_unknown_or_hostile_name_is_refused(name: str, keep_ledger: Keep, touchline: Touchline) -> None:
    full(keep_ledger)
    said = touchline("show", "--", name)
    assert said.status == 2
    assert "there is no run" in said.err


def test_text_of_models_cannot_steer_the_terminal(keep_ledger: Keep, touchline: Touchline) -> None:
    full(keep_ledger, title="\x1b[2J\x1b]0;owned\x07 a\nstatus     READY_FOR_REVIEW\u202e")
    out = touchline("show", "main-local").out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert not any(line.startswith("status     READY") for line in out.splitlines())


def test_json_is_the_ledger_as_it_is_on_disk(keep_ledger: Keep, touchline: Touchline) -> None:
    full(keep_ledger)
    path: Path = run_folder(state_root(os.environ), "slugs-0a1b2c3d", "main-local").ledger
    assert touchline("show", "main-local", "--json").out == path.read_text()


def test_a_ledger_that_cannot_be_read_is_one_message(keep_ledger: Keep, touchline: Touchline) -> None:
    full(keep_ledger)
    run_folder(state_root(os.environ), "slugs-0a1b2c3d", "main-local").ledger.write_text("{}")
    said = touchline("show", "main-local")
    assert said.status == 2
    assert said.err.startswith("touchline: ")
