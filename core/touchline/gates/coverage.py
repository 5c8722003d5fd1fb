"""Owns the coverage rules, which make a loop over missing tests end (spec page 4, "Coverage rules"). Pure.

Each rule is a query over the ledger: coverage is the one class that breeds its own successors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchline.documents.decision import Context
from touchline.documents.ledger import Finding, Ledger, TurnRow
from touchline.gates.reading import Reported
from touchline.ledger import queries
from touchline.ledger.identity import normalise_path


@dataclass(frozen=True, slots=True)
class CoverageRules:
    """The facts that the rules need, taken from the ledger once."""

    turn: int
    cap_from_round: int
    threshold: int
    second_order_paths: frozenset[str]

    @property
    def cap(self) -> int:
        """The highest severity of a capped finding."""
        return max(1, self.threshold - 1)

    def deferral(self, reported: Reported, known: Finding | None) -> str:
        """Why a reported issue is deferred instead of blocking, or "" if no coverage rule applies to it."""
        if reported.issue.class_ != "coverage":
            return ""
        if known is not None and known.disposition == "deferred-out-of-scope":
            return "deferred before"
        if reported.path in self.second_order_paths:
            return "second-order coverage: in a file of a turn that was asked for coverage"
        if known is None and self.turn >= self.cap_from_round and not reported.issue.first_order:
            return f"new coverage remark from turn {self.cap_from_round} on"
        return ""


def coverage_rules(ledger: Ledger, context: Context) -> CoverageRules:
    """The rules as they stand for the turn that just ran."""
    row = next((row for row in queries.turns_of_run(ledger) if row.turn == context.turn), None)
    paths: frozenset[str] = frozenset()
    if row is not None and _held_coverage(ledger, row):
        paths = frozenset(plain for path in row.changed_paths if (plain := normalise_path(path)) is not None)
    return CoverageRules(
        turn=context.turn,
        cap_from_round=ledger.policy.coverage_cap_from_round,
        threshold=ledger.severity_threshold,
        second_order_paths=paths,
    )


def _held_coverage(ledger: Ledger, row: TurnRow) -> bool:
    """Whether the feedback that a turn was given held a coverage item."""
    coverage = {finding.id for finding in ledger.findings if finding.class_ == "coverage"}
    return any(finding_id in coverage for finding_id in _feedback_ids(ledger, row))


def _feedback_ids(ledger: Ledger, row: TurnRow) -> Sequence[str]:
    given = row.feedback_finding_ids or [one.finding_id for one in row.receipts if one.finding_id is not None]
    if given or row.feedback_items_given == 0:
        return given
    # Neither the items nor an answer to one was kept: what the decision before this turn had found.
    before = queries.verifications_of_turn(ledger, row.turn - 1)
    return before[-1].finding_ids if before else []
