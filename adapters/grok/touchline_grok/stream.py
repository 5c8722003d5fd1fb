"""What grok prints in streaming-json, as events (spec page 2, "grok"). Pure: lines in, items out.

Never raises, whatever a line holds. Nothing of the turn is passed on before our hook has spoken, and a tool that runs
without having been asked for ends the turn: grok's hooks fail open, so their silence is never a yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from touchline.agent_cli.fields import flag, items, mapping, number, parsed, text, whole
from touchline.api import (
    Event,
    Failure,
    FailureKind,
    Notice,
    ReasoningDelta,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from touchline_grok.asked import HARMLESS, READING, shown
from touchline_grok.outcome import ended, of_words

NO_HOOK = "the permission hook did not run, so that nothing could be refused; grok's hooks must be allowed"
NOTICE_TEXT = 300

_QUIET = {"available_commands", "plan", "session_info", "auto_compact_start", "auto_compact_end"}


@dataclass(frozen=True, slots=True)
class HookCall:
    """The hook waits for a decision about a tool call; a truncated input cannot be judged.

    `inside`: every file that it names lies where the turn may read.
    """

    number: int
    tool: str
    input: Mapping[str, Any]
    call_id: str
    truncated: bool
    inside: bool


@dataclass(frozen=True, slots=True)
class HookHeard:
    """The hook spoke of something that needs no decision."""

    number: int


Item = Event | HookCall | HookHeard


class GrokStream:
    """The state of one turn's stream; `feed` each line, then read `result`."""

    def __init__(self, *, session_id: str) -> None:
        self._session_id = session_id
        self._hooked = False
        self._asked: dict[str, str] = {}
        """The command line of each call that was asked for, "" where it has none."""
        self._denied: set[str] = set()
        self._started: dict[str, str] = {}
        self._finished: set[str] = set()
        self._final: list[str] = []
        self._whole = False
        self._out_of_turns = False
        self._counted = UsageReported(0, 0)
        self.status: int | None = None
        """The CLI's exit status, once known."""
        self.result: TurnEnded | None = None

    def deny(self, call: str) -> None:
        """Note that this tool call was denied by us."""
        self._denied.add(call)

    def feed(self, line: str) -> Iterator[Item]:
        """The items of one line."""
        if not line.strip():
            return
        event = parsed(line)
        if event is None:
            yield Notice(f"not a JSON object: {line[:NOTICE_TEXT]}")
            return
        kind = text(event, "type")
        if kind == "bridge.exited":
            found = event.get("status")
            self.status = found if isinstance(found, int) else None
        elif kind == "bridge.failed":
            reason = f"the program could not be started: {text(event, 'detail')}"
            self._end(TurnEnded("", Failure(FailureKind.NOT_INSTALLED, reason)))
        elif kind == "bridge.hook":
            yield from self._hook(whole(event, "id"), mapping(event.get("event")), inside=flag(event, "inside"))
        elif kind == "error":
            self._end(TurnEnded("", of_words(text(event, "message"))))
        elif self.result is not None:
            yield Notice(f"{kind or 'something'} after the end was ignored")
        elif kind in ("text", "thought", "tool_call", "tool_call_update", "usage", "end") and not self._hooked:
            self._end(TurnEnded("", Failure(FailureKind.PROTOCOL, NO_HOOK)))
        elif kind == "text":
            yield from self._text(text(event, "data"))
        elif kind == "thought":
            yield ReasoningDelta(text(event, "data"))
        elif kind == "tool_call":
            yield from self._tool_call(event)
        elif kind == "tool_call_update":
            yield from self._tool_update(event)
        elif kind == "usage":
            self._whole = True
            yield from self._count(_usage(mapping(event.get("usage"))))
        elif kind == "max_turns_reached":
            self._out_of_turns = True
        elif kind == "end":
            yield from self._ended(event)
        elif kind not in _QUIET:
            yield Notice(f"unknown event {kind or 'without a type'}: {line[:NOTICE_TEXT]}")

    def _hook(self, number: int, event: Mapping[str, Any], *, inside: bool) -> Iterator[Item]:
        if not self._hooked:
            self._hooked = True
            yield SessionStarted(text(event, "sessionId"))
        if text(event, "hookEventName") != "pre_tool_use":
            yield HookHeard(number)
            return
        call = text(event, "toolUseId")
        given, truncated = mapping(event.get("toolInput")), event.get("toolInputTruncated") is not False
        self._asked[call] = text(given, "command")
        yield HookCall(number, text(event, "toolName"), given, call, truncated, inside)

    def _text(self, data: str) -> Iterator[Item]:
        if data:
            self._whole = False
            self._final.append(data)
            yield TextDelta(data)

    def _tool_call(self, event: Mapping[str, Any]) -> Iterator[Item]:
        call = text(event, "toolCallId")
        if call in self._started:
            return
        self._started[call] = text(event, "toolName")
        self._final.clear()
        self._whole = False
        yield ToolStarted(text(event, "toolName"), shown(mapping(event.get("rawInput"))), call)

    def _tool_update(self, event: Mapping[str, Any]) -> Iterator[Item]:
        call, status = text(event, "toolCallId"), text(event, "status")
        if call in self._finished or call not in self._started:
            return
        free = self._started[call] in READING | HARMLESS
        if status in ("in_progress", "completed") and call not in self._asked and not free:
            tool = self._started[call] or "a tool"
            self._end(TurnEnded("", Failure(FailureKind.PROTOCOL, f"{tool} ran without being asked for: {NO_HOOK}")))
            return
        raw = mapping(event.get("rawOutput"))
        ran, asked = text(raw, "command"), self._asked.get(call, "")
        if ran and asked and ran != asked:
            reason = f"another hook changed a command after it was allowed: {ran[:NOTICE_TEXT]}"
            self._end(TurnEnded("", Failure(FailureKind.REFUSED_PERMISSION, reason)))
            return
        if status not in ("completed", "failed"):
            return
        self._finished.add(call)
        how: Literal["ok", "error", "denied"] = "ok"
        if call in self._denied:
            how = "denied"
        elif status == "failed" or whole(raw, "exit_code") or text(raw, "signal") or flag(raw, "timed_out"):
            how = "error"
        told = [text(mapping(part.get("content")), "text") for part in items(event.get("content"))]
        yield ToolFinished(how, text(raw, "output_for_prompt") or "\n".join(filter(None, told)), id=call)

    def _count(self, step: UsageReported) -> Iterator[Item]:
        if step.input or step.output:
            before = self._counted
            self._counted = UsageReported(
                before.input + step.input, before.output + step.output, before.cached + step.cached
            )
            yield step

    def _ended(self, event: Mapping[str, Any]) -> Iterator[Item]:
        """The terminal event; what it counts beyond the responses seen (subagents, cost) is one more report."""
        models = [name for name in mapping(event.get("modelUsage")) if isinstance(name, str)]
        if models:
            yield SessionStarted(text(event, "sessionId"), models[0])
        elif text(event, "sessionId") != self._session_id:
            yield SessionStarted(text(event, "sessionId"))
        total, done = _usage(mapping(event.get("usage"))), self._counted
        cost = number(event, "total_cost_usd") if "total_cost_usd" in event else None
        rest = UsageReported(
            max(0, total.input - done.input),
            max(0, total.output - done.output),
            max(0, total.cached - done.cached),
            cost,
        )
        if rest != UsageReported(0, 0):
            yield rest
        final = "".join(self._final)
        denied = bool(self._denied)
        self._end(ended(event, final, whole=self._whole, denied=denied, out_of_turns=self._out_of_turns))

    def _end(self, result: TurnEnded) -> None:
        """The first end holds; an error that comes after a success takes it back."""
        if self.result is None or (self.result.failure is None and result.failure is not None):
            self.result = result


def _usage(usage: Mapping[str, Any]) -> UsageReported:
    """`input_tokens` counts only what was not cached."""
    cached = whole(usage, "cache_read_input_tokens")
    sent = whole(usage, "input_tokens") + cached + whole(usage, "cache_creation_input_tokens")
    return UsageReported(sent, whole(usage, "output_tokens"), cached)
