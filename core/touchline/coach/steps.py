"""The planner of the loop: the ledger as read from disk in, the next step out (spec page 5, "Shape"). Pure.

`next_step` is total: every ledger that a kill can leave behind has a next step. It holds the table of spec page 2
that says which failures count as a turn and what follows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from touchline.documents.ledger import Attempt, Ledger, Status, TurnRow, VerificationRow
from touchline.ledger import queries

MAX_RETRIES = 2
BACKOFF_S = (5, 30)
USAGE_WAIT_STEP_S = 15 * 60
USAGE_WAIT_MAX_S = 6 * 3600

ENDS_THE_RUN = frozenset({"not-installed", "not-authenticated", "protocol"})
RETRIED = frozenset({"rate-limit", "model-error"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What the planner is told beside the ledger.

    `attempts_before`: how many attempts the open turn had when this process started; only younger ones can end
    this process. `now`: ISO 8601 UTC. `cancelled`: a person or a signal asked to stop.
    """

    now: str
    attempts_before: int = 0
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class PlayTurn:
    """Invoke the player. `again` when this turn was begun before (crash, retry); wait `wait_s` seconds first."""

    turn: int
    again: bool = False
    wait_s: int = 0
    waits_for_usage: bool = False


@dataclass(frozen=True, slots=True)
class RecordTurn:
    """Fold the player's commits, take over its new files, close the turn's row."""

    turn: int


@dataclass(frozen=True, slots=True)
class Verify:
    """Run one verification with a new number."""

    turn: int
    verify_run: int
    full_audit: bool


@dataclass(frozen=True, slots=True)
class MarkInterrupted:
    """A verification was begun by a process that is gone: it counts, and is never read."""

    verify_run: int


@dataclass(frozen=True, slots=True)
class Decide:
    """Decide the gates of a verification whose report was read."""

    verify_run: int


@dataclass(frozen=True, slots=True)
class Finish:
    """Write the terminal status (after the clean-up of a local run)."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """Print the block of a terminal ledger that was not reported yet."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End this process with a status that leaves the run to be continued (INTERRUPTED, FAILED_RUN)."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do: the block was printed."""


Step = PlayTurn | RecordTurn | Verify | MarkInterrupted | Decide | Finish | Report | Stop | Done


def next_step(ledger: Ledger, facts: Facts) -> Step:
    """The one step that this ledger asks for. Total, deterministic, never raises on a valid ledger."""
    if ledger.terminal is not None:
        return Done() if ledger.terminal.reported else Report()
    turn = queries.current_turn(ledger)
    if ledger.run.publish_failure is not None and (turn is None or turn.state == "recorded"):
        return Finish("FAILED_PUBLISH", ledger.run.publish_failure)
    if facts.cancelled:
        return Stop("INTERRUPTED", "stopped by a signal; start the same command again to continue")
    if turn is None:
        return PlayTurn(1)
    if turn.state == "started":
        return _play_again(ledger, turn, facts)
    if turn.state in ("returned", "committing"):
        return RecordTurn(turn.turn)
    return _after_turn(ledger, turn)


def counts_as_turn(failure: str | None) -> bool:
    """Whether a turn that ended with this failure kind is used up as it stands (spec page 2's table).

    Retried kinds do not count until their retries are spent; that is `retries_spent`.
    """
    return failure not in ENDS_THE_RUN | RETRIED | {"usage-limit", "cancelled", "lost-resume"}


def retries_spent(attempts: list[Attempt]) -> bool:
    """Whether one more rate limit or model error is a turn that counts."""
    return sum(attempt.kind in RETRIED for attempt in attempts) >= MAX_RETRIES


def budget_spent(ledger: Ledger) -> str:
    """Which budget of the run is spent, in words, or "". Turns whose usage is unknown count as nothing."""
    options = ledger.run.options
    usages = [row.usage for row in queries.turns_of_run(ledger) if row.usage is not None]
    tokens = sum(usage.input + usage.output for usage in usages)
    cost = sum(usage.cost or 0.0 for usage in usages)
    if options.run_max_tokens is not None and tokens >= options.run_max_tokens:
        return f"the run's budget of {options.run_max_tokens} tokens is spent ({tokens} used)"
    if options.run_max_cost is not None and cost >= options.run_max_cost:
        return f"the run's budget of {options.run_max_cost} US dollars is spent ({cost:.4f} used)"
    return ""


def _play_again(ledger: Ledger, row: TurnRow, facts: Facts) -> Step:
    fresh = row.attempts[facts.attempts_before :]
    if not fresh:
        return PlayTurn(row.turn, again=True)
    last = fresh[-1]
    if last.kind in ENDS_THE_RUN:
        return Stop("FAILED_RUN", last.reason or last.kind)
    if last.kind == "cancelled":
        return Stop("INTERRUPTED", last.reason or "stopped; start the same command again to continue")
    if last.kind == "usage-limit":
        return _wait_for_usage(ledger, row, last, facts)
    if last.kind in RETRIED:
        spent = sum(attempt.kind in RETRIED for attempt in row.attempts)
        return PlayTurn(row.turn, again=True, wait_s=BACKOFF_S[min(spent, len(BACKOFF_S)) - 1])
    return PlayTurn(row.turn, again=True)


def _wait_for_usage(ledger: Ledger, row: TurnRow, last: Attempt, facts: Facts) -> Step:
    left = USAGE_WAIT_MAX_S - ledger.run.waited_seconds
    if left <= 0:
        hours = USAGE_WAIT_MAX_S // 3600
        return Stop(
            "INTERRUPTED",
            f"waited {hours} h in all for a usage limit: {last.reason}; start again to continue",
        )
    wait_s = USAGE_WAIT_STEP_S
    if last.resets_at is not None:
        wait_s = max(1, int(_seconds_between(facts.now, last.resets_at)) + 1)
    return PlayTurn(row.turn, again=True, wait_s=min(wait_s, left), waits_for_usage=True)


def _seconds_between(earlier: str, later: str) -> float:
    try:
        return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    except (ValueError, TypeError):
        # The reset time comes from a model host; an unreadable one is an unknown one.
        return USAGE_WAIT_STEP_S


def _after_turn(ledger: Ledger, turn: TurnRow) -> Step:
    rows = queries.verifications_of_turn(ledger, turn.turn)
    if not rows:
        return _verify(ledger, turn, full_audit=False)
    last = rows[-1]
    match last.state:
        case "started":
            return MarkInterrupted(last.verify_run)
        case "interrupted":
            return _verify(ledger, turn, full_audit=last.full_audit)
        case "read":
            return Decide(last.verify_run)
        case "decided":
            return _after_decision(ledger, turn, last)


def _after_decision(ledger: Ledger, turn: TurnRow, row: VerificationRow) -> Step:
    match row.decision:
        case "APPROVED" if row.next == "PHASE_2":
            return Finish("APPROVED_NO_PR" if ledger.run.mode == "no-pr" else "APPROVED_DRAFT_OPEN", row.reason)
        case "APPROVED":
            return _verify(ledger, turn, full_audit=True)
        case "FEEDBACK" if turn.turn >= ledger.max_turns:
            return Finish("TURN_LIMIT_VERIFY", row.reason)
        case "FEEDBACK" if spent := budget_spent(ledger):
            return Finish("TURN_LIMIT_VERIFY", f"{spent}; {row.reason}")
        case "FEEDBACK":
            return PlayTurn(turn.turn + 1)
        case _:
            return _verify(ledger, turn, full_audit=row.full_audit)


def _verify(ledger: Ledger, turn: TurnRow, *, full_audit: bool) -> Verify:
    # A local run passes no --since, so each of its verifications is a full audit (spec page 3).
    full = full_audit or ledger.run.mode == "no-pr" or ledger.carry_forward.last_verified_head_sha is None
    return Verify(turn.turn, queries.next_verify_run(ledger), full)
