"""The loop itself: read the ledger, plan, perform, repeat (spec page 5, "Shape").

Nothing is remembered between two steps but what the ledger on disk says; a kill anywhere is a pause.
"""

from __future__ import annotations

import time

from touchline.coach import check, finish, local
from touchline.coach.play import play_turn
from touchline.coach.publish.record import record_published_turn
from touchline.coach.run import Run
from touchline.coach.steps import (
    Decide,
    Done,
    Facts,
    Finish,
    MarkInterrupted,
    PlayTurn,
    RecordTurn,
    Report,
    Step,
    Stop,
    Verify,
    next_step,
)
from touchline.coach.terminal import EXIT_STATUS
from touchline.coach.trace import record_of
from touchline.documents.ledger import Status
from touchline.errors import ExecutorError, ForgeError, GitError
from touchline.ledger import queries
from touchline.ledger.jsonl import append_jsonl
from touchline.turn.masking import Masker


def drive(run: Run) -> int:
    """Work until the run has ended or this process has to stop; gives the exit status of the process.

    Prints exactly one terminal block to `run.result`. Errors of the ledger itself (lost, corrupt, disk full) are
    raised: without a ledger no block can be true.
    """
    open_turn = queries.current_turn(run.store.read())
    attempts_before = len(open_turn.attempts) if open_turn is not None else 0
    open_turn_number = open_turn.turn if open_turn is not None else 0
    while True:
        ledger = run.store.read()
        turn = queries.current_turn(ledger)
        same = turn is not None and turn.turn == open_turn_number
        facts = Facts(now=run.now(), attempts_before=attempts_before if same else 0, cancelled=run.cancel.is_set())
        step = next_step(ledger, facts)
        _record(run, step, facts)
        run.hooks.step_planned(ledger, type(step).__name__)
        begun = time.monotonic()
        match step:
            case Done():
                terminal = ledger.terminal
                return EXIT_STATUS[terminal.status] if terminal is not None else EXIT_STATUS["FAILED_RUN"]
            case Stop(status, reason):
                return _stop(run, status, reason)
            case _:
                try:
                    perform(run, step)
                except (ExecutorError, ForgeError, GitError) as error:
                    return _stop(run, "INTERRUPTED" if run.cancel.is_set() else "FAILED_RUN", str(error))
        run.hooks.step_performed(run.store.read(), type(step).__name__, duration_s=time.monotonic() - begun)


def perform(run: Run, step: Step) -> None:
    """Do the one bounded thing that `step` says, and write the ledger."""
    match step:
        case PlayTurn():
            play_turn(run, step)
        case RecordTurn(turn):
            if run.publication is None:
                local.record_turn(run, turn)
            else:
                record_published_turn(run, run.publication, turn)
        case Verify():
            check.verify_turn(run, step)
        case MarkInterrupted(verify_run):
            check.mark_interrupted(run, verify_run)
        case Decide(verify_run):
            check.decide_gates(run, verify_run)
        case Finish(status, reason):
            finish.finish(run, status, reason)
        case Report():
            finish.report(run)
        case Stop() | Done():
            raise AssertionError(f"{type(step).__name__} is the loop's own")


def _stop(run: Run, status: Status, reason: str) -> int:
    # Words of git and of hosts may be in it.
    finish.stop(run, status, Masker(run.secrets).mask(reason))
    return EXIT_STATUS[status]


def _record(run: Run, step: Step, facts: Facts) -> None:
    """Evidence for replay; never read by the loop."""
    record = record_of(run.store.read(), step, facts)
    append_jsonl(run.store.folder.steps, record.model_dump(mode="json", by_alias=True))
