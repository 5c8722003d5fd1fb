"""One turn with `codex app-server`: what we send, what we answer, what came of it (spec page 2, "codex"). Pure.

JSON-RPC, one message a line, without the member "jsonrpc": initialize, log in where a key is given, open or resume the
thread, start the turn. A request of the server that is not an approval is refused, so that it fails closed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from touchline.agent_cli.fields import encodable, mapping, text
from touchline.api import Event, Failure, FailureKind, Notice, PermissionAnswer, SessionStarted, TurnEnded
from touchline_codex.approvals import (
    COMMAND,
    PATCH,
    PermissionRequest,
    decision,
    permission_request,
    reason_as_input,
    refusal,
)
from touchline_codex.notifications import NOTICE_TEXT, TurnEvents
from touchline_codex.outcome import refused_call

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Send:
    """A message for the server."""

    message: Message


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """What one turn needs: `thread` are the parameters that open or resume the thread."""

    prompt: str
    cwd: Path
    thread: Mapping[str, Any]
    resume_id: str = ""
    api_key: str = field(default="", repr=False)
    may_leave_sandbox: bool = False


Item = Event | PermissionRequest | Send


class Conversation:
    """The state of one turn; send `opening`, then `feed` each line until `result` is there."""

    def __init__(self, plan: TurnPlan, *, version: str = "0") -> None:
        self._plan = plan
        self._version = version
        self._calls: dict[int, str] = {}
        self._last_call = 0
        self._turn = TurnEvents()
        self._failure: Failure | None = None

    @property
    def result(self) -> TurnEnded | None:
        """How the turn ended, as soon as that is known."""
        return TurnEnded("", self._failure) if self._failure is not None else self._turn.result

    def opening(self) -> Message:
        """The first message."""
        info = {"name": "touchline", "title": "touchline", "version": self._version}
        return self._call("initialize", {"clientInfo": info})

    def feed(self, line: str) -> Iterator[Item]:
        """The items of one line."""
        if not line.strip():
            return
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield Notice(f"not JSON: {line[:NOTICE_TEXT]}")
            return
        message = mapping(value)
        method = text(message, "method")
        if method and "id" in message:
            yield from self._asked(message["id"], method, mapping(message.get("params")))
        elif method:
            yield from self._turn.feed(method, mapping(message.get("params")))
        elif "id" in message:
            yield from self._answered(message["id"], message)
        else:
            yield Notice(f"no JSON-RPC message: {line[:NOTICE_TEXT]}")

    def answer(self, request: PermissionRequest, answer: PermissionAnswer) -> list[Message]:
        """The messages that answer a permission request; a denial's reason goes first, so that it is read in time."""
        if answer.allowed:
            return [decision(request, answer)]
        self._turn.denied = True
        if not request.thread_id or not request.turn_id:
            return [decision(request, answer)]
        return [self._call("turn/steer", reason_as_input(request, answer)), decision(request, answer)]

    def _call(self, method: str, params: Mapping[str, Any]) -> Message:
        self._last_call += 1
        self._calls[self._last_call] = method
        return {"id": self._last_call, "method": method, "params": dict(params)}

    def _asked(self, request_id: object, method: str, params: Mapping[str, Any]) -> Iterator[Item]:
        if isinstance(request_id, bool) or not isinstance(request_id, int | str):
            yield Notice(f"a request without a usable id was ignored: {method[:80]}")
        elif method in (COMMAND, PATCH):
            yield permission_request(
                request_id,
                method,
                params,
                cwd=self._plan.cwd,
                changes=self._turn.changes,
                may_leave_sandbox=self._plan.may_leave_sandbox,
            )
        else:
            yield Send(refusal(request_id))
            yield Notice(f"the CLI asked for {method[:80]}, which is not offered")

    def _answered(self, call: object, message: Mapping[str, Any]) -> Iterator[Item]:
        method = self._calls.pop(call, "") if isinstance(call, int) and not isinstance(call, bool) else ""
        if not method:
            yield Notice("an answer to no call of ours was ignored")
        elif "error" in message:
            error = mapping(message["error"])
            if method == "turn/steer":
                yield Notice(f"the reason of a denial could not be given to the model: {text(error, 'message')[:200]}")
            else:
                self._failure = self._failure or refused_call(method, error, self._plan.resume_id)
        else:
            yield from self._went_well(method, mapping(message.get("result")))

    def _went_well(self, method: str, result: Mapping[str, Any]) -> Iterator[Item]:
        if method == "initialize":
            yield Send({"method": "initialized"})
            if self._plan.api_key:
                yield Send(self._call("account/login/start", {"type": "apiKey", "apiKey": self._plan.api_key}))
            else:
                yield Send(self._open())
        elif method == "account/login/start":
            yield Send(self._open())
        elif method in ("thread/start", "thread/resume"):
            thread = text(mapping(result.get("thread")), "id")
            if not thread:
                self._failure = Failure(FailureKind.PROTOCOL, "the CLI opened a thread without an id; update touchline")
                return
            self._turn.thread_id = thread
            yield SessionStarted(thread, text(result, "model"))
            prompt = {"type": "text", "text": encodable(self._plan.prompt)}
            yield Send(self._call("turn/start", {"threadId": thread, "input": [prompt]}))
        elif method == "turn/start":
            self._turn.turn_id = text(mapping(result.get("turn")), "id") or self._turn.turn_id

    def _open(self) -> Message:
        if not self._plan.resume_id:
            return self._call("thread/start", self._plan.thread)
        return self._call(
            "thread/resume", {**self._plan.thread, "threadId": self._plan.resume_id, "excludeTurns": True}
        )
