"""One driver on one repository: what the contract kit runs its scenarios on (spec page 2)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from touchline.execution import Budget, ExecutedTurn, execute_turn, settle_turn
from touchline.executor import Event, Executor, Limits, PermissionAnswer, PermissionAsked, TurnRequest
from touchline.git.repository import Repository
from touchline.process.cancel import Cancellation
from touchline.testing.double import ModelDouble
from touchline.testing.repositories import git
from touchline.testing.steps import Step
from touchline.turn.record import TurnRecord
from touchline.turn.settle import Role, TurnSettlement

LIMITS = Limits(wall_s=60.0, idle_s=30.0, grace_s=5.0)


def allow(asked: PermissionAsked) -> PermissionAnswer:
    """Allow everything."""
    return PermissionAnswer(True)


@dataclass(frozen=True, slots=True)
class Ran:
    """One turn as it was executed, settled and observed."""

    executed: ExecutedTurn
    settlement: TurnSettlement
    events: tuple[Event, ...]
    took_s: float


@dataclass(slots=True)
class Bench:
    """Runs turns; a kit fixture."""

    executor: Executor
    model: ModelDouble
    repo: Path
    scratch: Path
    run_id: str = field(default_factory=lambda: f"contract-{uuid.uuid4().hex}")

    def turn(
        self,
        *steps: Step,
        prompt: str = "Do what the plan says.",
        session_id: str | None = None,
        resume: bool = False,
        role: Role = "executor",
        limits: Limits = LIMITS,
        permit: Callable[[PermissionAsked], PermissionAnswer] = allow,
        cancel: Cancellation | None = None,
        budget: Budget | None = None,
        readable: tuple[Path, ...] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> Ran:
        """Play `steps` to one turn (none: the script stays as it is) and settle it by the shared rules."""
        if steps:
            self.model.play(*steps)
        events: list[Event] = []

        def observe(event: Event) -> None:
            events.append(event)
            if on_event is not None:
                on_event(event)

        request = TurnRequest(
            task_id="task-1",
            role=role,
            prompt=prompt,
            cwd=self.repo,
            session_id=session_id or str(uuid.uuid4()),
            scratch=self.scratch,
            resume=resume,
            readable=readable,
            limits=limits,
        )
        start = git(self.repo, "rev-parse", "HEAD")
        began = time.monotonic()
        with TurnRecord(self.scratch / "record" / uuid.uuid4().hex) as record:
            executed = execute_turn(
                self.executor,
                request,
                record=record,
                permit=permit,
                observe=observe,
                cancel=cancel,
                run_id=self.run_id,
                budget=budget,
            )
        took_s = time.monotonic() - began
        settlement = settle_turn(
            self.executor, executed, role=role, repo=Repository.open(self.repo), start_commit=start
        )
        return Ran(executed, settlement, tuple(events), took_s)
