"""From an executed turn to its one settlement (spec page 1, "The shared settlement"): the same path for all.

Asks git for the facts and hands everything to `touchline.turn.settle`; an executor contributes only its guard for
a turn without trailer and without new work.
"""

from __future__ import annotations

from touchline.errors import GitQueryError
from touchline.execution.drive import ExecutedTurn
from touchline.executor import Executor
from touchline.git.facts import GitTurnStatus, git_turn_status
from touchline.git.repository import Repository
from touchline.turn.settle import Failure, FailureKind, Role, TurnSettlement, settle


def settle_turn(
    executor: Executor,
    executed: ExecutedTurn,
    *,
    role: Role,
    repo: Repository,
    start_commit: str,
    tree_changed: bool | None = None,
) -> TurnSettlement:
    """The verdict on `executed`. `start_commit` is the head at the turn's start ("" if unknown).

    `tree_changed` (role player) is whether the work tree differs from the turn's start; None: not known.
    """
    git: GitTurnStatus | GitQueryError
    try:
        git = git_turn_status(repo, start_commit)
    except GitQueryError as error:
        git = error

    def guard(session_id: str, text: str) -> TurnSettlement:
        try:
            return executor.settle_without_work(session_id, text, executed.question)
        except Exception as error:  # noqa: BLE001 - plugin isolation: a driver's defect is a failed turn
            reason = f"the driver {executor.name} could not settle the turn: {type(error).__name__}: {error}"
            failure = Failure(FailureKind.PROTOCOL, reason)
            return TurnSettlement("failed", False, session_id, text, fail_reason=reason, failure=failure)

    return settle(
        role=role,
        session_id=executed.session_id,
        text=executed.text,
        failure=executed.failure,
        git=git,
        tree_changed=tree_changed,
        guard=guard,
    )
