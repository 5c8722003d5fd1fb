"""What the loop itself costs a turn (spec page 5), against a shell script that starts the same processes.

Every run is a process of its own, as a user starts it. Timed are whole turns, from the plan of one player turn to the
plan of the next; the first one is left out, since the tests at the base run in it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import loop_hooks
from bench.loop_floor import Start, read_starts, write_script
from bench.loop_project import Project, make_project
from bench.measure import paired, timed
from bench.rows import Aim, Row
from bench.scale import Scale

RECORDED_TURN = 3
TURN_LIMIT = 3
"""Exit status of a run that used its turns, as every run here does."""


def run(scale: Scale) -> list[Row]:
    """Runs and scripts in turn; each run's median turn against the script's."""
    turns = scale.pick(8, quick=RECORDED_TURN + 1)
    project = make_project(scale.scratch, turns)
    script = scale.scratch / "floor.sh"
    starts = _record(project, scale.scratch, turns)
    write_script(script, project, starts, turns=turns)
    pairs = []
    for _ in range(scale.pick(5, quick=1)):
        measured = statistics.median(_turn_seconds(_run(project, scale.scratch, turns)))
        pairs.append((measured, _script_seconds(project, scale.scratch, script) / turns))
    pair = paired(pairs)
    calls = sum(start.is_git for start in starts)
    return [
        Row(
            "loop",
            pair.measured_s,
            "s",
            pair.floor_s,
            "a shell script with the git calls and programs of one turn",
            pair.ratio,
            (Aim("value", 0.5), Aim("ratio", 1.5)),
            f"a turn: {calls} git calls and {len(starts) - calls} programs",
        )
    ]


def _record(project: Project, scratch: Path, turns: int) -> list[Start]:
    """The processes of one turn, from a run that is not timed."""
    kept = scratch / "kept"
    seen = _run(project, scratch, turns, {loop_hooks.RECORDED_TURN: str(RECORDED_TURN), loop_hooks.KEPT: str(kept)})
    return read_starts(seen["starts"])


def _run(project: Project, scratch: Path, turns: int, env: dict[str, str] | None = None) -> dict[str, Any]:
    """One run from the beginning; what the hook plugin saw of it."""
    shutil.rmtree(project.state, ignore_errors=True)
    (project.repo / "value.txt").unlink(missing_ok=True)
    output = scratch / "seen.json"
    argv = ["-m", "touchline", "-p", loop_hooks.__name__, "run", "--no-pr", "--headless", "--max-turns", str(turns)]
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=project.repo,
        env={
            **os.environ,
            **(env or {}),
            loop_hooks.OUTPUT: str(output),
            "XDG_STATE_HOME": str(project.state),
            "PYTHONPATH": str(Path(__file__).parents[1]),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=600,
    )
    if done.returncode != TURN_LIMIT:
        raise RuntimeError(f"the run ended with status {done.returncode}: {done.stderr.decode(errors='replace')}")
    seen: dict[str, Any] = json.loads(output.read_text())
    return seen


def _turn_seconds(seen: dict[str, Any]) -> list[float]:
    began = [at for step, at in seen["steps"] if step == "PlayTurn"]
    return [later - earlier for earlier, later in pairwise(began[1:])]


def _script_seconds(project: Project, scratch: Path, script: Path) -> float:
    """The time of the script, with the run's own files (the rules of what is ignored) back where they were."""
    (folder,) = project.state.glob("player-coach/*/*/ledger.json")
    shutil.copytree(scratch / "kept", folder.parent / "private")
    return timed(lambda: subprocess.run(["sh", str(script)], check=True, stdin=subprocess.DEVNULL, timeout=600))
