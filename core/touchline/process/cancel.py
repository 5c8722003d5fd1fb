"""The wish to stop: one object that waits in a selector next to the pipes, and the signals that set it.

Spec page 8: Ctrl-C once stops cleanly and resumably, twice at once; neither leaves an orphan (the process
host sees to that).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Cancellation:
    """Set once, from any thread or a signal handler; readable for a selector from then on."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._is_set = False
        self.reason = ""

    def set(self, reason: str = "cancelled") -> None:
        """Ask for the stop; the first reason is kept."""
        if not self._is_set:
            self._is_set = True
            self.reason = reason
            if self._writer >= 0:
                os.write(self._writer, b"x")

    def is_set(self) -> bool:
        """Whether the stop was asked for."""
        return self._is_set

    def fileno(self) -> int:
        """What a selector waits on; -1 once closed."""
        return self._reader

    def close(self) -> None:
        """Give the descriptors back; `is_set` stays as it is."""
        reader, self._reader = self._reader, -1
        writer, self._writer = self._writer, -1
        for descriptor in (reader, writer):
            if descriptor >= 0:
                os.close(descriptor)

    def __del__(self) -> None:
        self.close()


@contextlib.contextmanager
def on_signals(cancellation: Cancellation | None = None) -> Iterator[Cancellation]:
    """Let SIGINT and SIGTERM set the cancellation; a second SIGINT raises KeyboardInterrupt at once.

    Outside the main thread no handler can be installed: then the cancellation is only yielded.
    """
    cancelled = cancellation if cancellation is not None else Cancellation()
    if threading.current_thread() is not threading.main_thread():
        yield cancelled
        return
    interrupts = 0

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal interrupts
        cancelled.set(signal.Signals(number).name)
        if number == signal.SIGINT:
            interrupts += 1
            if interrupts > 1:
                raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield cancelled
    finally:
        for number, handler in before.items():
            # A handler that was not installed from Python reads as None and cannot be put back as such.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextlib.contextmanager
def interrupts_raised() -> Iterator[None]:
    """Let the first SIGINT raise KeyboardInterrupt: a person at a question, before anything runs, wants to leave."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
