"""What the app server tells during a turn, as events (spec page 2, "codex"). Pure: notifications in, events out.

Never raises, whatever a notification holds: an unknown one is a `Notice`, a missing or mistyped field is absent.
Subagents have threads of their own: their tools and tokens count, their text is not the turn's. The end is a
`turn/completed` of our own turn in our own thread, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from touchline.agent_cli.fields import flag, items, mapping, seconds, text, whole
from touchline.api import (
    Event,
    Failure,
    FailureKind,
    Notice,
    ReasoningDelta,
    Retrying,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from touchline_codex.approvals import announced, paths_of, script_of
from touchline_codex.outcome import interrupted, turn_failure

NOTICE_TEXT = 300
"""Code points of something that could not be understood which are shown."""

_QUIET = {
    *("thread/started", "thread/status/changed", "thread/settings/updated", "thread/name/updated", "turn/diff/updated"),
    *("turn/plan/updated", "serverRequest/resolved", "remoteControl/status/changed", "skills/changed"),
    *("item/commandExecution/outputDelta", "item/fileChange/outputDelta", "item/fileChange/patchUpdated"),
    *("item/reasoning/summaryPartAdded", "item/plan/delta", "item/mcpToolCall/progress", "hook/started"),
    *("hook/completed", "account/updated", "app/list/updated", "mcpServer/startupStatus/updated", "thread/closed"),
    *("thread/goal/updated", "thread/goal/cleared", "thread/compacted", "thread/readState/changed"),
}
_NO_TOOLS = {
    "userMessage",
    "agentMessage",
    "reasoning",
    "plan",
    "hookPrompt",
    "contextCompaction",
    "functionCallOutput",
}
_TOOLS = {
    *("commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "collabAgentToolCall", "webSearch"),
    *("imageView", "imageGeneration", "sleep", "subAgentActivity", "enteredReviewMode", "exitedReviewMode"),
}
_RECONNECTING = re.compile(r"(\d{1,4})/\d")


class TurnEvents:
    """The state of one turn; `feed` each notification, then read `result`."""

    def __init__(self) -> None:
        self.thread_id = ""
        self.turn_id = ""
        self.result: TurnEnded | None = None
        self.changes: dict[str, list[Mapping[str, Any]]] = {}
        """The patches that were announced, by item."""
        self.denied = False
        self._streamed: set[str] = set()
        self._final = ""
        self._totals: dict[str, UsageReported] = {}
        self._error: Mapping[str, Any] = {}
        self._limits: Mapping[str, Any] = {}

    def feed(self, method: str, params: Mapping[str, Any]) -> Iterator[Event]:
        """The events of one notification."""
        own = bool(self.thread_id) and text(params, "threadId") == self.thread_id
        if method == "turn/started":
            if own and not self.turn_id:
                self.turn_id = text(mapping(params.get("turn")), "id")
        elif method == "turn/completed":
            yield from self._completed(mapping(params.get("turn")), own)
        elif method == "item/agentMessage/delta":
            if own:
                self._streamed.add(text(params, "itemId"))
                yield TextDelta(text(params, "delta"))
        elif method in ("item/reasoning/summaryTextDelta", "item/reasoning/textDelta"):
            if own:
                yield ReasoningDelta(text(params, "delta"))
        elif method == "item/started":
            yield from self._started(mapping(params.get("item")))
        elif method == "item/completed":
            yield from self._finished(mapping(params.get("item")), own)
        elif method == "thread/tokenUsage/updated":
            yield from self._usage(params)
        elif method == "account/rateLimits/updated":
            told = {key: value for key, value in mapping(params.get("rateLimits")).items() if value is not None}
            self._limits = {**self._limits, **told}
        elif method == "error":
            yield from self._failed(params, own)
        elif method not in _QUIET:
            yield _notice(method, params)

    def _completed(self, turn: Mapping[str, Any], own: bool) -> Iterator[Event]:
        if not own or not self.turn_id or text(turn, "id") != self.turn_id:
            yield Notice(f"the end of another turn was ignored: {text(turn, 'id') or 'without an id'}")
            return
        if self.result is not None:
            yield Notice("a second end of the turn was ignored")
            return
        status = text(turn, "status")
        if status == "completed":
            self.result = TurnEnded(self._final or _last_message(turn))
        elif status == "failed":
            error = mapping(turn.get("error")) or self._error
            self.result = TurnEnded("", turn_failure(error, self._limits))
        elif status == "interrupted":
            self.result = TurnEnded("", interrupted(self.denied))
        else:
            words = f"the CLI ended its turn with the status {status[:50]!r}, which is not understood; update touchline"
            self.result = TurnEnded("", Failure(FailureKind.PROTOCOL, words))

    def _started(self, item: Mapping[str, Any]) -> Iterator[Event]:
        kind, call = text(item, "type"), text(item, "id")
        if kind == "fileChange":
            self.changes[call] = announced(item)
        if kind in _TOOLS:
            yield ToolStarted(_name(kind, item), _shown(kind, item), call)
        elif kind not in _NO_TOOLS:
            yield Notice(f"unknown item {kind[:50] or 'without a type'}")

    def _finished(self, item: Mapping[str, Any], own: bool) -> Iterator[Event]:
        kind, call = text(item, "type"), text(item, "id")
        if kind in _TOOLS:
            yield ToolFinished(_status(item), _output(kind, item), seconds(item, "durationMs"), call)
        elif kind == "agentMessage" and own:
            said = text(item, "text")
            if call not in self._streamed and said:
                yield TextDelta(said)
            if _is_answer(item):
                self._final = said

    def _usage(self, params: Mapping[str, Any]) -> Iterator[Event]:
        """Totals are a thread's since its beginning, also over earlier processes; what is new since then is ours."""
        thread = text(params, "threadId")
        told = mapping(params.get("tokenUsage"))
        total, last = _tokens(mapping(told.get("total"))), _tokens(mapping(told.get("last")))
        before = self._totals.get(thread)
        self._totals[thread] = total
        if thread == self.thread_id and text(params, "turnId") != self.turn_id:
            return  # what earlier turns used, told when a session is resumed
        before = before or _difference(total, last)
        step = _difference(total, before)
        if step != UsageReported(0, 0):
            yield step

    def _failed(self, params: Mapping[str, Any], own: bool) -> Iterator[Event]:
        error = mapping(params.get("error"))
        message = text(error, "message")[:NOTICE_TEXT]
        if flag(params, "willRetry"):
            attempt = _RECONNECTING.search(message)
            yield Retrying(text(error, "additionalDetails") or message, int(attempt[1]) if attempt else 1)
        else:
            if own:
                self._error = error
            yield Notice(f"error: {message}")


def _last_message(turn: Mapping[str, Any]) -> str:
    """The answer as the end of the turn repeats it, where its own item was not seen."""
    found = [item for item in items(turn.get("items")) if text(item, "type") == "agentMessage" and _is_answer(item)]
    return text(found[-1], "text") if found else ""


def _is_answer(message: Mapping[str, Any]) -> bool:
    """Not what is said on the way, and not what is sent while the work goes on."""
    return text(message, "phase") != "commentary" and text(message, "delivery") != "async"


def _name(kind: str, item: Mapping[str, Any]) -> str:
    if kind == "commandExecution":
        return "exec_command"
    if kind == "fileChange":
        return "apply_patch"
    named = ".".join(part for part in (text(item, "server"), text(item, "tool")) if part)
    return named or kind


def _shown(kind: str, item: Mapping[str, Any]) -> str:
    """What a person should see of a tool's input."""
    if kind == "commandExecution":
        return script_of(text(item, "command"))
    if kind == "fileChange":
        return "\n".join(paths_of(announced(item)))
    for key in ("query", "path", "prompt", "review"):
        if text(item, key):
            return text(item, key)
    return json.dumps(item.get("arguments"), ensure_ascii=False, sort_keys=True) if "arguments" in item else ""


def _status(item: Mapping[str, Any]) -> Literal["ok", "error", "denied", "unknown"]:
    status, code = text(item, "status"), item.get("exitCode")
    if status == "declined":
        return "denied"
    if status == "failed" or (isinstance(code, int) and code != 0):
        return "error"
    return "ok" if status == "completed" else "unknown"


def _output(kind: str, item: Mapping[str, Any]) -> str:
    if kind == "commandExecution":
        return text(item, "aggregatedOutput")
    if kind == "fileChange":
        return "\n".join(text(change, "diff") for change in announced(item))
    value = item.get("result") or item.get("error") or item.get("contentItems")
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else ""


def _tokens(breakdown: Mapping[str, Any]) -> UsageReported:
    """Input tokens as told hold the cached ones already, output tokens those of the reasoning."""
    return UsageReported(
        whole(breakdown, "inputTokens"), whole(breakdown, "outputTokens"), whole(breakdown, "cachedInputTokens")
    )


def _difference(later: UsageReported, earlier: UsageReported) -> UsageReported:
    return UsageReported(
        max(0, later.input - earlier.input),
        max(0, later.output - earlier.output),
        max(0, later.cached - earlier.cached),
    )


def _notice(method: str, params: Mapping[str, Any]) -> Notice:
    words = text(params, "message") or text(params, "summary") or json.dumps(params, ensure_ascii=False)
    return Notice(f"{method[:80]}: {words[:NOTICE_TEXT]}")
