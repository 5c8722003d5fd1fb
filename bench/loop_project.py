"""The project of the loop benchmark: a scripted player that never gets it right, and commands that verify it.

Everything around the coach is as cheap as it can be, so that what the coach adds is not hidden: the tests are one
short program, the judge and the exerciser start one program of a few milliseconds each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_TESTS = """\
import pathlib, sys
good = pathlib.Path("value.txt").exists() and pathlib.Path("value.txt").read_text() == "good\\n"
print("ok 1 - value" if good else "not ok 1 - value")
print("1..1")
sys.exit(not good)
"""
FILES = 50
"""Files that the project has besides: a small one, since the time of git on a large one is not ours."""


@dataclass(frozen=True, slots=True)
class Project:
    """Where the repository is, where touchline keeps its state, and the programs of each turn in their order."""

    repo: Path
    state: Path
    tests: tuple[str, ...]
    judge: tuple[str, ...] = ("true",)
    exerciser: tuple[str, ...] = ("test", "-s", "value.txt")


def make_project(folder: Path, turns: int) -> Project:
    """A repository with one commit, configured for a run of so many turns."""
    repo = folder / "project"
    project = Project(repo, folder / "state", (sys.executable, "-I", "-S", "tests/check.py"))
    attempts = [
        [{"write": {"path": "value.txt", "content": f"attempt {turn}\n"}}, {"finish": {"summary": f"attempt {turn}"}}]
        for turn in range(1, turns + 1)
    ]
    script = folder / "script.json"
    settings = {
        "executors": {"play": {"driver": "scripted", "script": str(script)}},
        "run": {"executor": "play"},
        "tests": {"command": list(project.tests)},
        "reviewers": [{"name": "judge", "command": list(project.judge)}],
        "exerciser": {"command": list(project.exerciser)},
    }
    script.write_text(json.dumps({"version": 1, "player": attempts}))
    contents = {f"src/part{number}.txt": f"part {number}\n" * 20 for number in range(FILES)}
    contents |= {
        "tests/check.py": _TESTS,
        "docs/plans/value.md": "# Set the value\n\n`value.txt` holds the line `good`.\n",
        "touchline.yaml": json.dumps(settings),
        ".gitignore": "__pycache__/\n",
    }
    for name, content in contents.items():
        place = repo / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    for argv in (("init", "--quiet", "--initial-branch=main"), ("add", "--all"), ("commit", "--quiet", "-m", "Start")):
        subprocess.run(["git", *argv], cwd=repo, check=True, stdin=subprocess.DEVNULL, timeout=60)
    return project
