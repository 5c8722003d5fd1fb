"""Questions that are asked of a ledger, each answered in one place (spec page 3). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from touchline.documents.ledger import (
    CiFailure,
    Finding,
    Ledger,
    QuarantineEntry,
    TurnRow,
    VerificationRow,
)
from touchline.ledger.identity import normalise_path


def turns_of_run(ledger: Ledger) -> list[TurnRow]:
    """The turns of this run, in the order in which they were taken."""
    return [row for row in ledger.turns if row.run_number == ledger.run_number]


def verifications_of_run(ledger: Ledger) -> list[VerificationRow]:
    """The verification runs of this run, interrupted ones included."""
    return [row for row in ledger.verification_runs if row.run_number == ledger.run_number]


def ci_failures_of_run(ledger: Ledger) -> list[CiFailure]:
    """The failed checks of this run's CI readings."""
    return [row for row in ledger.ci_failures if row.run_number == ledger.run_number]


def current_turn(ledger: Ledger) -> TurnRow | None:
    """The turn of this run that is under way or ran last."""
    rows = turns_of_run(ledger)
    return rows[-1] if rows else None


def current_verification(ledger: Ledger) -> VerificationRow | None:
    """The verification of this run that is under way or ran last."""
    rows = verifications_of_run(ledger)
    return rows[-1] if rows else None


def verifications_of_turn(ledger: Ledger, turn: int) -> list[VerificationRow]:
    """The verification runs of one turn of this run, in the order in which they began."""
    return [row for row in verifications_of_run(ledger) if row.turn == turn]


def last_verified_head(ledger: Ledger) -> str | None:
    """The SHA that the last decided verification of this run covered."""
    decided = [row.head_sha for row in verifications_of_run(ledger) if row.state == "decided"]
    return decided[-1] if decided else None


def reviewer_line(ledger: Ledger) -> str:
    """REVIEWER: the judge of the last decision of this run; a more preferred one that was missing is named.

    A judge called `codex-reviewer` is shown as `Codex` when it is the one that was unavailable.
    """
    row = next((row for row in reversed(verifications_of_run(ledger)) if row.reviewer), None)
    if row is None or row.reviewer is None:
        return "none"
    preferred = row.context.get("judges")
    first = preferred[0] if isinstance(preferred, list) and preferred else row.reviewer
    if not isinstance(first, str) or first == row.reviewer:
        return row.reviewer
    shown = first.removesuffix("-reviewer")
    return f"{row.reviewer} ({shown[:1].upper()}{shown[1:]} unavailable)"


def turns_used(ledger: Ledger) -> int:
    """TURNS_USED: the turns of this run that counted; one found `started` is still to be taken."""
    return sum(row.state != "started" for row in turns_of_run(ledger))


def verify_runs(ledger: Ledger) -> int:
    """VERIFY_RUNS: the verification runs of this run, interrupted ones included."""
    return len(verifications_of_run(ledger))


def next_verify_run(ledger: Ledger) -> int:
    """The number of the next verification run; it never restarts, whatever run it belongs to."""
    return max((row.verify_run for row in ledger.verification_runs), default=0) + 1


def next_ci_run(ledger: Ledger) -> int:
    """The number of the next CI reading that failed; it never restarts."""
    return max((row.ci_run for row in ledger.ci_failures), default=0) + 1


def taken_run_numbers(ledger: Ledger) -> set[str]:
    """Every run number that this ledger knows."""
    rows: Iterable[str] = (
        *(run.run_number for run in ledger.runs),
        *(row.run_number for row in ledger.turns),
        *(row.run_number for row in ledger.verification_runs),
    )
    return {ledger.run_number, *rows}


def active_quarantine(ledger: Ledger) -> list[QuarantineEntry]:
    """The known environment failures that count now."""
    return [entry for entry in ledger.quarantine if entry.active]


def covers(entry: QuarantineEntry, *, signature: str | None, path: str | None) -> bool:
    """Whether an entry, active or not, is about the failure of this signature in this file."""
    if not signature or not signature.strip() or signature.strip() != entry.signature.strip():
        return False
    plain = normalise_path(path)
    return plain is not None and any(normalise_path(one) == plain for one in entry.paths)


def quarantine_match(finding: Finding, entries: Iterable[QuarantineEntry]) -> QuarantineEntry | None:
    """The first active entry with the finding's signature whose paths hold the finding's path."""
    path = finding.location.path if finding.location else None
    return next((one for one in entries if one.active and covers(one, signature=finding.signature, path=path)), None)


def blocking(ledger: Ledger) -> list[Finding]:
    """The K findings: open, at or above the threshold, without an active quarantine entry."""
    entries = active_quarantine(ledger)
    return [
        finding
        for finding in ledger.findings
        if finding.disposition == "open"
        and finding.severity >= ledger.severity_threshold
        and quarantine_match(finding, entries) is None
    ]


def deferred_in_run(ledger: Ledger) -> list[Finding]:
    """The findings that a verification of this run deferred."""
    numbers = {row.verify_run for row in verifications_of_run(ledger)}
    return [
        finding
        for finding in ledger.findings
        if finding.disposition == "deferred-out-of-scope" and finding.disposition_set_at in numbers
    ]


def sticky(ledger: Ledger) -> list[Finding]:
    """Findings that came back: open and seen in more than one turn; coverage never escalates by recurring."""
    return [
        finding
        for finding in ledger.findings
        if finding.occurrences > 1 and finding.disposition == "open" and finding.class_ != "coverage"
    ]


def is_unfinished(ledger: Ledger) -> bool:
    """Whether the run can be continued: it has no terminal status."""
    return ledger.terminal is None
