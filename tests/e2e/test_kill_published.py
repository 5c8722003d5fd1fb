"""SIGKILL at every step boundary and around every call of the forge: no second draft or commit, no lost turn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("kill_driver.py")
CHUNKS = 4
EVERYTHING = os.environ.get("TOUCHLINE_KILLS") == "all"
SAMPLE = 3
"""Without TOUCHLINE_KILLS=all: every so many of the edges."""
BRANCH = "touchline/set-the-value"


def drive(project: Any, kill_at: int, log: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(DRIVER), "run", "--headless", "--no-ci"],
        cwd=project.path,
        env={**os.environ, "KILL_AT": str(kill_at), "KILL_LOG": str(log), "KILL_EDGES": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )


def at(bare: Path, *argv: str) -> str:
    done = subprocess.run(["git", *argv], cwd=bare, check=True, timeout=30, capture_output=True)
    return os.fsdecode(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_kill_at_any_edge_of_a_published_run_is_a_pause(
    project: Any, attempt_of: Any, tmp_path: Path, chunk: int
) -> None:
    project.configure(
        {"player": [attempt_of(1), attempt_of(3)]},
        reviewers=[{"name": "judge", "command": ["true"]}],
        exerciser={"command": ["true"]},
        tests={"command": ["grep", "-q", "VALUE = 3", "value.py"], "baseline": False},
    )
    bare, state = tmp_path / "remote.git", Path(os.environ["XDG_STATE_HOME"])
    project.git("remote", "add", "upstream", str(bare))

    def fresh() -> None:
        shutil.rmtree(state, ignore_errors=True)
        shutil.rmtree(bare, ignore_errors=True)
        project.git("switch", "--quiet", "main")
        for branch in project.git("branch", "--format=%(refname:short)").split():
            if branch != "main":
                project.git("branch", "--quiet", "-D", branch)
        project.git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
        project.git("push", "--quiet", "upstream", "main")

    fresh()
    whole = tmp_path / "whole.log"
    ran = drive(project, 0, whole)
    assert ran.returncode == 0, ran.stderr.decode()
    points = whole.read_text().splitlines()
    assert 25 < len(points) < 150, points
    numbers = range(1, len(points) + 1, 1 if EVERYTHING else SAMPLE)
    for number in numbers[chunk::CHUNKS]:
        fresh()
        where = points[number - 1]
        killed = drive(project, number, tmp_path / f"{number}.log")
        assert killed.returncode == -9, where
        if b"STATUS: APPROVED_DRAFT_OPEN" in killed.stdout:
            continue
        after = drive(project, 0, tmp_path / f"{number}-after.log")
        assert after.returncode == 0, f"{where}: {after.stderr.decode()}"
        (ref,) = at(bare, "for-each-ref", "--format=%(refname)", "refs/touchline/changes/").split()
        record = json.loads(at(bare, "show", f"{ref}:change.json"))
        branch = record["source"]
        assert branch.startswith(BRANCH), where
        assert at(bare, "log", "--format=%s", f"main..{branch}").splitlines() == [
            "Set the value to 3",
            "Set the value to 1",
        ], where
        assert record["state"] == "draft", where
        assert record["body"].count("**APPROVED_DRAFT_OPEN**") == 1, where
        assert project.git("status", "--porcelain") == "", where
