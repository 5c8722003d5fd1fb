"""Owns the outcome of a verification and how it is printed (spec page 4, "Outcome"). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from touchline.documents.decision import Context, Counts, DecidedFinding, Decision, Next
from touchline.documents.ledger import Finding, GateRow, Ledger, Outcome, QuarantineEntry
from touchline.gates.completeness import TESTER, worst_row
from touchline.gates.identified import Identified
from touchline.gates.reading import Reading
from touchline.gates.text import MAX_LINE_CHARS, bounded
from touchline.ledger import queries


def outcome_of(
    ledger: Ledger, reading: Reading, context: Context, *, gates: Sequence[GateRow], reported: set[str]
) -> tuple[Outcome, Next, str]:
    """Outcome, what follows, and why. `reported` are the ledger ids that the report names."""
    blocking = queries.blocking(ledger)
    looked_at = reported | {row.ledger_id for row in reading.rechecks}
    unlooked = [finding for finding in blocking if finding.id not in looked_at]
    provisional = not context.full_audit
    if gates or (blocking and not (provisional and len(unlooked) == len(blocking))):
        spent = context.turn >= context.max_turns
        return (
            "FEEDBACK",
            "TERMINAL:TURN_LIMIT_VERIFY" if spent else "PLAYER_TURN",
            _blocked_reason(blocking, gates, context, spent=spent),
        )
    if provisional:
        reason = "nothing blocks in the delta; the full audit decides"
        if unlooked:
            ids = ", ".join(finding.id for finding in unlooked)
            reason = (
                f"the delta run looked at none of the blocking findings ({bounded(ids, 200)}); the full audit decides"
            )
        return "APPROVED", "FULL_AUDIT", reason
    tester = worst_row(TESTER, reading.skills)
    notes = f"; tester: {bounded(' '.join(tester.notes.split()), 200)}" if tester and tester.notes.strip() else ""
    return "APPROVED", "PHASE_2", f"no finding blocks and no gate failed{notes}"


def _blocked_reason(blocking: Sequence[Finding], gates: Sequence[GateRow], context: Context, *, spent: bool) -> str:
    parts = []
    if blocking:
        parts.append(f"{len(blocking)} blocking: {bounded(', '.join(one.id for one in blocking), 200)}")
    if gates:
        parts.append("failed gates: " + bounded(", ".join(row.gate for row in gates), MAX_LINE_CHARS))
    if spent:
        parts.append(f"turn {context.turn} of {context.max_turns} was the last")
    return "; ".join(parts)


def decided_finding(one: Identified, finding: Finding) -> DecidedFinding:
    """The printed row of one reported issue."""
    return DecidedFinding(
        issue=one.reported.issue.id,
        ledger_id=one.finding_id,
        is_new=one.match is None,
        match_reason=one.match.reason if one.match else None,
        disposition=finding.disposition,
        severity=finding.severity,
        occurrences=finding.occurrences,
        follow_up=finding.follow_up,
        quarantine_id=finding.quarantine_id,
    )


def decision_on(
    ledger: Ledger,
    *,
    outcome: Outcome,
    next_: Next,
    judge: str | None,
    reason: str,
    gates: Sequence[GateRow] = (),
    rows: Sequence[DecidedFinding] = (),
) -> Decision:
    """The decision as it is printed, with the counts of the ledger that it is about."""
    return Decision(
        decision=outcome,
        next=next_,
        counts=Counts(
            blocking=len(queries.blocking(ledger)),
            quarantined=_quarantined(ledger.findings, ledger.quarantine),
            deferred=len(queries.deferred_in_run(ledger)),
        ),
        findings=list(rows),
        failed_gates=list(gates),
        quarantine=list(ledger.quarantine),
        sticky=[finding.id for finding in queries.sticky(ledger)],
        reviewer=judge,
        reason=reason,
    )


def _quarantined(findings: Sequence[Finding], entries: Sequence[QuarantineEntry]) -> int:
    active = {entry.id for entry in entries if entry.active}
    return sum(one.disposition == "quarantined" and one.quarantine_id in active for one in findings)
