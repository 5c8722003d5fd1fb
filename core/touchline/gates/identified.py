"""Owns how a report's issues get their ledger ids (spec page 3, "Finding identity"). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from touchline.documents.decision import Context
from touchline.documents.ledger import Ledger
from touchline.gates.reading import Reported
from touchline.gates.text import MAX_LINE_CHARS, bounded
from touchline.ledger.identity import FindingIndex, Match, Traits, id_number, next_id, normalise_renames


@dataclass(frozen=True, slots=True)
class Identified:
    """A reported issue and the finding that it is; `match` is None when it is new.

    `traits` are what was compared: the path where its file is now, and bounded texts.
    """

    reported: Reported
    traits: Traits
    finding_id: str
    match: Match | None


def identify(reported: Sequence[Reported], ledger: Ledger, context: Context) -> list[Identified]:
    """Every reported issue with its ledger id, in the order of the report; issues of one report match too.

    Two issues of one source in one report are two problems to it, so likeness of their words never makes them one;
    and what matches exactly is placed first, so that a mere likeness cannot take its id.
    """
    index = FindingIndex(ledger.findings, context.renames)
    number = id_number(next_id("F", _ids_ever_used(ledger)))
    moved = normalise_renames(context.renames)
    arrived = set(moved.values())
    gone = {old: new for old, new in moved.items() if old not in arrived}
    traits = [_traits(one, moved=gone) for one in reported]
    claims = _Claims()
    exact = [index.exact(one, row.issue.matches) for one, row in zip(traits, reported, strict=True)]
    for row, match in zip(reported, exact, strict=True):
        if match is not None:
            claims.add(match.finding_id, row)
    found = []
    for one, row, placed in zip(traits, reported, exact, strict=True):
        match = placed or index.match(one, row.issue.matches, taken=claims.of(row))
        finding_id = match.finding_id if match else f"F-{number}"
        if match is None:
            number += 1
            index.add(finding_id, one)
        claims.add(finding_id, row)
        found.append(Identified(row, one, finding_id, match))
    return found


class _Claims:
    """Which findings the issues of each source were placed at."""

    def __init__(self) -> None:
        self._by_source: dict[str, set[str]] = {}

    def add(self, finding_id: str, row: Reported) -> None:
        for source in row.finding.sources or [""]:
            self._by_source.setdefault(source, set()).add(finding_id)

    def of(self, row: Reported) -> set[str]:
        sets = (self._by_source.get(source, set()) for source in row.finding.sources or [""])
        return set().union(*sets)


def _traits(one: Reported, *, moved: dict[str, str]) -> Traits:
    path = one.path
    return Traits(
        path=moved.get(path, path) if path is not None else None,
        mechanism=bounded(one.issue.mechanism, MAX_LINE_CHARS),
        symbol=bounded(one.issue.symbol or "", MAX_LINE_CHARS),
        symptom=bounded(one.issue.symptom or "", MAX_LINE_CHARS),
        title=bounded(one.finding.title, MAX_LINE_CHARS),
        root_cause=bounded(one.issue.root_cause),
    )


def _ids_ever_used(ledger: Ledger) -> list[str]:
    rows: Iterable[Sequence[str]] = (row.finding_ids for row in ledger.verification_runs)
    given: Iterable[Sequence[str]] = (row.feedback_finding_ids for row in ledger.turns)
    return [
        *(finding.id for finding in ledger.findings),
        *(one for ids in rows for one in ids),
        *(one for ids in given for one in ids),
    ]
