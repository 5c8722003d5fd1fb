"""`touchline replay RUN --events` (spec page 7): recorded raw streams through their drivers, events compared."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchline.errors import LedgerError

if TYPE_CHECKING:
    from touchline.execution.replay import EventDifference, EventsReplayed, RecordedEvent
    from touchline.executor import Executor
    from touchline.state import RunFolder

SHOWN = 400
"""Code points of each side of a difference that are shown."""


def replay_events(folder: RunFolder, *, as_json: bool) -> int:
    """Print what came of every recorded program; gives the exit status."""
    found = list(_replayed(folder.path))
    different = next((row for row in found if row[1].difference is not None), None)
    compared = [one for _, one in found if not one.not_compared]
    if as_json:
        click.echo(json.dumps(_as_json(found), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_lines(found, different)))
    return 0 if different is None and compared else 1


def _replayed(folder: Path) -> Iterator[tuple[str, EventsReplayed]]:
    """Every program of the run, by the record it stands in (the player's, and one for each verifier)."""
    from touchline.execution.replay import replay_processes
    from touchline.turn.raw import INDEX, read_processes
    from touchline.turn.record import read_events

    try:
        for index in sorted(folder.rglob(f"raw/{INDEX}")):
            record = index.parent.parent
            for one in replay_processes(list(read_processes(record)), list(read_events(record)), _driver):
                yield (str(record.relative_to(folder)) if record != folder else "player"), one
                if one.difference is not None:
                    return
    except OSError as error:
        raise LedgerError(
            f"the records in {folder} cannot be read: {error.strerror or error}", fix="Make them readable for you."
        ) from error


def _driver(name: str) -> Executor:
    from touchline.executor import ExecutorSettings
    from touchline.plugins.load import load_executor

    return load_executor(name, ExecutorSettings(), environ=os.environ)


def _lines(found: list[tuple[str, EventsReplayed]], different: tuple[str, EventsReplayed] | None) -> Iterator[str]:
    from touchline.commands.replay import counted
    from touchline.turn.shown import printable

    for record, one in found:
        left_out = one.not_compared or one.partly
        if left_out:
            word = "not compared" if one.not_compared else "compared in part"
            yield f"{word}: {printable(_place(record, one), SHOWN)}: {printable(left_out, SHOWN)}"
    compared = [one for _, one in found if not one.not_compared]
    counts = f"{counted(sum(one.events for one in compared), 'event')} of {counted(len(compared), 'program')}"
    if different is not None:
        record, one = different
        assert one.difference is not None
        yield f"different in {printable(_place(record, one), SHOWN)}: event {one.difference.place} of its turn"
        yield f"  then   {printable(_shown(one.difference.then), SHOWN)}"
        yield f"  now    {printable(_shown(one.difference.now), SHOWN)}"
        yield f"equal before it: {counts}"
    elif not compared:
        yield "nothing could be compared" if found else "nothing was recorded"
    else:
        complete = not any(one.not_compared or one.partly for _, one in found)
        yield f"{counts}, {'all equal' if complete else 'equal as far as compared'}"


def _place(record: str, one: EventsReplayed) -> str:
    turn = f", turn {one.turn}" if one.turn is not None else ""
    return f"{record}, program {one.process}{turn}"


def _shown(event: RecordedEvent | None) -> str:
    return "no event" if event is None else f"{event.kind} {json.dumps(event.payload, ensure_ascii=False)}"


def _as_json(found: list[tuple[str, EventsReplayed]]) -> dict[str, Any]:
    rows = [
        {
            "record": record,
            "program": one.process,
            "turn": one.turn,
            "events": one.events,
            "notCompared": one.not_compared,
            "partly": one.partly,
            "difference": None if one.difference is None else _difference(one.difference),
        }
        for record, one in found
    ]
    compared = [one for _, one in found if not one.not_compared]
    equal = bool(compared) and all(one.difference is None for one in compared)
    return {
        "equal": equal,
        "complete": equal and not any(one.not_compared or one.partly for _, one in found),
        "programs": rows,
    }


def _difference(found: EventDifference) -> dict[str, Any]:
    sides = {"then": found.then, "now": found.now}
    shown = {
        name: None if event is None else {"kind": event.kind, "payload": event.payload} for name, event in sides.items()
    }
    return {"event": found.place, **shown}
