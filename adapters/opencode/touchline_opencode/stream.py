"""What the server of opencode tells about one session, as events (spec page 2, "opencode"). Pure: lines in, items out.

Never raises, whatever a line holds. Guards against the loops that the CLI does not end by itself: retries without
end, answers that break off and are asked for again for ever, and steps without measure. Then the turn is aborted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from touchline.agent_cli.fields import iso_utc, items, mapping, number, parsed, text, whole
from touchline.api import (
    Event,
    Failure,
    FailureKind,
    Notice,
    PermissionAsked,
    QuestionAsked,
    ReasoningDelta,
    Retrying,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from touchline_opencode.asked import Call, normalised, shown
from touchline_opencode.outcome import ended, of_bridge, of_words

RETRIES = 3
"""Announced retries of one model call; the CLI's own ladder of six takes more than a minute."""
LONGEST_WAIT_S = 300.0
"""A retry that is announced for later than this is a usage limit: the run waits for it, not the CLI."""
BROKEN_ANSWERS = 3
"""Answers in a row that broke off; the CLI asks again at once, for ever."""
STEPS = 1000
"""Model calls of one turn."""
NOTICE_TEXT = 300


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """The server waits for our answer about a tool call.

    `reading`: the tool only reads. `inside`: what it names lies where the turn may read. `repeats`: the server only
    points out that the same call is made again and again.
    """

    request_id: str
    asked: PermissionAsked
    reading: bool = False
    inside: bool = False
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class RulesWanted:
    """The server's agents are known, and the rules of the session are to be given."""

    agents: object
    default: object


@dataclass(frozen=True, slots=True)
class Abort:
    """The turn is to be aborted; `OpencodeStream.result` will say why."""

    reason: str


Item = Event | PermissionRequest | RulesWanted | Abort


class OpencodeStream:
    """The state of one turn's stream; `feed` each line, then read `result`."""

    def __init__(self, *, session_id: str = "", resumed: bool = False) -> None:
        self._session_id = session_id
        self._resumed = resumed
        self._model = ""
        self._answers: set[str] = set()
        self._parts: dict[str, str] = {}
        """Type of each text part, by id."""
        self._said: dict[str, int] = {}
        """Length of what was told of each text part, by id."""
        self._calls: dict[str, Call] = {}
        self._finished: set[str] = set()
        self._counted: set[str] = set()
        self._broken = 0
        self._asked: set[str] = set()
        self._denied: set[str] = set()
        self._replied: set[str] = set()
        self._error: Mapping[str, Any] = {}
        self._abort: Failure | None = None
        self.result: TurnEnded | None = None

    def replied(self, request: PermissionRequest, *, allowed: bool) -> None:
        """Note our own answer to a permission request."""
        self._replied.add(request.request_id)
        if not allowed:
            self._denied.add(request.asked.id)

    def feed(self, line: str) -> Iterator[Item]:
        """The items of one line."""
        if not line.strip() or self.result is not None:
            return
        event = parsed(line)
        if event is None:
            yield Notice(f"not a JSON object: {line[:NOTICE_TEXT]}")
            return
        kind, fields = text(event, "type"), mapping(event.get("properties"))
        if kind == "message.part.delta":
            yield from self._delta(fields)
        elif kind == "message.part.updated":
            yield from self._part(mapping(fields.get("part")))
        elif kind == "message.updated":
            yield from self._message(mapping(fields.get("info")))
        elif kind == "session.status":
            yield from self._status(mapping(fields.get("status")), number(event, "bridgeTime"))
        elif kind == "session.error":
            self._error = mapping(fields.get("error"))
        elif kind == "permission.asked":
            yield from self._permission(fields, inside=event.get("bridgeInside") is True)
        elif kind == "permission.replied":
            if text(fields, "requestID") not in self._replied:
                yield from self._stop(
                    FailureKind.REFUSED_PERMISSION, "a permission request was answered by somebody else"
                )
        elif kind == "question.asked":
            questions = [text(question, "question") for question in items(fields.get("questions"))]
            yield QuestionAsked(text(fields, "id"), "\n".join(filter(None, questions)))
            yield from self._stop(FailureKind.PROTOCOL, "the CLI asked with a tool that was refused to it")
        elif kind.startswith("bridge."):
            yield from self._bridge(kind, event)
        elif kind != "session.idle":
            yield Notice(f"unknown event {kind or 'without a type'}: {line[:NOTICE_TEXT]}")

    def _bridge(self, kind: str, event: Mapping[str, Any]) -> Iterator[Item]:
        if kind == "bridge.agents":
            yield RulesWanted(event.get("agents"), event.get("default"))
        elif kind == "bridge.session":
            self._session_id = text(event, "id")
            yield SessionStarted(self._session_id)
        elif kind == "bridge.messages" and isinstance(event.get("messages"), list):
            for message in items(event.get("messages")):
                for part in items(message.get("parts")):
                    yield from self._usage(part)
            denied = bool(self._denied)
            told = ended(event.get("messages"), session_error=self._error, denied=denied, session_id=self._session_id)
            self.result = TurnEnded("", self._abort) if self._abort else told
        elif kind == "bridge.failed":
            failure = of_bridge(event, resumed=self._resumed, session_id=self._session_id)
            self.result = TurnEnded("", self._abort or failure)
        else:
            yield Notice(f"unknown line of the bridge: {kind}")

    def _message(self, info: Mapping[str, Any]) -> Iterator[Item]:
        if text(info, "role") != "assistant":
            return
        message_id, model = text(info, "id"), text(info, "modelID")
        if model and model != self._model:
            self._model = model
            provider = text(info, "providerID")
            yield SessionStarted(self._session_id, f"{provider}/{model}" if provider else model)
        self._answers.add(message_id)

    def _delta(self, fields: Mapping[str, Any]) -> Iterator[Item]:
        part, delta = text(fields, "partID"), text(fields, "delta")
        if text(fields, "field") != "text" or text(fields, "messageID") not in self._answers or not delta:
            return
        self._said[part] = self._said.get(part, 0) + len(delta)
        yield ReasoningDelta(delta) if self._parts.get(part) == "reasoning" else TextDelta(delta)

    def _part(self, part: Mapping[str, Any]) -> Iterator[Item]:
        if text(part, "messageID") not in self._answers:
            return
        kind, part_id = text(part, "type"), text(part, "id")
        if kind in ("text", "reasoning"):
            self._parts[part_id] = kind
            rest = text(part, "text")[self._said.get(part_id, 0) :]
            if rest and not part.get("synthetic"):
                self._said[part_id] = self._said.get(part_id, 0) + len(rest)
                yield ReasoningDelta(rest) if kind == "reasoning" else TextDelta(rest)
        elif kind == "tool":
            yield from self._tool(part)
        elif kind == "step-finish":
            yield from self._step(part)

    def _tool(self, part: Mapping[str, Any]) -> Iterator[Item]:
        state, call_id = mapping(part.get("state")), text(part, "callID")
        status = text(state, "status")
        if not call_id or call_id in self._finished or status not in ("running", "completed", "error"):
            return
        if call_id not in self._calls:
            begun = Call(text(part, "tool"), mapping(state.get("input")))
            self._calls[call_id] = begun
            yield ToolStarted(begun.tool, shown(begun), call_id)
        if status == "running":
            return
        self._finished.add(call_id)
        call = self._calls[call_id]
        if call.tool == "bash" and call_id not in self._asked and status == "completed":
            yield Notice(f"a shell line without a command ran without a question: {shown(call)[:NOTICE_TEXT]}")
        took = mapping(state.get("time"))
        start, end = number(took, "start"), number(took, "end")
        how: Literal["ok", "error", "denied"] = "error" if status == "error" else "ok"
        if call_id in self._denied:
            how = "denied"
        elif whole(mapping(state.get("metadata")), "exit"):
            how = "error"
        output = text(state, "output") or text(state, "error")
        yield ToolFinished(how, output, (end - start) / 1000 if 0 < start <= end else None, call_id)

    def _step(self, part: Mapping[str, Any]) -> Iterator[Item]:
        if text(part, "id") in self._counted:
            return
        yield from self._usage(part)
        self._broken = 0 if text(part, "reason") in ("stop", "tool-calls", "length") else self._broken + 1
        if self._broken >= BROKEN_ANSWERS:
            yield from self._stop(FailureKind.MODEL_ERROR, f"{self._broken} answers in a row broke off")
        elif len(self._counted) >= STEPS:
            yield from self._stop(FailureKind.TIMEOUT, f"the turn took {STEPS} model calls")

    def _usage(self, part: Mapping[str, Any]) -> Iterator[Item]:
        part_id = text(part, "id")
        if text(part, "type") != "step-finish" or part_id in self._counted:
            return
        self._counted.add(part_id)
        tokens = mapping(part.get("tokens"))
        cache = mapping(tokens.get("cache"))
        read = whole(cache, "read")
        report = UsageReported(
            whole(tokens, "input") + read + whole(cache, "write"),
            whole(tokens, "output") + whole(tokens, "reasoning"),
            read,
            # A model without a price costs 0 too, so that 0 says nothing.
            number(part, "cost") or None,
        )
        if report.input or report.output:
            yield report

    def _status(self, status: Mapping[str, Any], now: float) -> Iterator[Item]:
        if text(status, "type") != "retry":
            return
        at, attempt, words = number(status, "next") / 1000, whole(status, "attempt"), text(status, "message")
        wait_s = max(0.0, at - now) if at and now else 0.0
        if wait_s > LONGEST_WAIT_S:
            yield from self._stop_for(of_words(words or "the provider asks to wait", resets_at=iso_utc(at)))
        elif attempt > RETRIES:
            yield from self._stop_for(of_words(words or "the model could not be reached"))
        else:
            yield Retrying(words or "unknown", attempt, wait_s)

    def _permission(self, fields: Mapping[str, Any], *, inside: bool) -> Iterator[Item]:
        request_id = text(fields, "id")
        if not request_id:
            yield Notice("a permission request without an id was ignored")
            return
        call_id = text(mapping(fields.get("tool")), "callID")
        self._asked.add(call_id)
        asked, reading = normalised(fields, self._calls.get(call_id))
        yield PermissionRequest(request_id, asked, reading, inside, text(fields, "permission") == "doom_loop")

    def _stop(self, kind: FailureKind, reason: str) -> Iterator[Item]:
        yield from self._stop_for(Failure(kind, reason))

    def _stop_for(self, failure: Failure) -> Iterator[Item]:
        if self._abort is None:
            self._abort = failure
            yield Abort(failure.reason)
