"""Owns which gates failed and how bad each is (spec page 4, pass 2, step 4). Pure.

A failed gate blocks by failing; the severity is for show and never compared with the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.documents.decision import Context
from touchline.documents.ledger import GateRow
from touchline.documents.report import CustomGate
from touchline.gates.completeness import EXERCISER, TESTER, worst_row
from touchline.gates.reading import Reading
from touchline.gates.text import MAX_LINE_CHARS, bounded

FAILED = 10
UNPROVED = 9


MAX_STATUS_CHARS = 40


def failed_gates(reading: Reading, context: Context, incomplete: Sequence[str]) -> list[GateRow]:
    """The failed gates. `incomplete` is why a third result in one turn is still no verification, or empty."""
    rows = _skill(EXERCISER, reading)
    if context.tests_configured:
        rows += _skill(TESTER, reading)
    gates = context.configured_gates
    rows += _custom("exerciser", reading.exerciser_gates, gates.exerciser)
    rows += _custom("review", reading.review_gates, gates.review)
    if incomplete:
        rows.append(_row("verification", "INCOMPLETE", UNPROVED, "; ".join(incomplete)))
    if not context.declared and context.turn > 0:
        evidence = "the turn did not end with the trailer that declares it finished"
        rows.append(_row("turn-discipline", "UNDECLARED", UNPROVED, evidence))
    if context.scope_mode == "files" and not context.work_changed:
        rows.append(_row("no-work", "UNCHANGED", UNPROVED, "no file differs from the start of the run"))
    return rows


def _skill(skill: str, reading: Reading) -> list[GateRow]:
    row = worst_row(skill, reading.skills)
    if row is None or row.status not in ("FAILED", "BLOCKED"):
        return []
    return [_row(skill, row.status, FAILED if row.status == "FAILED" else UNPROVED, row.notes)]


def _custom(kind: str, rows: Sequence[CustomGate], configured: Sequence[str]) -> list[GateRow]:
    """One row a rule: of several answers to one rule the worst counts; a configured rule without one fails."""
    worst: dict[str, CustomGate] = {rule.strip(): CustomGate(rule=rule, status="MISSING") for rule in configured}
    answered: set[str] = set()
    for row in rows:
        rule = row.rule.strip()
        if rule not in answered or _badness(row.status) > _badness(worst[rule].status):
            worst[rule] = row
        answered.add(rule)
    return [
        _row(f"custom:{kind}:{rule}", row.status, _badness(row.status), row.evidence)
        for rule, row in worst.items()
        if row.status != "PASS"
    ]


def _badness(status: str) -> int:
    return {"PASS": 0, "FAIL": FAILED}.get(status, UNPROVED)


def _row(gate: str, status: str, severity: int, evidence: str) -> GateRow:
    return GateRow(
        gate=bounded(gate, MAX_LINE_CHARS),
        status=bounded(status, MAX_STATUS_CHARS),
        severity=severity,
        evidence=bounded(evidence),
    )
