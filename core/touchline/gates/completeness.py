"""Owns pass 1: whether a verification is complete enough to decide anything (spec page 4, "Pass 1"). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from touchline.documents.decision import Context
from touchline.documents.report import SkillResult
from touchline.gates.reading import Reading

MAX_RERUNS = 2
"""Reruns in one turn; the next incomplete result becomes feedback."""

EXERCISER = "exerciser"
TESTER = "tester"

_RANK = {"FAILED": 0, "BLOCKED": 1, "PASSED": 3}
"""How bad a row is, the worst first; every other word is a verification that did not take place (2)."""
_INCOMPLETE = 2


def incompleteness(reading: Reading, context: Context) -> tuple[str, ...]:
    """Why this verification is incomplete, the first cause first; empty when it is complete."""
    found = list(reading.problems)
    if not found and reading.status != "ok":
        found.append(f"the verification is {reading.status}: {reading.error or 'no reason given'}")
    if reading.status == "unavailable":
        return tuple(found)
    found += _missing(EXERCISER, reading.skills)
    if context.tests_configured:
        found += _missing(TESTER, reading.skills)
    if reviewer(reading, context) is None:
        found.append("no judge completed its review")
    return tuple(found)


def worst_row(skill: str, rows: Iterable[SkillResult]) -> SkillResult | None:
    """The row of a verifier; of several the worst, of equally bad ones the first."""
    own = [row for row in rows if row.skill == skill]
    return min(own, key=lambda row: _RANK.get(row.status, _INCOMPLETE), default=None)


def reviewer(reading: Reading, context: Context) -> str | None:
    """The most preferred judge that completed."""
    completed = {row.skill for row in reading.skills if row.status == "COMPLETED"}
    return next((judge for judge in context.judges if judge in completed), None)


def _missing(skill: str, rows: Sequence[SkillResult]) -> list[str]:
    row = worst_row(skill, rows)
    if row is None:
        return [f"there is no {skill} row"]
    return [] if row.status in _RANK else [f"the {skill} did not run: {row.status[:40]!r}"]
