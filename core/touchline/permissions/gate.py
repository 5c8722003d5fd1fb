"""The permission gate of a run: rules first, then a person, and no for everything else (spec page 8).

Thin I/O around `policy.decide`: real paths, tickets, the wait. Every decision is handed to `decided`, so the
record tells what was allowed by a rule, by a person, or by an earlier approval of the byte-identical request.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from touchline.executor import PermissionAnswer, PermissionAsked
from touchline.permissions.person import Waiting, wait_for_answer
from touchline.permissions.policy import Policy, Verdict, decide
from touchline.permissions.tickets import Answer, Outcome, Ticket, TicketError, TicketFolder
from touchline.turn.text import is_truncated

How = Literal["rule", "person", "reused", "nobody", "expired", "cancelled", "failed"]

_DO_NOT_RETRY = "Do not try the same in another form; take another way or say in your report what is left open."


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision for the record: what was asked, what was answered, and how that came about."""

    asked: PermissionAsked
    answer: PermissionAnswer
    verdict: Verdict
    how: How
    ticket: str = ""


class PermissionGate:
    """Decides the permission requests of one run and profile.

    `waiting` None means headless: what the rules do not settle is denied with the reason. `run` names the run,
    so that approvals are never taken over from another one.
    """

    def __init__(
        self,
        policy: Policy,
        run_folder: Path,
        *,
        run: str,
        waiting: Waiting | None = None,
        decided: Callable[[Decided], None] = lambda _decision: None,
    ) -> None:
        self._policy = policy
        self._tickets = TicketFolder(run_folder)
        self._run = run
        self._waiting = waiting
        self._decided = decided
        self._start = os.path.realpath(policy.work_tree)
        self._folders: tuple[str, ...] = (self._start,)
        self._approved: dict[str, str] = {}
        for ticket in self._tickets.all():
            if ticket.run != run:
                continue
            if ticket.outcome == "approved" and ticket.reusable:
                self._approved[ticket.digest] = ticket.id
            elif ticket.outcome == "waiting" and waiting is not None:
                self._tickets.close(ticket, "abandoned")  # its process is gone, nobody reads an answer

    def new_turn(self) -> None:
        """Forget which folders the shell of the last turn may stand in."""
        self._folders = (self._start,)

    def permit(self, asked: PermissionAsked) -> PermissionAnswer:
        """The answer to one request; bounded in time, fails closed."""
        verdict = decide(self._policy, asked, cwd=self._folders, resolve=real_path)
        try:
            decision = self._settle(asked, verdict)
        except TicketError as error:
            decision = self._denied(asked, verdict, "failed", f"{verdict.reason}; {error.what}")
        if decision.answer.allowed and asked.tool == "bash":
            self._folders = verdict.folders  # those before the line are among them; none: nobody knows
        self._decided(decision)
        return decision.answer

    def _settle(self, asked: PermissionAsked, verdict: Verdict) -> Decided:
        if verdict.kind == "allow":
            return Decided(asked, PermissionAnswer(True), verdict, "rule")
        if verdict.kind == "deny":
            return self._denied(asked, verdict, "rule", verdict.reason)
        earlier = self._approved.get(self._digest(asked))
        if earlier is not None:
            reason = f"the same request was approved by a person in ticket {earlier}"
            return Decided(asked, PermissionAnswer(True, reason), verdict, "reused", earlier)
        if self._waiting is None:
            return self._denied(asked, verdict, "nobody", f"{verdict.reason}, and nobody can be asked in this run")
        return self._ask(asked, verdict, self._waiting)

    def _ask(self, asked: PermissionAsked, verdict: Verdict, waiting: Waiting) -> Decided:
        now = waiting.now()
        ticket = self._tickets.open(
            Ticket(
                id="0",
                run=self._run,
                kind="permission",
                tool=asked.tool,
                raw_tool=_clean(asked.raw_tool),
                command=_clean(asked.command),
                paths=tuple(_clean(path) for path in asked.paths),
                text=_clean(asked.text),
                folders=self._folders,
                why=_clean(verdict.reason),
                digest=self._digest(asked),
                reusable=not any(is_truncated(text) for text in (asked.command, asked.text, *asked.paths)),
                asked_at=now,
                deadline=_later(now, waiting.wait_s),
            )
        )
        waiting.say(f"permission is asked: ticket {ticket.id} ({verdict.reason})")
        answer = wait_for_answer(self._tickets, ticket, waiting)
        if answer is None:
            cancelled = waiting.cancel is not None and waiting.cancel.is_set()
            how: Literal["cancelled", "expired"] = "cancelled" if cancelled else "expired"
            self._tickets.close(ticket, how)
            return self._denied(asked, verdict, how, f"{verdict.reason}, and nobody answered", ticket.id)
        approved = answer.decision == "approve"
        outcome: Outcome = "approved" if approved else "denied"
        self._tickets.close(ticket, outcome, answer)
        if approved:
            if ticket.reusable:
                self._approved[ticket.digest] = ticket.id
            return Decided(asked, PermissionAnswer(True), verdict, "person", ticket.id)
        said = answer.text or "a person refused it"
        return self._denied(asked, verdict, "person", said, ticket.id)

    def ask_person(self, question: str) -> Answer | None:
        """A person's answer to a question of the player; None when nobody can be asked or nobody answered.

        Raises TicketError when the ticket cannot be kept.
        """
        waiting = self._waiting
        if waiting is None:
            return None
        now = waiting.now()
        ticket = self._tickets.open(
            Ticket(
                id="0",
                run=self._run,
                kind="question",
                text=_clean(question),
                asked_at=now,
                deadline=_later(now, waiting.wait_s),
            )
        )
        waiting.say(f"the player asks: ticket {ticket.id}")
        answer = wait_for_answer(self._tickets, ticket, waiting)
        if answer is None:
            cancelled = waiting.cancel is not None and waiting.cancel.is_set()
            self._tickets.close(ticket, "cancelled" if cancelled else "expired")
            return None
        self._tickets.close(ticket, "answered", answer)
        return answer

    def _denied(self, asked: PermissionAsked, verdict: Verdict, how: How, reason: str, ticket: str = "") -> Decided:
        text = f"Denied by the permission policy ({self._policy.profile.name}): {reason}. {_DO_NOT_RETRY}"
        return Decided(asked, PermissionAnswer(False, _clean(text)), verdict, how, ticket)

    def _digest(self, asked: PermissionAsked) -> str:
        parts = [
            self._policy.profile.name,
            asked.tool,
            asked.raw_tool,
            asked.command,
            list(asked.paths),
            asked.text,
            list(self._folders),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def real_path(path: str) -> str:
    """The real path of an absolute one; "/", which no profile may write, for text that can be no path."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return "/"


def _clean(text: str) -> str:
    """`text` without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _later(now: str, seconds: float) -> str:
    return (datetime.fromisoformat(now) + timedelta(seconds=seconds)).astimezone(UTC).isoformat()
