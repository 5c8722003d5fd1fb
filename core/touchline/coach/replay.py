"""Deciding and planning an ended run once more, from what it left behind (spec page 7, "Replay of real runs"). Pure.

Each run of a change is walked from the ledger that it began with: every decision is made again from its report and
its context, every step is planned again from the ledger as it stood then, and the walk ends at the first difference.
What cannot be compared, because it was not kept, is named and never counted as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import ValidationError

from touchline.coach.difference import differing
from touchline.coach.steps import Facts, Step, next_step
from touchline.coach.trace import StepRecord, facts_of, ledger_then, standings, undecided
from touchline.documents.decision import Context
from touchline.documents.ledger import CarryForward, Ledger, Terminal, VerificationRow
from touchline.gates.decide import Decided, decide
from touchline.ledger import queries


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the runs of one change left behind. `unread` names what of it is there and cannot be read."""

    ledger: Ledger
    starts: Mapping[str, Ledger] = field(default_factory=dict)
    """The ledger that each run began with, by run number."""
    reports: Mapping[int, bytes] = field(default_factory=dict)
    """Report files by verification run."""
    steps: Sequence[StepRecord] = ()
    unread: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules to compare with; a test gives others to see that the difference is found."""

    decide: Callable[[Ledger, bytes, Context], Decided] = decide
    next_step: Callable[[Ledger, Facts], Step] = next_step


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that comes out differently: where, which field, and its JSON value then and now."""

    run_number: str
    where: str
    field: str
    then: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay: how many decisions and steps were equal, and what ended it or was left out."""

    difference: Difference | None
    decisions: int
    steps: int
    not_compared: tuple[str, ...]


def replay(recorded: Recorded, *, rules: Rules | None = None) -> Replayed:
    """Walk every run of the ledger, the oldest first, until something differs."""
    walk = _Walk(recorded, rules or Rules())
    difference = next(walk.differences(), None)
    return Replayed(difference, walk.decisions, walk.steps, tuple(walk.not_compared))


class _Walk:
    """The walk over all runs of a change; counts what was equal and names what could not be compared."""

    def __init__(self, recorded: Recorded, rules: Rules) -> None:
        self.recorded = recorded
        self.rules = rules
        self.decisions = 0
        self.steps = 0
        self.not_compared = list(recorded.unread)

    def differences(self) -> Iterator[Difference]:
        """Every difference in order, made as far as the reader asks; after the first nothing holds any more."""
        ledger = self.recorded.ledger
        state: Ledger | None = _nothing_known(ledger)
        for number in (*(past.run_number for past in ledger.runs), ledger.run_number):
            start = self._start(number, state)
            if start is None:
                self.not_compared.append(f"run {number}: the ledger that it began with was not kept")
                state = None
                continue
            if state is None:
                self.not_compared.append(f"run {number}: whether it began with what the run before it had found")
            else:
                yield from _begins_otherwise(state, start)
            run = _RunWalk(self, start)
            yield from run.differences()
            state = run.state
        if state is None:
            self.not_compared.append("findings and quarantine at the end")
            return
        yield from _compare(ledger.run_number, "the end", _known(ledger), _known(state))

    def _start(self, number: str, before: Ledger | None) -> Ledger | None:
        """The ledger that a run began with, as it was kept; or as it follows from the run before."""
        kept = self.recorded.starts.get(number)
        if kept is not None and kept.run_number == number:
            return kept
        ledger = self.recorded.ledger
        if before is None or number != ledger.run_number or ledger.run.options.epic_quarantine is not None:
            return None
        return ledger.model_copy(
            update={
                "turns": [row for row in ledger.turns if row.run_number != number],
                "verification_runs": before.verification_runs,
                "findings": before.findings,
                "quarantine": before.quarantine,
                "carry_forward": CarryForward(),
                "terminal": None,
            }
        )


class _RunWalk:
    """The walk over one run. `state` is the ledger as decided so far; None once that cannot be known."""

    def __init__(self, walk: _Walk, start: Ledger) -> None:
        self._walk = walk
        self._rules = walk.rules
        self._ended = walk.recorded.ledger
        self._start = start
        self._number = start.run_number
        self.state: Ledger | None = start
        self._rows = [row for row in self._ended.verification_runs if row.run_number == self._number]
        self._turns = [row for row in self._ended.turns if row.run_number == self._number]
        self._decided = 0
        """How many of the rows were dealt with."""
        self._unfounded: list[int] = []
        """Places of the steps whose record does not say what they were planned from."""

    def differences(self) -> Iterator[Difference]:
        records = [record for record in self._walk.recorded.steps if record.run_number == self._number]
        for place, record in enumerate(records, 1):
            yield from self._step(place, record)
        yield from self._decide_until(None)
        if self._unfounded:
            places = ", ".join(map(str, self._unfounded))
            self._leave_out(f"steps recorded without what they were planned from: {places}")
        self._name_missing(records)
        yield from self._ending(records)

    # Decisions

    def _decide_until(self, verify_run: int | None) -> Iterator[Difference]:
        """Deal with the rows up to this number, in their order."""
        while self._decided < len(self._rows):
            row = self._rows[self._decided]
            if verify_run is not None and row.verify_run > verify_run:
                return
            self._decided += 1
            if row.state == "decided":
                yield from self._decide(row)
            elif self.state is not None:
                self.state = self.state.model_copy(update={"verification_runs": [*self.state.verification_runs, row]})

    def _decide(self, row: VerificationRow) -> Iterator[Difference]:
        where = f"the decision of verification {row.verify_run}"
        if self.state is None:
            self._leave_out(f"{where}: what was known before it is not")
            return
        try:
            context = Context.model_validate(row.context)
        except ValidationError:
            self._leave_out(f"{where}: its context cannot be read")
            self.state = None
            return
        report = self._walk.recorded.reports.get(row.verify_run)
        decided = self._rules.decide(self._before(row), report if report is not None else b"", context)
        after = next(one for one in decided.ledger.verification_runs if one.verify_run == row.verify_run)
        if report is None and after != row:
            # It was decided from a report that is gone, so what it booked cannot be told.
            self._leave_out(f"{where}: its report {row.report_path} is gone")
            self.state = None
            return
        yield from self._compare(where, row, after)
        self._walk.decisions += 1
        self.state = decided.ledger

    def _before(self, row: VerificationRow) -> Ledger:
        """The ledger just before a decision."""
        assert self.state is not None
        turns = [turn for turn in self._start.turns if turn.run_number != self._number]
        turns += [turn for turn in self._turns if turn.turn <= row.turn]
        return self.state.model_copy(
            update={"turns": turns, "verification_runs": [*self.state.verification_runs, undecided(row)]}
        )

    # Steps

    def _step(self, place: int, record: StepRecord) -> Iterator[Difference]:
        where = f"step {place} of the run ({record.step})"
        standing, facts = record.standing, facts_of(record)
        if standing is None or facts is None:
            self._unfounded.append(place)
            return
        if standing.verification is not None:
            latest = standing.verification
            yield from self._decide_until(latest.verify_run if latest.state == "decided" else latest.verify_run - 1)
        if self.state is None and self._start.run.mode != "no-pr":
            # What a published run verifies next depends on what was proved before.
            self._leave_out(f"{where}: what was known before it is not")
            return
        if self.state is not None:
            now = standings(self.state)
            yield from self._compare(f"findings before {where}", standing.findings, now[0])
            yield from self._compare(f"quarantine before {where}", standing.quarantine, now[1])
        then = ledger_then(self.state or self._start, self._ended, standing)
        if isinstance(then, str):
            yield Difference(self._number, where, then, "in the ledger", "not in the ledger")
            return
        step = self._rules.next_step(then, facts)
        yield from self._compare(
            where,
            {"step": record.step, "arguments": record.arguments},
            {"step": type(step).__name__, "arguments": asdict(step)},
        )
        yield from self._feedback(record)
        self._walk.steps += 1

    def _feedback(self, record: StepRecord) -> Iterator[Difference]:
        """The findings that a new turn was given are those that block then."""
        turn = record.arguments.get("turn")
        if record.step != "PlayTurn" or record.arguments.get("again") or self.state is None:
            return
        row = next((row for row in self._turns if row.turn == turn), None)
        if row is None or row.feedback_file is None:
            return
        blocking = [finding.id for finding in queries.blocking(self.state)]
        yield from self._compare(f"the feedback of turn {turn}", row.feedback_finding_ids, blocking)

    def _ending(self, records: Sequence[StepRecord]) -> Iterator[Difference]:
        terminal = _terminal_of(self._ended, self._number)
        planned = [record for record in records if record.step == "Finish"]
        if terminal is None or not planned:
            return
        now = {name: planned[-1].arguments.get(name) for name in ("status", "reason")}
        yield from self._compare("how the run ended", {"status": terminal.status, "reason": terminal.reason}, now)

    def _name_missing(self, records: Sequence[StepRecord]) -> None:
        """Name the steps that must have been planned and are not in the trace."""
        planned = {_named(record) for record in records}
        wanted: list[str] = []
        for turn in self._turns:
            wanted.append(f"PlayTurn {turn.turn}")
            wanted += [f"RecordTurn {turn.turn}"] * (turn.state == "recorded")
        for row in self._rows:
            wanted.append(f"Verify {row.verify_run}")
            wanted += [f"Decide {row.verify_run}"] * (row.state == "decided")
            wanted += [f"MarkInterrupted {row.verify_run}"] * (row.state == "interrupted")
        if _terminal_of(self._ended, self._number) is not None:
            wanted.append("Finish")
        missing = [name for name in wanted if name not in planned]
        if missing:
            self._leave_out(f"steps that were not recorded: {', '.join(missing)}")

    def _leave_out(self, what: str) -> None:
        self._walk.not_compared.append(f"run {self._number}: {what}")

    def _compare(self, where: str, then: Any, now: Any) -> Iterator[Difference]:
        return _compare(self._number, where, then, now)


def _nothing_known(ledger: Ledger) -> Ledger:
    """The ledger of a change before its first run."""
    empty: dict[str, Any] = {"turns": [], "verification_runs": [], "findings": [], "quarantine": [], "runs": []}
    return ledger.model_copy(update={**empty, "carry_forward": CarryForward()})


def _known(ledger: Ledger) -> dict[str, Any]:
    return {"findings": ledger.findings, "quarantine": ledger.quarantine, "carryForward": ledger.carry_forward}


def _begins_otherwise(before: Ledger, start: Ledger) -> Iterator[Difference]:
    """A run begins with what the run before it ended with; an epic may add proven failures."""
    quarantine = start.quarantine
    if start.run.options.epic_quarantine is not None:
        quarantine = quarantine[: len(before.quarantine)]
    then = {"findings": start.findings, "quarantine": quarantine, "carryForward": start.carry_forward}
    yield from _compare(
        start.run_number,
        "the beginning of the run",
        then,
        _known(before.model_copy(update={"carry_forward": CarryForward()})),
    )


def _compare(number: str, where: str, then: Any, now: Any) -> Iterator[Difference]:
    found = differing(then, now)
    if found is not None:
        yield Difference(number, where, *found)


def _terminal_of(ledger: Ledger, number: str) -> Terminal | None:
    if number == ledger.run_number:
        return ledger.terminal
    return next((past.terminal for past in ledger.runs if past.run_number == number), None)


def _named(record: StepRecord) -> str:
    number = record.arguments.get("verify_run", record.arguments.get("turn"))
    return record.step if number is None else f"{record.step} {number}"
