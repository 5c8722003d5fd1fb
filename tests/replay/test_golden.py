"""Recorded runs as regression tests: a rule that decides or plans otherwise than then is named here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.coach.recorded import read_recorded
from touchline.coach.replay import Recorded, Replayed, replay
from touchline.execution.replay import replay_processes
from touchline.executor import ExecutorSettings
from touchline.plugins.load import load_executor
from touchline.state import RunFolder
from touchline.turn.raw import read_processes
from touchline.turn.record import read_events

GOLDEN = Path(__file__).with_name("golden")
NAMES = sorted(path.name for path in GOLDEN.iterdir())
Golden = Callable[[str], Recorded]


def test_there_are_trajectories_of_every_kind() -> None:
    assert NAMES == ["approved", "coverage", "interrupted", "published", "quarantine", "rerun", "two-runs"]


@pytest.mark.parametrize("name", NAMES)
def test_everything_in_a_trajectory_is_decided_and_planned_as_it_was(golden: Golden, name: str) -> None:
    recorded = golden(name)
    decided = sum(row.state == "decided" for row in recorded.ledger.verification_runs)
    steps = (GOLDEN / name / "steps.jsonl").read_bytes().count(b"\n")
    assert replay(recorded) == Replayed(None, decided, steps, ())
    assert decided > 0
    assert steps > 5


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_stream_gives_its_events_again(name: str) -> None:
    folder = GOLDEN / name
    events = list(read_events(folder))
    found = list(
        replay_processes(list(read_processes(folder)), events, lambda name: load_executor(name, ExecutorSettings()))
    )
    assert found
    assert [(one.difference, one.not_compared, one.partly) for one in found] == [(None, "", "")] * len(found)
    assert sum(one.events for one in found) == len(events)


def test_the_trajectories_hold_what_they_are_kept_for(golden: Golden) -> None:
    dispositions = {name: {finding.disposition for finding in golden(name).ledger.findings} for name in NAMES}
    assert dispositions["quarantine"] == {"quarantined", "fixed", "accepted-below-threshold"}
    assert dispositions["coverage"] == {"fixed", "deferred-out-of-scope"}
    assert [entry.active for entry in golden("quarantine").ledger.quarantine] == [True]
    interrupted = golden("interrupted")
    assert [attempt.kind for attempt in interrupted.ledger.turns[0].attempts] == ["cancelled", "model-error"]
    assert [row.state for row in interrupted.ledger.verification_runs] == ["interrupted", "decided"]
    assert {"Stop", "MarkInterrupted"} <= {record.step for record in interrupted.steps}
    assert any(record.arguments.get("wait_s") == 5 for record in interrupted.steps)
    assert len(golden("two-runs").ledger.runs) == 1
    decisions = [row.decision for row in golden("rerun").ledger.verification_runs]
    assert decisions == ["RERUN", "RERUN", "FEEDBACK", "RERUN", "APPROVED"]


@pytest.mark.parametrize("name", NAMES)
def test_no_path_of_a_machine_is_in_a_trajectory(name: str) -> None:
    for path in (GOLDEN / name).rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert not any(place in text for place in ("/tmp", "/home", "/root", "/usr", "/Users")), path


@pytest.mark.parametrize(
    ("form", "told", "verifiers"), [((), "3 decisions, 13 steps", 6), (("--local",), "2 decisions, 11 steps", 4)]
)
def test_what_the_demo_records_is_replayed_as_equal(
    tmp_path: Path, touchline: Callable[..., Any], form: tuple[str, ...], told: str, verifiers: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "touchline", "demo", "--dir", str(tmp_path / "demo"), *form],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    (ledger,) = (tmp_path / "demo" / "state").glob("player-coach/*/*/ledger.json")
    run = str(ledger.parent)
    said = touchline("replay", run)
    assert (said.status, said.out) == (0, f"{told}, all equal\n")
    events = json.loads(touchline("replay", run, "--events", "--json").out)
    assert (events["equal"], events["complete"]) == (True, True)
    # The player twice, and a judge and an exerciser for each verification.
    records = sorted(row["record"].partition("/")[0] for row in events["programs"])
    assert records == ["output"] * verifiers + ["player"] * 2
    assert replay(read_recorded(RunFolder(ledger.parent))).not_compared == ()
