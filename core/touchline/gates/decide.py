"""Owns the verdict on one verification run: arithmetic over ledger, report and context (spec page 4). Pure.

Same input, same bytes out: no clock, no disk, no model. No input raises; a report that cannot be read is an
incomplete verification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchline.documents.decision import Context, Decision
from touchline.documents.ledger import CarryForward, Finding, LastDecision, Ledger, Outcome, VerificationRow
from touchline.documents.report import Report
from touchline.gates.booking import book_reported
from touchline.gates.completeness import MAX_RERUNS, incompleteness, reviewer
from touchline.gates.coverage import coverage_rules
from touchline.gates.failed import failed_gates
from touchline.gates.grounds import Grounds
from touchline.gates.identified import identify
from touchline.gates.quarantine import Ground, judge_quarantine
from touchline.gates.reading import Reading, read_report
from touchline.gates.unseen import settle_unseen
from touchline.gates.verdict import decided_finding, decision_on, outcome_of
from touchline.ledger.identity import current_path, normalise_path, normalise_renames


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision, and the ledger with everything that it books, to be written in one atomic write."""

    decision: Decision
    ledger: Ledger


def decide(ledger: Ledger, report: bytes | Report, context: Context) -> Decided:
    """Judge the report of `context.verify_run`.

    A verification row that has its decision keeps it: then the decision is answered and the ledger is returned
    as it was. Without a row (a check by hand) one is appended.
    """
    context = _completed(context, ledger)
    reading = read_report(report, context)
    started = _with_row(ledger, reading, context)
    incomplete = incompleteness(reading, context)
    if incomplete and context.reruns_this_turn < MAX_RERUNS:
        decided = _rerun(started, reading, context, incomplete)
    else:
        decided = _book(started, reading, context, incomplete)
    was_decided = any(
        row.verify_run == context.verify_run and row.decision is not None for row in ledger.verification_runs
    )
    return Decided(decided.decision, ledger) if was_decided else decided


def _completed(context: Context, ledger: Ledger) -> Context:
    """The context with the base and merge base of the ledger where it names none (branch scope)."""
    if context.scope_mode != "branch":
        return context
    return context.model_copy(
        update={
            "base_ref": context.base_ref if context.base_ref is not None else ledger.base_ref,
            "merge_base": context.merge_base if context.merge_base is not None else ledger.merge_base,
        }
    )


def _rerun(ledger: Ledger, reading: Reading, context: Context, incomplete: Sequence[str]) -> Decided:
    decision = decision_on(
        ledger,
        outcome="RERUN",
        next_="RERUN_VERIFY",
        judge=reviewer(reading, context),
        reason="; ".join(incomplete),
    )
    run = ledger.run.model_copy(update={"reruns_this_turn": context.reruns_this_turn + 1})
    booked = ledger.model_copy(update={"run": run})
    return Decided(decision, _row_decided(booked, reading, context, decision, finding_ids=[]))


def _book(ledger: Ledger, reading: Reading, context: Context, incomplete: Sequence[str]) -> Decided:
    identified = identify(reading.reported, ledger, context)
    known = {finding.id: finding for finding in ledger.findings}
    quarantine = judge_quarantine(
        ledger.quarantine,
        identified,
        diagnoses=reading.diagnoses,
        known=known,
        ground=_ground(ledger, context),
    )
    grounds = Grounds(
        ledger=ledger,
        context=context,
        coverage=coverage_rules(ledger, context),
        quarantined=quarantine.matched,
        rows={row.verify_run: row for row in ledger.verification_runs},
        exerciser={row.issue_id: f"exerciser: {row.status}. {row.evidence}" for row in reading.seen},
    )
    booked = book_reported(identified, grounds)
    findings = _all_findings(booked, reading, grounds, complete=not incomplete)
    after = ledger.model_copy(update={"findings": findings, "quarantine": quarantine.entries})
    gates = failed_gates(reading, context, incomplete)
    outcome, next_, reason = outcome_of(after, reading, context, gates=gates, reported=set(booked))
    decision = decision_on(
        after,
        outcome=outcome,
        next_=next_,
        judge=reviewer(reading, context),
        reason=reason,
        gates=gates,
        rows=[decided_finding(one, booked[one.finding_id]) for one in identified],
    )
    after = after.model_copy(
        update={"carry_forward": _carry_forward(ledger, context, outcome, complete=not incomplete)}
    )
    return Decided(decision, _row_decided(after, reading, context, decision, finding_ids=list(booked)))


def _ground(ledger: Ledger, context: Context) -> Ground:
    paths = (normalise_path(path) for path in context.diff_paths)
    return Ground(
        merge_base=context.merge_base if context.merge_base is not None else ledger.merge_base,
        diff_paths=frozenset(path for path in paths if path is not None),
        verify_run=context.verify_run,
    )


def _all_findings(booked: dict[str, Finding], reading: Reading, grounds: Grounds, *, complete: bool) -> list[Finding]:
    """Known findings in their order, then the new ones in the order of the report."""
    moved = normalise_renames(grounds.context.renames)
    answers: dict[str, set[str]] = {}
    for row in reading.rechecks:
        answers.setdefault(row.ledger_id, set()).add(row.status)
    found = []
    for finding in grounds.ledger.findings:
        path = finding.location.path if finding.location else None
        names = {normalise_path(path), current_path(path, moved)}
        found.append(
            booked.get(finding.id)
            or settle_unseen(
                finding,
                answers.get(finding.id, ()),
                in_delta=not names.isdisjoint(reading.delta_paths),
                grounds=grounds,
                complete=complete,
            )
        )
    ids = {finding.id for finding in found}
    return found + [finding for finding_id, finding in booked.items() if finding_id not in ids]


def _carry_forward(ledger: Ledger, context: Context, outcome: Outcome, *, complete: bool) -> CarryForward:
    """What this verification proved of the head; an incomplete one proved nothing, so nothing moves to it."""
    before = ledger.carry_forward
    if not complete:
        same = before.last_verified_head_sha == context.head_sha
        return before.model_copy(update={"last_decision": "FEEDBACK"}) if same else before
    last: LastDecision = "FEEDBACK"
    if outcome == "APPROVED":
        last = "APPROVED" if context.full_audit else "PROVISIONAL"
    return before.model_copy(
        update={
            "last_verified_head_sha": context.head_sha,
            "last_verified_threshold": ledger.severity_threshold,
            "last_full_audit_sha": context.head_sha if context.full_audit else before.last_full_audit_sha,
            "last_decision": last,
        }
    )


def _with_row(ledger: Ledger, reading: Reading, context: Context) -> Ledger:
    """The ledger with a row for this verification; one is appended where there is none (a check by hand)."""
    if any(row.verify_run == context.verify_run for row in ledger.verification_runs):
        return ledger
    row = VerificationRow(
        run_number=ledger.run_number,
        verify_run=context.verify_run,
        turn=context.turn,
        state="read",
        context=context.model_dump(by_alias=True),
        head_sha=context.head_sha,
        tree_hash=context.tree_hash,
        report_path=f"reports/{context.verify_run}.json",
        delta_base_sha=reading.delta_base_sha,
        full_audit=context.full_audit,
    )
    return ledger.model_copy(update={"verification_runs": [*ledger.verification_runs, row]})


def _row_decided(
    ledger: Ledger, reading: Reading, context: Context, decision: Decision, *, finding_ids: list[str]
) -> Ledger:
    answer = {
        "state": "decided",
        "status": reading.status,
        "decision": decision.decision,
        "gates": decision.failed_gates,
        "finding_ids": finding_ids,
        "reviewer": decision.reviewer,
        "next": decision.next,
        "reason": decision.reason,
    }
    rows = [
        row.model_copy(update=answer) if row.verify_run == context.verify_run else row
        for row in ledger.verification_runs
    ]
    return ledger.model_copy(update={"verification_runs": rows})
