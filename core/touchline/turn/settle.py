"""The shared verdict on how a turn ended (spec page 1, "The shared settlement").

A turn that ended without a trailer is never declared done on the model's behalf: git facts decide, and the
answer is never "finished". Pure: it asks no git, writes no log; the caller logs the verdict with the task id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

from touchline.errors import GitQueryError
from touchline.texts import GUARD_OVERSTEPPED, NO_COMMIT_CLAIMED, NO_TEXT, NO_TRAILER, UNCHECKED_FINISH
from touchline.turn.protocol import Role as Role
from touchline.turn.protocol import Trailer, parse_trailer
from touchline.turn.text import clamp_question, tail, truncate_marked

if TYPE_CHECKING:
    from touchline.git.facts import GitTurnStatus

SettlementKind = Literal["finished", "asked", "undeclared", "silent", "failed", "interrupted"]

FAIL_REASON_TAIL = 200
"""Code points of the turn's text that a fail reason holds."""

SHORT_HASH = 12


class FailureKind(StrEnum):
    """Why a turn failed; the table of spec page 2 says which kinds count as a turn and what follows."""

    NOT_INSTALLED = "not-installed"
    NOT_AUTHENTICATED = "not-authenticated"
    PROTOCOL = "protocol"
    USAGE_LIMIT = "usage-limit"
    RATE_LIMIT = "rate-limit"
    MODEL_ERROR = "model-error"
    STALLED = "stalled"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    LOST_RESULT = "lost-result"
    LOST_RESUME = "lost-resume"
    REFUSED_PERMISSION = "refused-permission"
    CONTRADICTED = "contradicted"
    BUDGET = "budget"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Failure:
    """A typed failure of a turn. `resets_at` (ISO 8601 UTC) only for a usage limit whose reset is known."""

    kind: FailureKind
    reason: str
    resets_at: str | None = None


@dataclass(frozen=True, slots=True)
class TurnSettlement:
    """How one turn ended; exactly one for each turn, the same shape for every executor.

    `ok` is true for `finished` alone. `text` is the turn's own text (partial if it failed). `void_reason`
    tells a live executor that broke the discipline ("undeclared") from one that is gone ("executor-gone").
    """

    kind: SettlementKind
    ok: bool
    session_id: str
    text: str = ""
    branch: str = ""
    commit: str = ""
    summary: str = ""
    report: dict[str, object] | None = None
    question: str = ""
    fail_reason: str = ""
    void_reason: Literal["", "undeclared", "executor-gone"] = ""
    failure: Failure | None = None


Guard = Callable[[str, str], TurnSettlement]
"""An adapter's own verdict on `(session_id, text)` when there was no trailer and no new work."""


class NativeQuestion(Protocol):
    """A question that a CLI asked with its own tool (`executor.QuestionAsked`)."""

    @property
    def text(self) -> str:
        """The question."""
        ...


def no_trailer_settlement(session_id: str, branch: str, commit: str, text: str) -> TurnSettlement:
    """The settlement of a turn that left new work but no trailer: undeclared, never done.

    The reason holds the basis of the judgement, the git facts and the end of the text; branch and the full
    commit stay in fields of their own.
    """
    reason = f"{NO_TRAILER}; git: {_at(branch, commit)}; its text ends: {tail(text, FAIL_REASON_TAIL)}"
    return TurnSettlement(
        "undeclared",
        ok=False,
        session_id=session_id,
        text=text,
        branch=branch,
        commit=commit,
        fail_reason=reason,
        void_reason="undeclared",
    )


def question_or_silent(session_id: str, text: str, question: NativeQuestion | None = None) -> TurnSettlement:
    """The settlement of a turn without trailer and without new work: its question, or a failed silence.

    The default of every adapter. A question of the CLI's own (if any) goes before the turn's text.
    """
    asked = question.text if question is not None and question.text.strip() else text
    if not asked.strip():
        return TurnSettlement("silent", ok=False, session_id=session_id, text=text, fail_reason=NO_TEXT)
    return TurnSettlement("asked", ok=False, session_id=session_id, text=text, question=clamp_question(asked))


def check_finish(trailer: Trailer, status: GitTurnStatus, *, role: Role = "executor") -> str:
    """Which git fact contradicts a finish; "" if none does.

    Role executor: the claimed commit must name the present head (whole, or at least 7 digits of it) and be
    new. Other roles need no commit; what they name is checked all the same.
    """
    branch = trailer.branch.strip().removeprefix("refs/heads/")
    if branch and branch != status.branch:
        named = truncate_marked(branch, 80)
        return f"the trailer names the branch {named!r}, git is on {status.branch!r}"
    claimed = trailer.commit.strip().lower()
    if not claimed:
        return NO_COMMIT_CLAIMED if role == "executor" else ""
    if not re.fullmatch("[0-9a-f]{7,64}", claimed):
        return f"the trailer's commit {truncate_marked(claimed, 80)!r} is no commit hash"
    if not status.commit or not status.commit.lower().startswith(claimed):
        return f"the trailer names the commit {claimed[:SHORT_HASH]}, the head is {_short(status.commit)}"
    if role == "executor" and not status.has_new:
        return f"the trailer's commit {claimed[:SHORT_HASH]} is not new: the head did not move in this turn"
    return ""


def settle(
    *,
    role: Role,
    session_id: str,
    text: str,
    failure: Failure | None,
    git: GitTurnStatus | GitQueryError,
    tree_changed: bool | None,
    guard: Guard,
) -> TurnSettlement:
    """The verdict on one ended turn, the same for all executors.

    `git` is the turn's git fact or the error of its query; `tree_changed` (role player) is whether the work
    tree differs from the turn's start, None if that is not known. Unknown is never new work.
    """
    branch, commit = ("", "") if isinstance(git, GitQueryError) else (git.branch, git.commit)
    if failure is not None:
        return _failed(failure, session_id, text, branch, commit)
    trailer = parse_trailer(text)
    if trailer.kind == "ask":
        question = clamp_question(trailer.question)
        return TurnSettlement("asked", False, session_id, text, branch, commit, question=question)
    if role == "verifier":
        if not text.strip():
            return TurnSettlement("silent", False, session_id, text, branch, commit, fail_reason=NO_TEXT)
        return TurnSettlement("finished", True, session_id, text, branch, commit, trailer.summary)
    if trailer.kind == "finish":
        return _declared(role, trailer, git, session_id, text)
    worked = tree_changed is True if role == "player" else not isinstance(git, GitQueryError) and git.has_new
    if worked:
        return no_trailer_settlement(session_id, branch, commit, text)
    return _guarded(guard, session_id, text, branch, commit)


def _declared(
    role: Role, trailer: Trailer, git: GitTurnStatus | GitQueryError, session_id: str, text: str
) -> TurnSettlement:
    if isinstance(git, GitQueryError):
        names_git = role == "executor" or trailer.branch or trailer.commit
        contradiction = UNCHECKED_FINISH.format(error=git.what) if names_git else ""
        branch = commit = ""
    else:
        contradiction = check_finish(trailer, git, role=role)
        branch, commit = git.branch, git.commit
    settlement = TurnSettlement("finished", True, session_id, text, branch, commit, trailer.summary, trailer.report)
    if not contradiction:
        return settlement
    if role == "executor":
        failure = Failure(FailureKind.CONTRADICTED, contradiction)
        return replace(settlement, kind="failed", ok=False, fail_reason=contradiction, failure=failure)
    return replace(settlement, kind="undeclared", ok=False, fail_reason=contradiction, void_reason="undeclared")


_GONE = frozenset(
    {
        FailureKind.NOT_INSTALLED,
        FailureKind.STALLED,
        FailureKind.TIMEOUT,
        FailureKind.CRASHED,
        FailureKind.LOST_RESULT,
        FailureKind.LOST_RESUME,
    }
)


def _failed(failure: Failure, session_id: str, text: str, branch: str, commit: str) -> TurnSettlement:
    return TurnSettlement(
        "interrupted" if failure.kind is FailureKind.CANCELLED else "failed",
        ok=False,
        session_id=session_id,
        text=text,
        branch=branch,
        commit=commit,
        fail_reason=failure.reason,
        void_reason="executor-gone" if failure.kind in _GONE else "",
        failure=failure,
    )


def _guarded(guard: Guard, session_id: str, text: str, branch: str, commit: str) -> TurnSettlement:
    """The adapter's verdict, held to what an adapter may decide: a question, a silence or a failure."""
    verdict = guard(session_id, text)
    if verdict.ok or verdict.kind not in ("asked", "silent", "failed"):
        reason = GUARD_OVERSTEPPED.format(kind=verdict.kind)
        return _failed(Failure(FailureKind.PROTOCOL, reason), session_id, text, branch, commit)
    return replace(verdict, session_id=session_id, text=text, branch=branch, commit=commit)


def _short(commit: str) -> str:
    return commit[:SHORT_HASH] or "unknown"


def _at(branch: str, commit: str) -> str:
    return f"{branch or 'unknown'}@{_short(commit)}"
