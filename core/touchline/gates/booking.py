"""Owns what becomes of each finding when a complete or final report is booked (spec page 4, pass 2, steps 1-2). Pure.

No rule raises a severity: a finding holds what was reported or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchline.documents.base import Disposition, Location
from touchline.documents.ledger import Finding
from touchline.gates.grounds import Grounds, disposed, follow_up, tree_of
from touchline.gates.identified import Identified
from touchline.gates.quarantine import signature_of
from touchline.gates.text import MAX_LINE_CHARS, bounded
from touchline.ledger import queries
from touchline.ledger.identity import finding_key, slug

MAX_LINE_NUMBER = 10_000_000
MAX_SOURCES = 20


@dataclass(frozen=True, slots=True)
class _Judged:
    """One reported issue, judged: the disposition that it asks for and the severity that it counts with."""

    identified: Identified
    severity: int
    disposition: Disposition
    reason: str
    quarantine_id: str | None = None


_WEIGHT: dict[Disposition, int] = {
    "open": 4,
    "accepted-below-threshold": 3,
    "deferred-out-of-scope": 2,
    "quarantined": 1,
    "fixed": 0,
}
"""When several issues of one report are one finding, the gravest answer counts."""


def book_reported(identified: Sequence[Identified], grounds: Grounds) -> dict[str, Finding]:
    """The findings that were reported, new and known ones, as they stand after this verification."""
    known = {finding.id: finding for finding in grounds.ledger.findings}
    groups: dict[str, list[Identified]] = {}
    for one in identified:
        groups.setdefault(one.finding_id, []).append(one)
    return {
        finding_id: _book(
            [_judge(one, known.get(finding_id), grounds) for one in group], known.get(finding_id), grounds
        )
        for finding_id, group in groups.items()
    }


def _judge(one: Identified, known: Finding | None, grounds: Grounds) -> _Judged:
    issue, severity = one.reported.issue, one.reported.finding.severity
    entry = grounds.quarantined.get(issue.id)
    if entry is not None:
        return _Judged(one, severity, "quarantined", f"matches {entry}", entry)
    deferral = grounds.coverage.deferral(one.reported, known)
    if deferral:
        return _Judged(one, min(severity, grounds.coverage.cap), "deferred-out-of-scope", deferral)
    if severity < grounds.threshold:
        return _Judged(one, severity, "accepted-below-threshold", f"severity {severity} is below the threshold")
    if known is None:
        return _Judged(one, severity, "open", "reported at or above the threshold")
    if known.disposition != "accepted-below-threshold":
        reason = "came back" if known.disposition == "fixed" else "reported at or above the threshold"
        return _Judged(one, severity, "open", reason)
    if grounds.context.full_audit:
        return _Judged(one, severity, "open", "accepted before; a full audit counts at face value")
    if _is_new_harm(issue.new_harm_evidence, known):
        return _Judged(one, severity, "open", "accepted before; new evidence of harm")
    return _Judged(one, severity, "accepted-below-threshold", "accepted before; no new evidence of harm")


def _is_new_harm(evidence: str | None, known: Finding) -> bool:
    """Evidence that only repeats what the ledger holds is agreement, and agreement is no evidence."""
    if not evidence or not evidence.strip():
        return False
    return slug(evidence) not in {slug(line) for line in (known.evidence, *known.evidence.split("\n"))}


def _book(judged: Sequence[_Judged], known: Finding | None, grounds: Grounds) -> Finding:
    lead = max(judged, key=lambda one: (_WEIGHT[one.disposition], one.severity))
    issue = lead.identified.reported.issue
    context = grounds.context
    match = next((one.identified.match for one in judged if one.identified.match is not None), None)
    sources = list(dict.fromkeys(source for one in judged for source in one.identified.reported.finding.sources))
    seen: dict[str, object] = {
        "class_": issue.class_,
        "severity": lead.severity,
        "severity_history": [*(known.severity_history if known else []), lead.severity],
        "last_seen": context.verify_run,
        "last_turn": context.turn,
        "last_tree": tree_of(context),
        "evidence": _evidence(lead, judged, grounds),
        "matched_to": match.finding_id if match else None,
        "match_reason": match.reason if match else None,
        "signature": signature_of(lead.identified.reported) or (known.signature if known else None),
        "quarantine_id": lead.quarantine_id,
    }
    if known is None:
        return _first_booking(lead, seen, sources=_sources([], sources), grounds=grounds)
    location = _location(lead.identified) or known.location
    reaffirmed = known.disposition == lead.disposition == "accepted-below-threshold"
    seen |= {
        "location": location,
        "key": finding_key(location.path if location else None, known.mechanism) or known.key,
        "sources": _sources(known.sources, sources),
        "occurrences": known.occurrences + (0 if _counted_this_turn(known, grounds) else 1),
        "reaffirmed_by": _sources(known.reaffirmed_by, sources) if reaffirmed else known.reaffirmed_by,
    }
    return disposed(known.model_copy(update=seen), lead.disposition, lead.reason, context)


def _first_booking(lead: _Judged, seen: dict[str, object], *, sources: list[str], grounds: Grounds) -> Finding:
    traits, verify_run = lead.identified.traits, grounds.context.verify_run
    return Finding.model_validate(
        {
            **seen,
            "id": lead.identified.finding_id,
            "key": finding_key(traits.path, traits.mechanism),
            "location": _location(lead.identified),
            "title": traits.title,
            "root_cause": traits.root_cause,
            "mechanism": traits.mechanism,
            "symbol": traits.symbol or None,
            "symptom": traits.symptom or None,
            "sources": sources,
            "first_seen": verify_run,
            "disposition": lead.disposition,
            "disposition_reason": lead.reason,
            "disposition_set_at": verify_run,
            "follow_up": follow_up(lead.disposition),
        }
    )


def _counted_this_turn(finding: Finding, grounds: Grounds) -> bool:
    """Whether its occurrence in this turn is counted already; turn numbers restart in each run, verifyRuns do not."""
    ledger, turn = grounds.ledger, grounds.context.turn
    row = grounds.rows.get(finding.last_seen)
    if row is not None:
        return row.run_number == ledger.run_number and row.turn == turn
    earliest = min((row.verify_run for row in queries.verifications_of_run(ledger)), default=finding.last_seen)
    return finding.last_turn == turn and finding.last_seen >= earliest


def _location(one: Identified) -> Location | None:
    given, path = one.reported.finding.location, one.traits.path
    if given is None or path is None:
        return None
    return Location(path=path, line=_line(given.line), end_line=_line(given.end_line))


def _line(number: int | None) -> int | None:
    return number if number is not None and 0 < number <= MAX_LINE_NUMBER else None


def _sources(known: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*known, *(bounded(one, MAX_LINE_CHARS) for one in more)]))[:MAX_SOURCES]


def _evidence(lead: _Judged, judged: Sequence[_Judged], grounds: Grounds) -> str:
    """What was seen; issues that turned out to be the same finding are kept by their title and their evidence."""
    parts = [_seen(lead, grounds)]
    parts += [
        f"also reported as: {one.identified.traits.title}\n{_seen(one, grounds)}" for one in judged if one is not lead
    ]
    return bounded("\n".join(parts))


def _seen(one: _Judged, grounds: Grounds) -> str:
    issue, finding = one.identified.reported.issue, one.identified.reported.finding
    texts = (issue.evidence or finding.description, issue.new_harm_evidence, grounds.exerciser.get(issue.id))
    return "\n".join(dict.fromkeys(text.strip() for text in texts if text and text.strip()))
