from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from touchline.agent_cli.reading import read_turn, send
from touchline.api import Event, Failure, FailureKind, Line, Notice, Program, TextDelta, TurnEnded


class Said:
    """A program that says these lines and exits, or not, when its result is there."""

    def __init__(self, *lines: Line, exits: bool = True) -> None:
        self._lines, self._exits = lines, exits
        self.ending, self.returncode, self.stderr_tail = "exited", 0, ""
        self.written: list[bytes] = []
        self.finished: list[float] = []

    def lines(self) -> Iterator[Line]:
        yield from self._lines

    def write(self, content: bytes) -> None:
        self.written.append(content)

    def finish(self, grace_s: float) -> None:
        self.finished.append(grace_s)
        if not self._exits:
            self.ending = "grace"


def turn(said: Said, *, grace_s: float = 5.0) -> list[Event]:
    seen: list[TurnEnded] = []

    def handle(line: str) -> Iterator[Event]:
        yield TextDelta(line)
        if line.startswith("end"):
            seen.append(TurnEnded(line))

    return list(
        read_turn(
            cast("Program", said),
            handle,
            lambda: seen[-1] if seen else None,
            grace_s=lambda _: grace_s,
            without_result=lambda: Failure(FailureKind.LOST_RESULT, "nothing came"),
            name="pebble",
        )
    )


def test_the_first_result_ends_the_turn_and_nothing_after_it_is_read() -> None:
    said = Said(Line("a", 1), Line("end 1", 5), Line("end 2", 5))
    assert turn(said) == [TextDelta("a"), TextDelta("end 1"), TurnEnded("end 1")]
    assert said.finished == [5.0]


def test_without_a_result_the_end_is_a_failure() -> None:
    said = Said(Line("a", 1))
    assert turn(said) == [TextDelta("a"), TurnEnded("", Failure(FailureKind.LOST_RESULT, "nothing came"))]
    assert said.finished == []


@pytest.mark.parametrize("line", [Line("end", 3, late=True), Line("end", 999, oversized=True)])
def test_late_and_oversized_output_is_told_and_never_handled(line: Line) -> None:
    notice, end = turn(Said(line))
    assert isinstance(notice, Notice)
    assert end == TurnEnded("", Failure(FailureKind.LOST_RESULT, "nothing came"))


def test_a_program_that_does_not_exit_after_its_result_is_told_unless_it_had_no_time() -> None:
    assert Notice("pebble did not exit after its result and was stopped") in turn(Said(Line("end", 3), exits=False))
    assert turn(Said(Line("end", 3), exits=False), grace_s=0.0) == [TextDelta("end"), TurnEnded("end")]


def test_a_message_is_one_line() -> None:
    said = Said()
    send(cast("Program", said), {"text": "a\nb"})
    assert said.written == [b'{"text": "a\\nb"}\n']
