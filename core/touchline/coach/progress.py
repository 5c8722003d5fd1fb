"""What a person sees while a run works: live on a terminal, plain lines in a pipe (spec page 8). Writes to stderr.

Text that came from a model or a program is made printable first: no control character reaches the terminal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from touchline.executor import (
    Event,
    Notice,
    PermissionAnswered,
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
from touchline.turn.shown import printable, told

LAST_EVENT_MAX = 100
SAID_MAX = 4000
"""Of one text that is told; the record has the whole."""


@dataclass(slots=True)
class View:
    """What is shown: phase, turn, start (monotonic seconds), tokens and the last event."""

    phase: str = "start"
    turn: int = 0
    max_turns: int = 0
    started_s: float = field(default_factory=time.monotonic)
    tokens: int = 0
    last_event: str = ""

    def line(self, now_s: float) -> str:
        """One line, for instance `turn 2 of 10 · verify · 1:05 · 3,210 tokens · bash: pytest -q`."""
        elapsed = int(now_s - self.started_s)
        parts = [f"turn {self.turn} of {self.max_turns}"] if self.turn else []
        parts += [self.phase, f"{elapsed // 60}:{elapsed % 60:02d}", f"{self.tokens:,} tokens"]
        if self.last_event:
            parts.append(self.last_event)
        return " · ".join(parts)


class Progress(Protocol):
    """Where the loop tells what it does."""

    def say(self, text: str) -> None:
        """A line that stays: notices, anchors, the player's report."""

    def phase(self, phase: str, *, turn: int, max_turns: int) -> None:
        """A new phase began."""

    def event(self, event: Event) -> None:
        """An executor told something."""

    def paused(self) -> AbstractContextManager[None]:
        """While a person is asked, nothing else moves on the terminal."""
        ...


def describe(event: Event) -> str:
    """A short, printable line for one event, or "" for what a person need not see."""
    match event:
        case SessionStarted(_, model):
            text = f"session opened ({model})" if model else "session opened"
        case ToolStarted(tool, given, _):
            text = f"{tool}: {given}"
        case ToolFinished(status, _, _, _) if status != "ok":
            text = f"tool {status}"
        case PermissionAsked(tool=tool, command=command, text=asked):
            text = f"asks permission for {tool}: {command or asked}"
        case PermissionAnswered(allowed=allowed, reason=reason):
            text = "permission granted" if allowed else f"permission denied: {reason}"
        case QuestionAsked(_, asked):
            text = f"asks: {asked}"
        case Retrying(reason, attempt, next_in_s):
            text = f"retry {attempt} in {next_in_s:.0f} s: {reason}"
        case Notice(note):
            text = note
        case TurnEnded(_, failure):
            text = "turn ended" if failure is None else f"turn failed ({failure.kind}): {failure.reason}"
        case TextDelta() | ReasoningDelta() | ToolFinished() | UsageReported():
            return ""
    return printable(text, LAST_EVENT_MAX)


class PlainProgress:
    """Plain lines, one for each phase and each told event; the form for pipes and logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._view = View()

    def say(self, text: str) -> None:
        """Print the text, made printable."""
        print(_said(text), file=self._stream, flush=True)

    def phase(self, phase: str, *, turn: int, max_turns: int) -> None:
        """Print the phase with turn, time and tokens."""
        view = self._view
        view.phase, view.turn, view.max_turns, view.last_event = phase, turn, max_turns, ""
        self.say(f"[{view.line(time.monotonic())}]")

    def event(self, event: Event) -> None:
        """Print what a person should see of it."""
        _count(self._view, event)
        if text := describe(event):
            self.say(f"  {text}")

    def paused(self) -> AbstractContextManager[None]:
        """Lines need no pause."""
        return nullcontext()


class LiveProgress:
    """One live line at the bottom of a terminal; lines that stay scroll above it."""

    def __init__(
        self, print_above: Callable[[str], None], view: View, pause: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._print_above = print_above
        self._view = view
        self._pause = pause

    def say(self, text: str) -> None:
        """Print the text, made printable, above the live line."""
        self._print_above(_said(text))

    def phase(self, phase: str, *, turn: int, max_turns: int) -> None:
        """Show the new phase."""
        self._view.phase, self._view.turn, self._view.max_turns, self._view.last_event = (
            phase,
            turn,
            max_turns,
            "",
        )

    def event(self, event: Event) -> None:
        """Show it as the last event."""
        _count(self._view, event)
        if text := describe(event):
            self._view.last_event = text

    def paused(self) -> AbstractContextManager[None]:
        """Take the live line off the terminal meanwhile."""
        return self._pause()


@contextmanager
def progress_on(stream: TextIO) -> Iterator[Progress]:
    """Live progress when `stream` is a terminal that can show it, plain lines otherwise."""
    if not stream.isatty() or os.environ.get("TERM", "") == "dumb":
        yield PlainProgress(stream)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    view = View()

    class _Line:
        def __rich__(self) -> Text:
            return Text(view.line(time.monotonic()), overflow="ellipsis", no_wrap=True)

    console = Console(file=stream, highlight=False, markup=False, no_color="NO_COLOR" in os.environ or None)
    live = Live(_Line(), console=console, refresh_per_second=4, transient=True)

    @contextmanager
    def pause() -> Iterator[None]:
        live.stop()
        try:
            yield
        finally:
            live.start()

    with live:
        yield LiveProgress(lambda text: console.print(text, soft_wrap=True), view, pause)


def _said(text: str) -> str:
    """`text` as it is told: what it has on further lines is set in, so that it can pass for no line of ours."""
    return told(text, SAID_MAX).replace("\n", "\n  ")


def _count(view: View, event: Event) -> None:
    if isinstance(event, UsageReported):
        view.tokens += event.input + event.output
