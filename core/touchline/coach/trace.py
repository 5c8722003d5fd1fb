"""What `steps.jsonl` says about each planned step, and the ledger as it was then, built from it (spec page 7). Pure.

The trace is evidence for a replay; the loop never reads it. It holds what a later state of the ledger no longer
shows: how far the open turn and the open verification were, and how each finding stood. Whatever else the planner
reads of a ledger that changes within a run belongs into `Standing`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from touchline.coach.steps import Facts, Step
from touchline.documents.base import Disposition, Document
from touchline.documents.ledger import (
    Ledger,
    Status,
    Terminal,
    TurnRow,
    TurnState,
    VerificationRow,
    VerificationState,
)
from touchline.ledger import queries

_FACTS = TypeAdapter(Facts)
_Row = TypeVar("_Row", TurnRow, VerificationRow)


class FindingStanding(Document):
    """How a finding stood."""

    id: str
    disposition: Disposition
    severity: int


class EntryStanding(Document):
    """Whether a quarantine entry counted."""

    id: str
    active: bool


class TurnStanding(Document):
    """How far the open turn of the run was."""

    turn: int
    state: TurnState
    attempts: int


class VerificationStanding(Document):
    """How far the latest verification of the run was."""

    verify_run: int
    state: VerificationState


class Standing(Document):
    """The ledger as the planner saw it, as far as its end state does not tell."""

    turn: TurnStanding | None
    verification: VerificationStanding | None
    waited_seconds: int
    terminal: Status | None
    reported: bool
    findings: list[FindingStanding]
    quarantine: list[EntryStanding]
    publish_failure: str | None = None


class StepRecord(Document):
    """One line of `steps.jsonl`: the step's name and arguments, and what it was planned from."""

    run_number: str
    step: str
    arguments: dict[str, Any]
    facts: dict[str, Any]
    standing: Standing | None = None
    """None in records of a version that did not keep it."""


def record_of(ledger: Ledger, step: Step, facts: Facts) -> StepRecord:
    """The trace of one step that was planned from `ledger`."""
    return StepRecord(
        run_number=ledger.run_number,
        step=type(step).__name__,
        arguments=asdict(step),
        facts=asdict(facts),
        standing=standing_of(ledger),
    )


def standing_of(ledger: Ledger) -> Standing:
    """How `ledger` stands."""
    turn, row, terminal = queries.current_turn(ledger), queries.current_verification(ledger), ledger.terminal
    findings, quarantine = standings(ledger)
    return Standing(
        turn=TurnStanding(turn=turn.turn, state=turn.state, attempts=len(turn.attempts)) if turn else None,
        verification=VerificationStanding(verify_run=row.verify_run, state=row.state) if row else None,
        waited_seconds=ledger.run.waited_seconds,
        terminal=terminal.status if terminal else None,
        reported=terminal.reported if terminal else False,
        findings=findings,
        quarantine=quarantine,
        publish_failure=ledger.run.publish_failure,
    )


def standings(ledger: Ledger) -> tuple[list[FindingStanding], list[EntryStanding]]:
    """How each finding and each quarantine entry stands."""
    return (
        [FindingStanding(id=one.id, disposition=one.disposition, severity=one.severity) for one in ledger.findings],
        [EntryStanding(id=one.id, active=one.active) for one in ledger.quarantine],
    )


def read_record(line: bytes) -> StepRecord | None:
    """The record of one line; None when it is none."""
    try:
        return StepRecord.model_validate_json(line)
    except ValidationError:
        return None


def facts_of(record: StepRecord) -> Facts | None:
    """What the planner was told beside the ledger; None when the record does not hold it."""
    try:
        return _FACTS.validate_json(json.dumps(record.facts), strict=True)
    except ValidationError:
        return None


def undecided(row: VerificationRow, state: VerificationState = "read") -> VerificationRow:
    """The row as it was before its decision; one that had just been started has no context either."""
    update: dict[str, object] = {
        "state": state,
        "status": None,
        "decision": None,
        "gates": [],
        "finding_ids": [],
        "reviewer": None,
        "next": None,
        "reason": "",
    }
    if state != "read":
        update["context"] = {}
    return row.model_copy(update=update)


def ledger_then(base: Ledger, ended: Ledger, standing: Standing) -> Ledger | str:
    """The ledger that `standing` was taken of, or what of it is not in the `ended` one.

    `base` gives what does not grow within a run, and the findings, quarantine and carry-forward of that moment;
    `ended` gives the rows, as they became.
    """
    number = base.run_number
    turns = [row for row in ended.turns if row.run_number == number]
    rows = [row for row in ended.verification_runs if row.run_number == number]
    turn, verification = standing.turn, standing.verification
    turns = [row for row in turns if turn is not None and row.turn <= turn.turn]
    rows = [row for row in rows if verification is not None and row.verify_run <= verification.verify_run]
    if turn is not None:
        if not turns or turns[-1].turn != turn.turn:
            return f"turn {turn.turn}"
        if len(turns[-1].attempts) < turn.attempts:
            return f"attempt {turn.attempts} at turn {turn.turn}"
        update = {"state": turn.state, "attempts": turns[-1].attempts[: turn.attempts]}
        turns[-1] = turns[-1].model_copy(update=update)
    if verification is not None:
        if not rows or rows[-1].verify_run != verification.verify_run:
            return f"verification {verification.verify_run}"
        if verification.state != rows[-1].state:
            rows[-1] = undecided(rows[-1], verification.state)
    terminal = None
    if standing.terminal is not None:
        terminal = Terminal(status=standing.terminal, reason="", reported=standing.reported)
    return base.model_copy(
        update={
            "turns": [*_of_other_runs(base.turns, number), *turns],
            "verification_runs": [*_of_other_runs(base.verification_runs, number), *rows],
            "run": base.run.model_copy(
                update={"waited_seconds": standing.waited_seconds, "publish_failure": standing.publish_failure}
            ),
            "terminal": terminal,
        }
    )


def _of_other_runs(rows: list[_Row], number: str) -> list[_Row]:
    return [row for row in rows if row.run_number != number]
