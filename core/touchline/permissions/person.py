"""How a person is asked and waited for: at the terminal, through a ticket, or both at once (spec page 8).

The wait is bounded and ends early when the run is cancelled. No answer is never an approval.
"""

from __future__ import annotations

import os
import selectors
import termios
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TextIO

from touchline.permissions.tickets import Answer, Ticket, TicketError, TicketFolder
from touchline.process.cancel import Cancellation
from touchline.turn.shown import printable, printable_lines

DEFAULT_WAIT_S = 1800.0
_POLL_S = 0.2
_MAX_TYPED = 16_384


@dataclass(frozen=True, slots=True)
class Terminal:
    """A terminal to ask at. `paused` holds back other output while the question stands there."""

    read_fd: int
    write: TextIO
    paused: Callable[[], AbstractContextManager[object]] = nullcontext


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long and where to wait. `clock` is monotonic seconds; `now` the time of day as ISO 8601 in UTC."""

    now: Callable[[], str]
    wait_s: float = DEFAULT_WAIT_S
    clock: Callable[[], float] = time.monotonic
    cancel: Cancellation | None = None
    terminal: Terminal | None = None
    say: Callable[[str], None] = field(default=lambda _text: None)


def wait_for_answer(folder: TicketFolder, ticket: Ticket, waiting: Waiting) -> Answer | None:
    """The first answer to `ticket`, from the terminal or a reply; None when time ran out or on cancellation.

    Raises TicketError when the answer's file is damaged.
    """
    terminal = waiting.terminal
    if terminal is None:
        return _wait(folder, ticket, waiting, None)
    with terminal.paused():
        if os.isatty(terminal.read_fd):
            termios.tcflush(terminal.read_fd, termios.TCIFLUSH)  # what was typed before was no answer to this
        terminal.write.write(_prompt(ticket))
        terminal.write.flush()
        return _wait(folder, ticket, waiting, terminal)


def _wait(folder: TicketFolder, ticket: Ticket, waiting: Waiting, terminal: Terminal | None) -> Answer | None:
    deadline = waiting.clock() + waiting.wait_s
    typed = b""
    with selectors.DefaultSelector() as selector:
        if terminal is not None:
            selector.register(terminal.read_fd, selectors.EVENT_READ)
        if waiting.cancel is not None and waiting.cancel.fileno() >= 0:
            selector.register(waiting.cancel.fileno(), selectors.EVENT_READ)
        while True:
            answer = folder.answer_to(ticket.id)
            if answer is not None:
                return answer
            left = deadline - waiting.clock()
            if left <= 0 or (waiting.cancel is not None and waiting.cancel.is_set()):
                return None
            ready = selector.select(min(_POLL_S, left))
            if terminal is None or all(key.fd != terminal.read_fd for key, _ in ready):
                continue
            piece = os.read(terminal.read_fd, 4096)
            if not piece:
                selector.unregister(terminal.read_fd)  # the terminal went away; a reply may still come
                terminal = None
                continue
            typed = (typed + piece)[-_MAX_TYPED:]
            if b"\n" not in piece:
                continue
            said = read_typed(ticket, typed.decode("utf-8", "replace").strip(), waiting.now())
            typed = b""
            if said is not None:
                return _keep(folder, ticket, said)
            terminal.write.write(_ASK_AGAIN[ticket.kind])
            terminal.write.flush()


def _keep(folder: TicketFolder, ticket: Ticket, said: Answer) -> Answer:
    """The typed answer, unless a reply from elsewhere came first."""
    first = folder.answer_to(ticket.id)
    if first is not None:
        return first
    folder.answer(ticket.id, said)
    kept = folder.answer_to(ticket.id)
    if kept is None:
        raise TicketError(f"the answer to ticket {ticket.id} vanished", fix="Look at who else writes there.")
    return kept


_ASK_AGAIN = {
    "permission": "Answer y (this once and for the same request later in this run) or n [REASON]: ",
    "question": "Answer: ",
}


def _prompt(ticket: Ticket) -> str:
    tool = printable(ticket.raw_tool or ticket.tool, 80)
    lines = [f"\n--- {ticket.kind} {ticket.id}: {tool}".rstrip(": ")]
    shown = ticket.command or ticket.text
    lines.append(printable_lines(shown))
    if ticket.paths:
        lines.append(printable_lines("files: " + ", ".join(ticket.paths)))
    if ticket.why:
        lines.append(printable_lines(f"asked because: {ticket.why}"))
    return "\n".join(lines) + "\n" + _ASK_AGAIN[ticket.kind]


def read_typed(ticket: Ticket, text: str, at: str) -> Answer | None:
    """What a typed line means for `ticket`; None if it is no answer. Pure."""
    if ticket.kind == "question":
        return Answer(decision="answer", text=text, at=at, by="terminal") if text else None
    word, _, rest = text.partition(" ")
    if word.casefold() in ("y", "yes") and not rest.strip():
        return Answer(decision="approve", at=at, by="terminal")
    if word.casefold() in ("n", "no"):
        return Answer(decision="deny", text=rest.strip(), at=at, by="terminal")
    return None
