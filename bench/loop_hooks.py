"""A hook plugin that watches one run for the benchmark: when each step began, what was started in one turn.

Loaded into touchline by `-p bench.loop_hooks`; writes what it saw to the file that the environment names. Only a run
that is not timed is asked to note its processes.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from touchline.api import Ledger, hookimpl

api_version = 1

OUTPUT = "BENCH_OUTPUT"
"""Variable with the path of the file to write."""
RECORDED_TURN = "BENCH_RECORDED_TURN"
"""Variable with the number of the turn whose processes are noted; unset: none."""
KEPT = "BENCH_KEPT"
"""Variable with the folder to keep the run's private folder in, as it is at the end of that turn."""

_TURN = "PlayTurn"

steps: list[tuple[str, float]] = []
starts: list[dict[str, object]] = []
_recording = False
_folder = Path()


@hookimpl
def touchline_run_started(folder: Path) -> None:
    """Remember where the run keeps its things, and listen for processes if asked to."""
    global _folder
    _folder = folder
    if RECORDED_TURN in os.environ:
        sys.addaudithook(_heard)


@hookimpl
def touchline_step_planned(ledger: Ledger, step: str) -> None:
    """Note the step; the recorded turn is what happens from its start to the start of the next."""
    global _recording
    steps.append((step, time.perf_counter()))
    if step == _TURN and RECORDED_TURN in os.environ:
        begun = sum(name == _TURN for name, _ in steps)
        if _recording:
            shutil.copytree(_folder / "private", os.environ[KEPT])
        _recording = begun == int(os.environ[RECORDED_TURN])


@hookimpl
def touchline_run_ended() -> None:
    """Write what was seen."""
    Path(os.environ[OUTPUT]).write_text(json.dumps({"steps": steps, "starts": starts, "folder": str(_folder)}))


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if not _recording or event != "subprocess.Popen":
        return
    _, argv, cwd, env = arguments
    assert isinstance(argv, (list, tuple))
    given = env if isinstance(env, Mapping) else os.environ
    git = {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()}
    starts.append(
        {
            "argv": [os.fsdecode(word) for word in argv],
            "cwd": os.fsdecode(cwd) if isinstance(cwd, (str, bytes, os.PathLike)) else "",
            "env": {name: value for name, value in git.items() if name.startswith("GIT_")},
        }
    )
