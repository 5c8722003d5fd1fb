"""SIGKILL at every step boundary and inside every write: the next start continues, nothing lost, repeated or torn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

from touchline.coach.recorded import read_recorded
from touchline.coach.replay import replay
from touchline.state import RunFolder

DRIVER = Path(__file__).with_name("kill_driver.py")
CHUNKS = 8
EVERYTHING = os.environ.get("TOUCHLINE_KILLS") == "all"
SAMPLE = 4
"""Without TOUCHLINE_KILLS=all: every step boundary, and every so many of the points inside of writes."""
MOST_POINTS = 400


def drive(project: Any, kill_at: int, log: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(DRIVER), "run", "--no-pr", "--headless"],
        cwd=project.path,
        env={**os.environ, "KILL_AT": str(kill_at), "KILL_LOG": str(log)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )


def chosen(points: list[str]) -> list[int]:
    """The numbers of the points at which this run of the test kills."""
    steps = [number for number, line in enumerate(points, 1) if line.endswith(" step")]
    others = [number for number, line in enumerate(points, 1) if not line.endswith(" step")]
    return sorted([*steps, *(others if EVERYTHING else others[::SAMPLE])])


def set_up(project: Any, attempt_of: Any) -> None:
    """Three turns; the checks are commands, so that the many runs of this test stay short."""
    project.configure(
        {"player": [attempt_of(1), attempt_of(2), attempt_of(3)]},
        reviewers=[{"name": "judge", "command": ["true"]}],
        exerciser={"command": ["true"]},
        tests={"command": ["grep", "-q", "VALUE = 3", "value.py"], "baseline": False},
    )


def ended_turns(project: Any) -> Counter[int]:
    """How often the record holds the end of each turn."""
    events = project.folder / "events.jsonl"
    rows = [json.loads(line) for line in events.read_bytes().splitlines()] if events.exists() else []
    return Counter(row["turn"] for row in rows if row["kind"] == "TurnEnded")


def carriers() -> list[int]:
    """Processes of a run of this test that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            environ = process.environ()
        except psutil.Error:
            continue
        if "TOUCHLINE_RUN" in environ and environ.get("HOME") == os.environ["HOME"]:
            found.append(process.pid)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_kill_at_any_point_is_a_pause(project: Any, attempt_of: Any, tmp_path: Path, chunk: int) -> None:
    set_up(project, attempt_of)
    state = Path(os.environ["XDG_STATE_HOME"])
    whole = tmp_path / "whole.log"
    for log in (tmp_path / "first.log", whole):
        # The plugin loader writes a cache into a fresh home, once; those points are of the first run only.
        shutil.rmtree(state, ignore_errors=True)
        (project.path / "value.py").unlink(missing_ok=True)
        ran = drive(project, 0, log)
        assert ran.returncode == 0, ran.stderr.decode()
    points = whole.read_text().splitlines()
    assert 30 < len(points) < MOST_POINTS
    assert sum("before step" in line for line in points) == 14, points
    for number in chosen(points)[chunk::CHUNKS]:
        shutil.rmtree(state)
        (project.path / "value.py").unlink()
        head, index = project.git("rev-parse", "HEAD"), project.git("diff", "--cached", "--raw")
        where = points[number - 1]
        killed = drive(project, number, tmp_path / f"{number}.log")
        assert killed.returncode == -9, where
        folders = list(state.glob("player-coach/*/*/ledger.json"))
        before = json.loads(folders[0].read_bytes()) if folders else {"turns": [], "verificationRuns": []}
        returned = {row["turn"] for row in before["turns"] if row["state"] != "started"}
        decided = {row["verifyRun"]: row for row in before["verificationRuns"] if row["decision"]}
        played = ended_turns(project) if folders else Counter()
        if before.get("terminal") is not None and before["terminal"]["reported"]:
            assert b"STATUS: APPROVED_NO_PR" in killed.stdout, where
            continue
        after = drive(project, 0, tmp_path / f"{number}-after.log")
        assert after.returncode == 0, f"{where}: {after.stderr.decode()}"
        ledger = project.ledger
        assert b"STATUS: APPROVED_NO_PR" in after.stdout, where
        assert [row["turn"] for row in ledger["turns"]] == [1, 2, 3], where
        assert {row["state"] for row in ledger["turns"]} == {"recorded"}, where
        again = ended_turns(project)
        assert all(again[turn] == played[turn] for turn in returned), f"{where}: a turn that was back was played again"
        now = {row["verifyRun"]: row for row in ledger["verificationRuns"]}
        assert all(now[run]["decision"] == row["decision"] for run, row in decided.items()), where
        assert all(row["state"] in ("decided", "interrupted") for row in now.values()), where
        assert [row["decision"] for row in now.values() if row["decision"]] == ["FEEDBACK", "FEEDBACK", "APPROVED"], (
            where
        )
        for report in (project.folder / "reports").glob("*.json"):
            json.loads(report.read_bytes())
        left = [path.name for path in project.folder.rglob("*") if path.name.endswith(".touchline-tmp")]
        assert left == [], where
        assert not (project.folder / "private").exists(), where
        assert (project.git("rev-parse", "HEAD"), project.git("diff", "--cached", "--raw")) == (head, index), where
        assert project.git("status", "--porcelain") == "?? value.py\n", where
        assert (project.path / "value.py").read_text() == "VALUE = 3\n", where
        assert carriers() == [], where
        replayed = replay(read_recorded(RunFolder(project.folder)))
        assert (replayed.difference, replayed.not_compared) == (None, ()), where


def test_a_kill_in_the_middle_of_a_turn_resumes_the_same_turn(project: Any, attempt_of: Any, verifiers: Any) -> None:
    slow = {"steps": [{"write": {"path": "half.py", "content": "x = 1\n"}}, {"hang": 60}], "resumed": [attempt_of(3)]}
    project.configure({"player": [slow], **verifiers})
    process = subprocess.Popen(
        [sys.executable, "-m", "touchline", "run", "--no-pr", "--headless"],
        cwd=project.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 20
        while not (project.path / "half.py").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait(timeout=10)
    session = project.ledger["turns"][0]["sessionId"]
    ran = project.run()
    assert ran.status == 0, ran.err
    (turn,) = project.ledger["turns"]
    assert turn["sessionId"] == session
    assert turn["changedPaths"] == ["half.py", "value.py"]
    assert carriers() == []


def test_ctrl_c_stops_cleanly_and_the_next_start_continues(project: Any, attempt_of: Any, verifiers: Any) -> None:
    slow = {"steps": [{"write": {"path": "half.py", "content": "x = 1\n"}}, {"hang": 60}], "resumed": [attempt_of(3)]}
    project.configure({"player": [slow], **verifiers})
    process = subprocess.Popen(
        [sys.executable, "-m", "touchline", "run", "--no-pr", "--headless"],
        cwd=project.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not (project.path / "half.py").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.terminate()
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out.decode().startswith("STATUS: INTERRUPTED\n")
    assert carriers() == []
    assert project.git("diff", "--cached", "--raw") == ""
    assert project.ledger["terminal"] is None
    ran = project.run()
    assert (ran.status, ran.block["TURNS_USED"]) == (0, "1 of 10"), ran.err
