"""`touchline replay RUN` (spec page 7): decide and plan a run once more, and show the first difference."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchline.errors import UsageError

if TYPE_CHECKING:
    from touchline.coach.replay import Replayed
    from touchline.state import RunFolder

SHOWN = 400
"""Code points of each side of a difference that are shown."""
EXIT_DIFFERENT = 1


@click.command(name="replay")
@click.argument("run")
@click.option("--events", "events", is_flag=True, help="Read the recorded raw streams again and compare events.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, run: str, events: bool, as_json: bool) -> int:
    """Decide and plan a recorded run once more, without an executor, and compare.

    RUN is a run folder, or PROJECT/CHANGE as `touchline runs` lists it. With --events the recorded output of each
    agent is fed through its driver instead. Exit status 1 with the first difference, or when nothing of the run could
    be compared. Nothing is written.
    """
    from touchline.coach.recorded import read_recorded
    from touchline.coach.replay import replay

    folder = _folder(run)
    if events:
        from touchline.commands.replay_events import replay_events

        return replay_events(folder, as_json=as_json)
    replayed = replay(read_recorded(folder))
    if as_json:
        click.echo(json.dumps(_as_json(replayed), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_lines(replayed)))
    return EXIT_DIFFERENT if replayed.difference is not None or _nothing(replayed) else 0


def _folder(run: str) -> RunFolder:
    from touchline.commands.run_folders import find_run, is_running
    from touchline.state import RunFolder

    named = Path(run)
    folder = RunFolder(named.resolve()) if named.is_dir() and (named / "ledger.json").exists() else None
    folder = folder or find_run(run, os.environ)
    if is_running(folder):
        raise UsageError(f"the run in {folder.path} is still at work", fix="Wait until its process has ended.")
    return folder


def _nothing(replayed: Replayed) -> bool:
    """Whether there was something to compare, and none of it could be: that is no success."""
    return bool(replayed.not_compared) and replayed.decisions + replayed.steps == 0


def _lines(replayed: Replayed) -> list[str]:
    from touchline.turn.shown import printable

    counts = f"{counted(replayed.decisions, 'decision')}, {counted(replayed.steps, 'step')}"
    lines = [f"not compared: {printable(what, SHOWN)}" for what in replayed.not_compared]
    found = replayed.difference
    if found is not None:
        lines += [
            f"different in run {printable(found.run_number, 40)}: {printable(found.where, SHOWN)}",
            f"  field  {printable(found.field, SHOWN) or '(the whole)'}",
            f"  then   {printable(_shown(found.then), SHOWN)}",
            f"  now    {printable(_shown(found.now), SHOWN)}",
            f"equal before it: {counts}",
        ]
    elif _nothing(replayed):
        lines.append("nothing could be compared")
    else:
        lines.append(f"{counts}, {'equal as far as compared' if replayed.not_compared else 'all equal'}")
    return lines


def counted(number: int, word: str) -> str:
    """A number of things in words."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _as_json(replayed: Replayed) -> dict[str, Any]:
    found = replayed.difference
    return {
        "equal": found is None and not _nothing(replayed),
        "complete": found is None and not replayed.not_compared,
        "decisions": replayed.decisions,
        "steps": replayed.steps,
        "notCompared": list(replayed.not_compared),
        "difference": None
        if found is None
        else {
            "run": found.run_number,
            "where": found.where,
            "field": found.field,
            "then": found.then,
            "now": found.now,
        },
    }
