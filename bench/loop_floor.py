"""The floor of the loop benchmark: the processes of one recorded turn, started by a shell script.

The script makes every git call of the turn, in its order, with its arguments and its git environment, and starts the
same four programs (player, tests, judge, exerciser). It has no supervisors, gives git nothing to read where the coach
does, reads none of the answers, keeps no ledger and syncs nothing: what the coach does beside is its overhead.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.loop_project import Project
from touchline_scripted import runner

PROGRAMS = 4


@dataclass(frozen=True, slots=True)
class Start:
    """One process that the coach started: its command, folder and git environment."""

    argv: tuple[str, ...]
    cwd: str
    env: tuple[tuple[str, str], ...]

    @property
    def is_git(self) -> bool:
        """Whether it is a git call; the others are supervisors, each with a program of the turn."""
        return Path(self.argv[0]).name == "git"


def read_starts(recorded: Iterable[dict[str, object]]) -> list[Start]:
    """The starts as the hook plugin wrote them."""
    return [Start(tuple(one["argv"]), str(one["cwd"]), tuple(sorted(one["env"].items()))) for one in recorded]  # type: ignore[arg-type, attr-defined]


def write_script(place: Path, project: Project, starts: Sequence[Start], *, turns: int) -> None:
    """Write the script that does so many turns. Raises RuntimeError for a turn that is not as described above."""
    programs = iter(_programs(place.parent, project))
    supervised = sum(not start.is_git for start in starts)
    if supervised != PROGRAMS:
        raise RuntimeError(f"the recorded turn started {supervised} programs besides git, not {PROGRAMS}")
    common = dict(Counter(start.env for start in starts if start.is_git).most_common(1)[0][0])
    lines = [f"export {name}={shlex.quote(value)}" for name, value in common.items()]
    lines += [f"cd {shlex.quote(str(project.repo))}", "turn=0", f"while [ $turn -lt {turns} ]; do"]
    for start in starts:
        if not start.is_git:
            lines.append(next(programs))
            continue
        own = dict(start.env)
        changed = [f"{name}={shlex.quote(value)}" for name, value in own.items() if common.get(name) != value]
        unset = [f"-u {name}" for name in common if name not in own]
        before = ["env", *unset, *changed] if unset else changed
        lines.append(" ".join([*before, shlex.join(start.argv), "</dev/null >/dev/null 2>&1"]))
    lines += ["turn=$((turn + 1))", "done"]
    place.write_text("\n".join(lines) + "\n")


def _programs(folder: Path, project: Project) -> list[str]:
    """The commands of the turn's programs in their order; what the player reads is written beforehand."""
    turn = {
        "steps": [
            {"write": {"path": "value.txt", "content": "attempt\n"}},
            {"finish": {"summary": "attempt"}},
        ],
        "model": "scripted",
        "prompt": "TOTAL BLOCKING ITEMS: 1",
        "role": "player",
        "turn": 1,
        "task_id": "floor",
        "session_id": "floor",
        "session_file": str(folder / "session.jsonl"),
        "cwd": str(project.repo),
    }
    told = folder / "turn.txt"
    told.write_text(f"{json.dumps(turn)}\n{json.dumps({'allowed': True})}\n")
    player = [sys.executable, "-I", "-S", runner.__file__]
    return [
        f"{shlex.join(player)} <{shlex.quote(str(told))} >/dev/null",
        *(f"{shlex.join(one)} </dev/null >/dev/null 2>&1" for one in (project.tests, project.judge, project.exerciser)),
    ]
