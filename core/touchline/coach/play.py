"""One player turn: begun in the ledger, run, settled, and kept as `returned` (spec pages 2, 3 and 5).

The order of writes is the promise: `started` before the player is spawned, `returned` when it is back. A turn that
does not count leaves an attempt and stays `started`, so that the planner says what follows.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from touchline.coach import feedback as feedback_file
from touchline.coach.local import remember_turn
from touchline.coach.player import FeedbackGiven, PlayerReport, player_report
from touchline.coach.run import Run
from touchline.coach.steps import RETRIED, PlayTurn, counts_as_turn, retries_spent
from touchline.coach.talk import Spoken, begin_talk
from touchline.documents.ledger import Attempt, Ledger, Receipt, Settlement, TurnRow
from touchline.errors import LedgerError
from touchline.execution.budget import total_usage
from touchline.ledger import queries
from touchline.ledger.store import atomic_write
from touchline.turn.settle import TurnSettlement
from touchline.turn.text import tail

TAIL_KEPT = 2000
WAIT_BOOKED_S = 60


def play_turn(run: Run, step: PlayTurn) -> None:
    """Run the turn of `step` and write what became of it."""
    if step.wait_s and not _wait(run, step):
        return
    row = _turn_again(run, step.turn) if step.again else _begin_turn(run, step.turn)
    ledger = run.store.read()
    given = _feedback_given(run, ledger, row)
    run.progress.phase("player", turn=row.turn, max_turns=ledger.max_turns)
    _keep(run, row, given, begin_talk(run, ledger, row, given).converse(again=step.again))


def _wait(run: Run, step: PlayTurn) -> bool:
    """Wait as planned; what is waited for a usage limit is booked piece by piece, so that a kill forgets little."""
    run.progress.say(f"waiting {step.wait_s} s before turn {step.turn} is tried again")
    left = step.wait_s
    while left > 0:
        piece = min(left, WAIT_BOOKED_S)
        if not run.pause(piece):
            return False
        left -= piece
        if step.waits_for_usage:
            run.update_run(waited_seconds=run.store.read().run.waited_seconds + piece)
    return True


def _begin_turn(run: Run, turn: int) -> TurnRow:
    ledger = run.store.read()
    head = run.repo.head()
    state = remember_turn(run, turn)
    feedback = None
    items = 0
    if turn > 1:
        feedback, items = _render_feedback(run, ledger, turn)
    row = TurnRow(
        run_number=ledger.run_number,
        turn=turn,
        state="started",
        session_id=str(uuid.uuid4()),
        executor=ledger.run.options.executor,
        start_head=head.commit,
        start_tree=state.digest,
        feedback_file=feedback,
        feedback_items_given=items,
        feedback_finding_ids=[finding.id for finding in queries.blocking(ledger)] if feedback is not None else [],
        started_at=run.now(),
    )
    update = {"turns": [*ledger.turns, row], "run": ledger.run.model_copy(update={"reruns_this_turn": 0})}
    run.store.write(ledger.model_copy(update=update))
    return row


def _turn_again(run: Run, turn: int) -> TurnRow:
    row = queries.current_turn(run.store.read())
    if row is None or row.turn != turn:
        raise LedgerError(f"turn {turn} is not in the ledger {run.store.path}", fix="Start again.")
    return row


def _render_feedback(run: Run, ledger: Ledger, turn: int) -> tuple[str, int]:
    """Write the feedback file from the ledger and prove that it holds every blocking item (spec page 4)."""
    path = run.store.folder.feedback(ledger.run_number, turn)
    for _ in range(2):
        atomic_write(path, feedback_file.render(ledger, turn).encode("utf-8", "replace"))
        parsed = feedback_file.parse_back(path.read_text(encoding="utf-8"))
        wrong = feedback_file.mismatch(ledger, parsed)
        if not wrong:
            return str(path.relative_to(run.store.folder.path)), parsed.total
        ledger = run.store.read()
    raise LedgerError(
        f"the feedback file {path} does not hold what the ledger asks for: {wrong}",
        fix="This is a fault of touchline; the run was stopped before the player was called.",
    )


def _feedback_given(run: Run, ledger: Ledger, row: TurnRow) -> FeedbackGiven | None:
    if row.feedback_file is None:
        return None
    path = run.store.folder.path / row.feedback_file
    if not path.is_file():
        _render_feedback(run, ledger, row.turn)
    text = path.read_text(encoding="utf-8")
    parsed = feedback_file.parse_back(text)
    return FeedbackGiven(str(path), text, items=parsed.total, gates=len(parsed.gates))


def _keep(
    run: Run,
    row: TurnRow,
    given: FeedbackGiven | None,
    spoken: Spoken,
) -> None:
    """Write the turn as returned, or one more attempt at it."""
    settlement, executed = spoken.settlement, spoken.executed
    failure = settlement.failure
    ledger = run.store.read()
    now = queries.current_turn(ledger) or row
    kind = failure.kind.value if failure is not None else None
    counts = counts_as_turn(kind) or (kind in RETRIED and retries_spent(now.attempts))
    usage = total_usage(now.usage, spoken.usage)
    if failure is not None and not counts:
        attempt = Attempt(
            kind=failure.kind.value, at=run.now(), reason=tail(failure.reason, TAIL_KEPT), resets_at=failure.resets_at
        )
        run.update_turn(row.turn, attempts=[*now.attempts, attempt], usage=usage, session_id=executed.session_id)
        return
    report = player_report(settlement.report)
    receipts = feedback_file.receipts_from(settlement.report, given.text) if given is not None else []
    addressed = sum(receipt.status == "addressed" for receipt in receipts)
    run.update_turn(
        row.turn,
        state="returned",
        session_id=executed.session_id,
        declared=settlement.ok,
        settlement=Settlement(
            kind=settlement.kind,
            failure=kind,
            reason=tail(settlement.fail_reason, TAIL_KEPT),
            question=settlement.question or None,
            summary=settlement.summary or None,
            text_tail=tail(executed.text, TAIL_KEPT),
        ),
        build=report.build,
        tests=report.tests,
        app=report.app,
        claimed_paths=list(report.changed),
        concerns=[*report.concerns, *(f"denied by the permission policy: {asked.text}" for asked in executed.denials)],
        receipts=receipts,
        feedback_items_addressed=addressed,
        usage=usage,
        ended_at=run.now(),
    )
    _tell(run, settlement, report, given, receipts)


def _tell(
    run: Run,
    settlement: TurnSettlement,
    report: PlayerReport,
    given: FeedbackGiven | None,
    receipts: Sequence[Receipt],
) -> None:
    """Show the player's report at once; fewer receipts than items is the first sign of a turn that loses track."""
    say = run.progress.say
    how = settlement.kind if settlement.ok else f"{settlement.kind}: {settlement.fail_reason or settlement.question}"
    say(f"player: {how}" + (f" - {settlement.summary}" if settlement.summary else ""))
    claims = {"build": report.build, "tests": report.tests, "app": report.app}
    if told := ", ".join(f"{what}: {claim}" for what, claim in claims.items() if claim):
        say(f"player reports {told}")
    for concern in report.concerns:
        say(f"player's concern: {concern}")
    if given is None:
        return
    addressed = sum(receipt.status == "addressed" for receipt in receipts)
    say(f"receipts: {len(receipts)} of {given.items + given.gates}, {addressed} addressed")
    if missing := feedback_file.unanswered(given.text, receipts):
        say(f"without a receipt: {', '.join(missing)}")
