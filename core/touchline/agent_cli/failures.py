"""How a turn failed whose program gave no result (spec page 2, the table of failures). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from touchline.process import Ending
from touchline.turn.settle import Failure, FailureKind

REASON_TEXT = 500
"""Code points of a CLI's own words that a reason quotes."""

Sign = tuple[re.Pattern[str], FailureKind, str]
"""Words on standard error, what they mean, and how to say it."""


def without_result(
    ending: Ending, returncode: int | None, stderr: str, *, name: str = "the CLI", signs: Iterable[Sign] = ()
) -> Failure:
    """The failure of a program that ended without the result of its turn.

    `stderr` is the tail of what it said there: quoted, and searched for `signs` (the first one decides) unless
    the end was ours, by a limit or a stop.
    """
    said = stderr.strip()[-REASON_TEXT:]
    tail = f": {said}" if said else ""
    if ending == "wall":
        return Failure(FailureKind.TIMEOUT, f"the turn's time was over before {name} gave a result{tail}")
    if ending == "idle":
        return Failure(FailureKind.STALLED, f"{name} was silent for too long{tail}")
    if ending == "cancelled":
        return Failure(FailureKind.CANCELLED, f"{name} was stopped")
    for words, kind, meaning in signs:
        if words.search(said):
            return Failure(kind, f"{meaning}{tail}")
    if ending != "exited" or returncode is None:
        return Failure(FailureKind.LOST_RESULT, f"how {name} ended is not known ({ending}){tail}")
    if returncode == 0:
        return Failure(FailureKind.LOST_RESULT, f"{name} exited with status 0 but gave no result{tail}")
    if returncode < 0:
        return Failure(FailureKind.CRASHED, f"{name} was killed by signal {-returncode}{tail}")
    return Failure(FailureKind.CRASHED, f"{name} exited with status {returncode} without a result{tail}")
