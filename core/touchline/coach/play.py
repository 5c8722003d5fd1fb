"""One player turn: begun in the ledger, run, settled, and kept as `returned` (spec pages 2, 3 and 5).

The order of writes is the promise: `started` before the player is spawned, `returned` when it is back. A turn that
does not count leaves an attempt and stays `started`, so that the planner says what follows.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from touchline import texts
from touchline.coach import feedback as feedback_file
from touchline.coach.local import present_tree, remember_turn
from touchline.coach.memory import load_tree
from touchline.coach.player import FeedbackGiven, player_prompt, player_report
from touchline.coach.run import Run
from touchline.coach.steps import RETRIED, PlayTurn, counts_as_turn, retries_spent
from touchline.documents.base import Usage
from touchline.documents.ledger import Attempt, Ledger, Settlement, TurnRow
from touchline.errors import LedgerError
from touchline.execution import Budget, ExecutedTurn, execute_turn, settle_turn
from touchline.executor import (
    Capability,
    Event,
    Executor,
    PermissionAnswer,
    PermissionAsked,
    SessionStarted,
    TurnRequest,
)
from touchline.git.quoting import quote_path
from touchline.git.trees import TreeState, changed_paths
from touchline.ledger import queries
from touchline.ledger.store import atomic_write
from touchline.state import make_private_folder
from touchline.turn.settle import TurnSettlement
from touchline.turn.text import tail

TAIL_KEPT = 2000
FRESH_SESSIONS = 2
WAIT_BOOKED_S = 60


@dataclass(slots=True)
class _Talk:
    """What changes while one turn goes back and forth: the session, what is said next, what was spent."""

    session_id: str
    resume: bool
    prompt: str
    usage: Usage | None = None
    answers: int = 0
    fresh_sessions: int = 0


def play_turn(run: Run, step: PlayTurn) -> None:
    """Run the turn of `step` and write what became of it."""
    if step.wait_s and not _wait(run, step):
        return
    row = _turn_again(run, step.turn) if step.again else _begin_turn(run, step.turn)
    ledger = run.store.read()
    executor = run.player(ledger)
    given = _feedback_given(run, ledger, row)
    run.progress.phase("player", turn=row.turn, max_turns=ledger.max_turns)
    settlement, executed, talk = _converse(run, ledger, executor, row, given, again=step.again)
    _keep(run, row, given, settlement, executed, talk)


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


def _converse(
    run: Run, ledger: Ledger, executor: Executor, row: TurnRow, given: FeedbackGiven | None, *, again: bool
) -> tuple[TurnSettlement, ExecutedTurn, _Talk]:
    """Run the session until it ends with anything but a question that can still be answered."""
    start_tree = load_tree(run.memory.turn_tree(row.turn))
    resumable = Capability.RESUME in executor.capabilities
    talk = _Talk(
        session_id=row.session_id or str(uuid.uuid4()),
        resume=again and resumable,
        prompt=_prompt(run, ledger, row, given, continues=_continues(run, ledger, row, start_tree) if again else ""),
    )
    if again and not resumable:
        _fresh_session(run, row, talk)
    while True:
        executed = _execute(run, ledger, executor, row, talk)
        talk.usage = _sum(talk.usage, executed.usage)
        if executed.lost_resume and talk.fresh_sessions < FRESH_SESSIONS:
            run.progress.say(f"the session of turn {row.turn} is gone; a fresh one goes on with it")
            _fresh_session(run, row, talk)
            talk.prompt = _prompt(run, ledger, row, given, continues=_continues(run, ledger, row, start_tree))
            continue
        now = present_tree(run, ledger, row.turn, previous=start_tree)
        settlement = settle_turn(
            executor,
            executed,
            role="player",
            repo=run.repo,
            start_commit=row.start_head,
            tree_changed=bool(changed_paths(start_tree, now)),
        )
        if settlement.kind != "asked" or talk.answers >= texts.MAX_ANSWERS or run.cancel.is_set():
            return settlement, executed, talk
        _answer(run, ledger, row, given, talk, settlement.question, resumable=resumable)


def _execute(run: Run, ledger: Ledger, executor: Executor, row: TurnRow, talk: _Talk) -> ExecutedTurn:
    options = ledger.run.options
    scratch = run.store.folder.private / "executor"
    make_private_folder(scratch)
    feedback = run.store.folder.path / row.feedback_file if row.feedback_file else None
    request = TurnRequest(
        task_id=_task_id(ledger, row.turn),
        role="player",
        prompt=talk.prompt,
        cwd=run.repo.work_tree,
        session_id=talk.session_id,
        scratch=scratch,
        resume=talk.resume,
        readable=tuple(path for path in (run.store.folder.plan, feedback) if path is not None),
        limits=run.limits(options.executor),
        model=options.model,
        turn=row.turn,
    )

    def observe(event: Event) -> None:
        if isinstance(event, SessionStarted) and event.session_id and event.session_id != talk.session_id:
            talk.session_id = event.session_id
            run.update_turn(row.turn, session_id=event.session_id)
        run.progress.event(event)
        run.hooks.event(row.turn, event)

    def permit(asked: PermissionAsked) -> PermissionAnswer:
        run.hooks.permission_asked(row.turn, asked)
        return run.gates.player.permit(asked)

    run.gates.player.new_turn()
    return execute_turn(
        executor,
        request,
        record=run.record,
        permit=permit,
        observe=observe,
        cancel=run.cancel,
        run_id=ledger.run_number,
        budget=_budget(ledger),
        secrets=run.secrets,
    )


def _answer(
    run: Run,
    ledger: Ledger,
    row: TurnRow,
    given: FeedbackGiven | None,
    talk: _Talk,
    question: str,
    *,
    resumable: bool,
) -> None:
    """Make the talk go on with an answer: a person's, or that nobody can answer."""
    talk.answers += 1
    answer = run.gates.ask_person(question)
    if answer is None:
        text = texts.HEADLESS_ANSWER.format(question=question)
        noted = run.store.read().run.assumptions
        run.update_run(assumptions=[*noted, f"turn {row.turn}: nobody could answer: {tail(question, 500)}"])
    else:
        text = texts.PERSON_ANSWER.format(answer=answer)
    if resumable:
        talk.resume, talk.prompt = True, text
    else:
        _fresh_session(run, row, talk)
        talk.prompt = _prompt(run, ledger, row, given, continues=f"You asked: {question}\n\n{text}")


def _fresh_session(run: Run, row: TurnRow, talk: _Talk) -> None:
    talk.fresh_sessions += 1
    talk.resume = False
    talk.session_id = str(uuid.uuid4())
    run.update_turn(row.turn, session_id=talk.session_id)


def _prompt(run: Run, ledger: Ledger, row: TurnRow, given: FeedbackGiven | None, *, continues: str) -> str:
    plan = run.store.folder.plan
    return player_prompt(
        task_id=_task_id(ledger, row.turn),
        turn=row.turn,
        max_turns=ledger.max_turns,
        severity=ledger.severity_threshold,
        plan_path=str(plan),
        plan=plan.read_text(encoding="utf-8", errors="replace"),
        feedback=given,
        discipline="\n\n".join(run.hooks.prompt_discipline("player")),
        continues=continues,
    )


def _continues(run: Run, ledger: Ledger, row: TurnRow, start_tree: TreeState) -> str:
    changed = changed_paths(start_tree, present_tree(run, ledger, row.turn, previous=start_tree))
    shown = ", ".join(quote_path(path) for path in changed[:50])
    more = f" and {len(changed) - 50} more" if len(changed) > 50 else ""
    told = f" (changed so far: {shown}{more})" if changed else " (nothing is changed so far)"
    reason = texts.PLAYER_RETRY.format(reason=row.attempts[-1].kind) + "\n" if row.attempts else ""
    return reason + texts.PLAYER_CONTINUES.format(changed=told)


def _keep(
    run: Run,
    row: TurnRow,
    given: FeedbackGiven | None,
    settlement: TurnSettlement,
    executed: ExecutedTurn,
    talk: _Talk,
) -> None:
    """Write the turn as returned, or one more attempt at it."""
    failure = settlement.failure
    ledger = run.store.read()
    now = queries.current_turn(ledger) or row
    kind = failure.kind.value if failure is not None else None
    counts = counts_as_turn(kind) or (kind in RETRIED and retries_spent(now.attempts))
    usage = _sum(now.usage, talk.usage)
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
    _tell(run, settlement, given, addressed, len(receipts))


def _tell(run: Run, settlement: TurnSettlement, given: FeedbackGiven | None, addressed: int, receipts: int) -> None:
    how = settlement.kind if settlement.ok else f"{settlement.kind}: {settlement.fail_reason or settlement.question}"
    run.progress.say(f"player: {how}" + (f" - {settlement.summary}" if settlement.summary else ""))
    if given is None:
        return
    wanted = given.items + given.gates
    run.progress.say(f"receipts: {receipts} of {wanted}, {addressed} addressed")
    if receipts < wanted:
        run.progress.say(f"{wanted - receipts} items of the feedback were not answered")


def _budget(ledger: Ledger) -> Budget | None:
    options = ledger.run.options
    used = [row.usage for row in queries.turns_of_run(ledger) if row.usage is not None]
    tokens = options.run_max_tokens and max(1, options.run_max_tokens - sum(u.input + u.output for u in used))
    cost = options.run_max_cost and max(0.0, options.run_max_cost - sum(u.cost or 0.0 for u in used))
    token_bounds = [bound for bound in (options.turn_max_tokens, tokens) if bound is not None]
    cost_bounds = [bound for bound in (options.turn_max_cost, cost) if bound is not None]
    if not token_bounds and not cost_bounds:
        return None
    return Budget(min(token_bounds, default=None), min(cost_bounds, default=None))


def _sum(first: Usage | None, second: Usage | None) -> Usage | None:
    if first is None or second is None:
        return first or second
    costs = [usage.cost for usage in (first, second) if usage.cost is not None]
    return Usage(
        input=first.input + second.input,
        output=first.output + second.output,
        cached=first.cached + second.cached,
        cost=sum(costs) if costs else None,
    )


def _task_id(ledger: Ledger, turn: int) -> str:
    return f"{ledger.change_key}/{ledger.run_number}/turn-{turn}"
