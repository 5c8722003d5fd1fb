"""The talk of one player turn: prompts and answers until its session ends (spec page 2 and 5, "The player").

A question that nobody can answer is answered with that, at most three times. A session that is gone is replaced by a
fresh one that is told what the tree already holds.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from touchline import texts
from touchline.coach.local import present_tree
from touchline.coach.memory import load_tree
from touchline.coach.player import FeedbackGiven, player_prompt
from touchline.coach.run import Run
from touchline.documents.base import Usage
from touchline.documents.ledger import Ledger, TurnRow
from touchline.execution import Budget, ExecutedTurn, execute_turn, settle_turn
from touchline.execution.budget import total_usage
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
from touchline.state import make_private_folder
from touchline.turn.settle import TurnSettlement
from touchline.turn.text import tail

FRESH_SESSIONS = 2
"""Sessions that may be opened anew within one turn before a lost resume stands."""

SHOWN_PATHS = 50


@dataclass(frozen=True, slots=True)
class Spoken:
    """How a talk ended, what its last session left, and what all its sessions used."""

    settlement: TurnSettlement
    executed: ExecutedTurn
    usage: Usage | None


@dataclass(slots=True)
class Talk:
    """One turn's talk. The ledger is the one of its start: nothing of it changes while the player works."""

    run: Run
    ledger: Ledger
    row: TurnRow
    given: FeedbackGiven | None
    executor: Executor
    start_tree: TreeState
    session_id: str
    resume: bool = False
    prompt: str = ""
    usage: Usage | None = None
    answers: int = field(default=0)
    fresh_sessions: int = field(default=0)

    def converse(self, *, again: bool) -> Spoken:
        """Talk until the session ends with anything but a question that can still be answered."""
        if again and not self._resumable:
            self._fresh_session()
        self.resume = again and self._resumable
        self.prompt = self._whole_prompt(self._so_far() if again else "")
        while True:
            executed = self._execute()
            self.usage = total_usage(self.usage, executed.usage)
            if executed.lost_resume and self.fresh_sessions < FRESH_SESSIONS:
                self.run.progress.say(f"the session of turn {self.row.turn} is gone; a fresh one goes on with it")
                self._fresh_session()
                self.prompt = self._whole_prompt(self._so_far())
                continue
            settlement = settle_turn(
                self.executor,
                executed,
                role="player",
                repo=self.run.repo,
                start_commit=self.row.start_head,
                tree_changed=bool(self._changed()),
            )
            ended = settlement.kind != "asked" or self.answers >= texts.MAX_ANSWERS
            if ended or self.run.cancel.is_set():
                return Spoken(settlement, executed, self.usage)
            self._answer(settlement.question)

    @property
    def _resumable(self) -> bool:
        return Capability.RESUME in self.executor.capabilities

    def _execute(self) -> ExecutedTurn:
        run, options, row = self.run, self.ledger.run.options, self.row
        scratch = run.store.folder.private / "executor"
        make_private_folder(scratch)
        feedback = run.store.folder.path / row.feedback_file if row.feedback_file else None
        request = TurnRequest(
            task_id=self._task_id,
            role="player",
            prompt=self.prompt,
            cwd=run.repo.work_tree,
            session_id=self.session_id,
            scratch=scratch,
            resume=self.resume,
            readable=tuple(path for path in (run.store.folder.plan, feedback) if path is not None),
            limits=run.limits(options.executor),
            model=options.model,
            turn=row.turn,
        )
        run.gates.player.new_turn()
        return execute_turn(
            self.executor,
            request,
            record=run.record,
            permit=self._permit,
            observe=self._observe,
            cancel=run.cancel,
            run_id=run.store.folder.process_mark(self.ledger.run_number),
            budget=turn_budget(self.ledger),
            secrets=run.secrets,
        )

    def _observe(self, event: Event) -> None:
        if isinstance(event, SessionStarted) and event.session_id and event.session_id != self.session_id:
            # The CLI chose the id: it is kept before anything else can happen in the session.
            self.session_id = event.session_id
            self.run.update_turn(self.row.turn, session_id=event.session_id)
        self.run.progress.event(event)
        self.run.hooks.event(self.row.turn, event)

    def _permit(self, asked: PermissionAsked) -> PermissionAnswer:
        self.run.hooks.permission_asked(self.row.turn, asked)
        return self.run.gates.player.permit(asked)

    def _answer(self, question: str) -> None:
        """Make the talk go on with an answer: a person's, or that nobody can answer."""
        self.answers += 1
        answer = self.run.gates.ask_person(question)
        if answer is None:
            text = texts.HEADLESS_ANSWER.format(question=question)
            noted = self.run.store.read().run.assumptions
            told = f"turn {self.row.turn}: nobody could answer: {tail(question, 500)}"
            self.run.update_run(assumptions=[*noted, told])
        else:
            text = texts.PERSON_ANSWER.format(answer=answer)
        if self._resumable:
            self.resume, self.prompt = True, text
        else:
            self._fresh_session()
            self.prompt = self._whole_prompt(f"You asked: {question}\n\n{text}")

    def _fresh_session(self) -> None:
        self.fresh_sessions += 1
        self.resume = False
        self.session_id = str(uuid.uuid4())
        self.run.update_turn(self.row.turn, session_id=self.session_id)

    def _whole_prompt(self, continues: str) -> str:
        plan = self.run.store.folder.plan
        return player_prompt(
            task_id=self._task_id,
            turn=self.row.turn,
            max_turns=self.ledger.max_turns,
            severity=self.ledger.severity_threshold,
            plan_path=str(plan),
            plan=plan.read_text(encoding="utf-8", errors="replace"),
            feedback=self.given,
            discipline="\n\n".join(self.run.hooks.prompt_discipline("player")),
            continues=continues,
        )

    def _so_far(self) -> str:
        """What a turn that was begun before is told about it."""
        changed = [quote_path(path) for path in self._changed()]
        shown = ", ".join(changed[:SHOWN_PATHS])
        more = f" and {len(changed) - SHOWN_PATHS} more" if len(changed) > SHOWN_PATHS else ""
        told = f" (changed so far: {shown}{more})" if changed else " (nothing is changed so far)"
        attempts = self.row.attempts
        reason = texts.PLAYER_RETRY.format(reason=attempts[-1].kind) + "\n" if attempts else ""
        return reason + texts.PLAYER_CONTINUES.format(changed=told)

    def _changed(self) -> tuple[str, ...]:
        now = present_tree(self.run, self.ledger, self.row.turn, previous=self.start_tree)
        return changed_paths(self.start_tree, now)

    @property
    def _task_id(self) -> str:
        return f"{self.ledger.change_key}/{self.ledger.run_number}/turn-{self.row.turn}"


def begin_talk(run: Run, ledger: Ledger, row: TurnRow, given: FeedbackGiven | None) -> Talk:
    """The talk of the turn in `row`, in the session that the ledger names. Raises LedgerError."""
    return Talk(
        run,
        ledger,
        row,
        given,
        run.player(ledger),
        load_tree(run.memory.turn_tree(row.turn)),
        session_id=row.session_id or str(uuid.uuid4()),
    )


def turn_budget(ledger: Ledger) -> Budget | None:
    """What the next turn may spend: its own bound, or the rest of the run's if that is less; None: no bound. Pure."""
    options = ledger.run.options
    used = [row.usage for row in queries.turns_of_run(ledger) if row.usage is not None]
    tokens, cost = options.run_max_tokens, options.run_max_cost
    if tokens is not None:
        tokens = max(0, tokens - sum(usage.input + usage.output for usage in used))
    if cost is not None:
        cost = max(0.0, cost - sum(usage.cost or 0.0 for usage in used))
    token_bounds = [bound for bound in (options.turn_max_tokens, tokens) if bound is not None]
    cost_bounds = [bound for bound in (options.turn_max_cost, cost) if bound is not None]
    if not token_bounds and not cost_bounds:
        return None
    return Budget(min(token_bounds, default=None), min(cost_bounds, default=None))
