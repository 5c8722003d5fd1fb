"""Reading the program of one turn to its end, and telling it something: one JSON object a line both ways."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from touchline.executor import Event, Notice, Program, TurnEnded
from touchline.turn.settle import Failure


def read_turn(
    program: Program,
    handle: Callable[[str], Iterator[Event]],
    result: Callable[[], TurnEnded | None],
    *,
    grace_s: Callable[[TurnEnded], float],
    without_result: Callable[[], Failure],
    name: str = "the CLI",
) -> Iterator[Event]:
    """The events of a turn; the last one is its end.

    `handle` gives the events of a line and answers what the program asks; `result` is the end that it has read
    so far. With a result the program gets `grace_s` seconds to exit. Late and oversized output is never handled.
    """
    for line in program.lines():
        if line.late:
            yield Notice(f"late output was not accepted: {line.text[:200]}")
            continue
        if line.oversized:
            yield Notice(f"a line of {line.size} bytes was too long and was dropped")
            continue
        yield from handle(line.text)
        if result() is not None:
            break
    end = result()
    if end is None:
        yield TurnEnded("", without_result())
        return
    allowed = grace_s(end)
    program.finish(allowed)
    if program.ending == "grace" and allowed > 0:
        yield Notice(f"{name} did not exit after its result and was stopped")
    yield end


def send(program: Program, message: Mapping[str, object]) -> None:
    """Write one line; never waits."""
    program.write(json.dumps(message).encode() + b"\n")
