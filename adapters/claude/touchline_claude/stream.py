"""What Claude Code prints in stream-json, as events (spec page 2, "claude"). Pure: lines in, items out.

Never raises, whatever a line holds: what cannot be read is a `Notice`, a missing or mistyped field is absent.
Text arrives as deltas; a message whose deltas were not seen (synthetic, or not streamed) is taken whole. Messages of
subagents carry the id of the call that started them and are not part of the turn's text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from touchline.agent_cli.fields import flag, items, mapping, number, text, whole
from touchline.api import (
    Event,
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
from touchline_claude.outcome import RateLimit, ended

NOTICE_TEXT = 300
"""Code points of a line that could not be understood which are shown."""

_TOOLS: Mapping[str, Literal["bash", "write", "edit", "webfetch"]] = {
    "Bash": "bash",
    "Write": "write",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "WebFetch": "webfetch",
}
_SHOWN = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "prompt")
_PATHS = ("file_path", "notebook_path", "path")
_QUIET = {"status", "init", "compact_boundary", "hook_started", "hook_progress", "hook_response"}
_QUIET_TYPES = {"control_response", "control_cancel_request", "keep_alive", "tool_progress", "stream_request_start"}


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """The CLI waits for our answer about a tool call; `input` goes back with a yes."""

    request_id: str
    asked: PermissionAsked
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnsupportedRequest:
    """The CLI asks for something that we do not offer; it is answered with an error, so that it fails closed."""

    request_id: str
    subtype: str


@dataclass(frozen=True, slots=True)
class _Message:
    """A message that is being streamed: its id and its input tokens so far."""

    id: str = ""
    sent: int = 0
    cached: int = 0


Item = Event | PermissionRequest | UnsupportedRequest


class ClaudeStream:
    """The state of one turn's stream; `feed` each line, then read `result`."""

    def __init__(self, *, session_id: str, resumed: bool = False) -> None:
        self._session_id = session_id
        self._resumed = resumed
        self._started = False
        self._streamed: set[str] = set()
        self._open: dict[str, _Message] = {}
        self._counted: set[str] = set()
        self._denied: set[str] = set()
        self._reported = UsageReported(0, 0)
        self._limit = RateLimit()
        self.result: TurnEnded | None = None

    def deny(self, call: str) -> None:
        """Note that this tool call was denied; older versions do not tell it in its result."""
        self._denied.add(call)

    def feed(self, line: str) -> Iterator[Item]:
        """The items of one line."""
        if not line.strip():
            return
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield Notice(f"not JSON: {line[:NOTICE_TEXT]}")
            return
        event = mapping(value)
        kind = text(event, "type")
        if kind == "stream_event":
            yield from self._partial(event)
        elif kind == "assistant":
            yield from self._assistant(event)
        elif kind == "user":
            yield from _tool_results(event, self._denied)
        elif kind == "system":
            yield from self._system(event)
        elif kind == "control_request":
            yield from _control(event)
        elif kind == "rate_limit_event":
            self._limit = RateLimit.of(mapping(event.get("rate_limit_info")))
            if self._limit.status and self._limit.status != "allowed":
                yield Notice(f"rate limit {self._limit.status} ({self._limit.name or 'unnamed'})")
        elif kind == "result":
            yield from self._result(event)
        elif kind not in _QUIET_TYPES:
            yield Notice(f"unknown event {kind or 'without a type'}: {line[:NOTICE_TEXT]}")

    def _system(self, event: Mapping[str, Any]) -> Iterator[Item]:
        subtype = text(event, "subtype")
        if subtype == "init" and not self._started:
            self._started = True
            yield SessionStarted(text(event, "session_id"), text(event, "model"))
        elif subtype == "api_retry":
            status = whole(event, "error_status")
            reason = text(event, "error") or "unknown"
            yield Retrying(
                f"{reason} ({status})" if status else reason,
                whole(event, "attempt"),
                max(0.0, number(event, "retry_delay_ms") / 1000),
            )
        elif subtype not in _QUIET:
            yield Notice(f"system {subtype}: {json.dumps(event, ensure_ascii=False)[:NOTICE_TEXT]}")

    def _partial(self, event: Mapping[str, Any]) -> Iterator[Item]:
        inner = mapping(event.get("event"))
        kind = text(inner, "type")
        parent = text(event, "parent_tool_use_id")
        if kind == "message_start":
            started = mapping(inner.get("message"))
            self._open[parent] = _Message(text(started, "id"), *_input_tokens(mapping(started.get("usage"))))
            return
        message = self._open.get(parent, _Message())
        if kind == "message_delta":
            usage = mapping(inner.get("usage"))
            sent, cached = _input_tokens(usage)
            self._counted.add(message.id)
            step = UsageReported(max(sent, message.sent), whole(usage, "output_tokens"), max(cached, message.cached))
            yield from self._count(step)
        elif kind == "content_block_delta" and not parent:
            delta = mapping(inner.get("delta"))
            if text(delta, "type") == "text_delta":
                self._streamed.add(message.id)
                yield TextDelta(text(delta, "text"))
            elif text(delta, "type") == "thinking_delta":
                self._streamed.add(message.id)
                yield ReasoningDelta(text(delta, "thinking"))

    def _assistant(self, event: Mapping[str, Any]) -> Iterator[Item]:
        message = mapping(event.get("message"))
        message_id = text(message, "id")
        synthetic = text(message, "model") == "<synthetic>"
        if text(event, "error") == "rate_limit":
            info = mapping(mapping(event.get("api_error_params")).get("rate_limit_info"))
            self._limit = RateLimit.of(info) if info else self._limit
        own = not event.get("parent_tool_use_id") and not synthetic and message_id not in self._streamed
        for block in items(message.get("content")):
            kind = text(block, "type")
            if kind == "text" and own:
                yield TextDelta(text(block, "text"))
            elif kind == "thinking" and own:
                yield ReasoningDelta(text(block, "thinking"))
            elif kind == "tool_use":
                name, given = text(block, "name"), mapping(block.get("input"))
                yield ToolStarted(name, shown(name, given), text(block, "id"))
                if name == "AskUserQuestion":
                    yield QuestionAsked(text(block, "id"), _questions(given))
        being_streamed = any(message_id == opened.id for opened in self._open.values())
        if not being_streamed and message_id not in self._counted and not synthetic:
            self._counted.add(message_id)
            usage = mapping(message.get("usage"))
            sent, cached = _input_tokens(usage)
            yield from self._count(UsageReported(sent, whole(usage, "output_tokens"), cached))

    def _count(self, step: UsageReported) -> Iterator[Item]:
        if step.input or step.output:
            before = self._reported
            self._reported = UsageReported(
                before.input + step.input, before.output + step.output, before.cached + step.cached
            )
            yield step

    def _result(self, event: Mapping[str, Any]) -> Iterator[Item]:
        """The terminal event; what it counts beyond the steps seen (side calls, cost) is one more report."""
        if self.result is not None:
            yield Notice("a second result was ignored")
            return
        session_id = text(event, "session_id")
        self.result = ended(event, limit=self._limit, session_id=self._session_id)
        if not self._started and session_id and self.result.failure is None:
            yield SessionStarted(session_id)
        total, done = _total(event, resumed=self._resumed), self._reported
        rest = UsageReported(
            max(0, total.input - done.input),
            max(0, total.output - done.output),
            max(0, total.cached - done.cached),
            total.cost,
        )
        if rest != UsageReported(0, 0):
            yield rest


def _total(event: Mapping[str, Any], *, resumed: bool) -> UsageReported:
    """Tokens and cost of this turn alone.

    By model where the CLI tells it since its last result (that counts subagents too). Older versions: `usage` is the
    turn's own; `total_cost_usd` is not once a session is resumed (measured: it goes on from the turns before).
    """
    usage = mapping(event.get("usage"))
    sent, cached = _input_tokens(usage)
    output = whole(usage, "output_tokens")
    models = [mapping(value) for value in mapping(event.get("model_usage_since_last_result")).values()]
    if not models:
        told = "total_cost_usd" in event and not resumed
        return UsageReported(sent, output, cached, number(event, "total_cost_usd") if told else None)
    hits = sum(whole(model, "cacheReadInputTokens") for model in models)
    made = sum(whole(model, "cacheCreationInputTokens") for model in models)
    return UsageReported(
        max(sent, sum(whole(model, "inputTokens") for model in models) + hits + made),
        max(output, sum(whole(model, "outputTokens") for model in models)),
        max(cached, hits),
        sum(number(model, "costUSD") for model in models),
    )


def _input_tokens(usage: Mapping[str, Any]) -> tuple[int, int]:
    """All input tokens, and the part of them that was read from the cache."""
    cached = whole(usage, "cache_read_input_tokens")
    return whole(usage, "input_tokens") + cached + whole(usage, "cache_creation_input_tokens"), cached


def _tool_results(event: Mapping[str, Any], known_denied: set[str]) -> Iterator[Item]:
    denied = known_denied | {
        text(meta, "id")
        for meta in items(event.get("tool_result_meta"))
        if text(mapping(meta.get("permission_decision")), "decision") == "reject"
    }
    for block in items(mapping(event.get("message")).get("content")):
        if text(block, "type") != "tool_result":
            continue
        call = text(block, "tool_use_id")
        status: Literal["ok", "error", "denied"] = "error" if flag(block, "is_error") else "ok"
        yield ToolFinished("denied" if call in denied else status, _content(block.get("content")), id=call)


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text(part, "text") for part in items(content) if text(part, "type") == "text")


def _control(event: Mapping[str, Any]) -> Iterator[Item]:
    request, request_id = mapping(event.get("request")), text(event, "request_id")
    if not request_id:
        yield Notice("a control request without an id was ignored")
    elif text(request, "subtype") != "can_use_tool":
        yield UnsupportedRequest(request_id, text(request, "subtype"))
    else:
        name, given = text(request, "tool_name"), mapping(request.get("input"))
        command = text(given, "command") if name == "Bash" else ""
        asked = PermissionAsked(
            text(request, "tool_use_id") or request_id,
            _TOOLS.get(name, "other"),
            command=command,
            paths=tuple(path for key in _PATHS if (path := text(given, key))),
            text=command or f"{name} {json.dumps(given, ensure_ascii=False, sort_keys=True)}",
            raw_tool=name,
        )
        yield PermissionRequest(request_id, asked, given)


def _questions(given: Mapping[str, Any]) -> str:
    found = [text(question, "question") for question in items(given.get("questions"))]
    return "\n".join(question for question in found if question)


def shown(tool: str, given: Mapping[str, Any]) -> str:
    """What a person should see of a tool's input: its most telling field, or all of it as JSON."""
    for key in _SHOWN:
        value = text(given, key)
        if value:
            return value
    return json.dumps(given, ensure_ascii=False, sort_keys=True)
