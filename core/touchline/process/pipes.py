"""The one loop around a child's standard streams: both outputs drained, input fed, nobody blocks (spec page 2)."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
from collections.abc import Callable
from typing import Any

CHUNK_BYTES = 64 * 1024
"""What one read takes at most; also a bound for the lines that wait for their reader."""

Sink = Callable[[bytes], None]


class Pipes:
    """The pipes of one child in a selector, together with whatever else its owner waits for.

    Owns the pipes of `process` and closes them. Input that the child does not read waits in memory.
    """

    def __init__(self, process: subprocess.Popen[bytes], *, stdout: Sink, stderr: Sink) -> None:
        self._selector = selectors.DefaultSelector()
        self._process = process
        self._input = bytearray()
        self._close_when_fed = False
        self._outputs: set[int] = set()
        self._stdin_registered = False
        self.stdout_ended = False
        self.moved = False
        """Whether the last `step` saw a byte of output."""
        for stream, sink in ((process.stdout, stdout), (process.stderr, stderr)):
            if stream is not None:
                descriptor = stream.fileno()
                os.set_blocking(descriptor, False)
                self._outputs.add(descriptor)
                self._selector.register(descriptor, selectors.EVENT_READ, (self._drain, descriptor, sink))
        self._stdout = process.stdout.fileno() if process.stdout is not None else -1
        self._stdin = process.stdin.fileno() if process.stdin is not None else -1
        if self._stdin >= 0:
            os.set_blocking(self._stdin, False)

    @property
    def outputs_open(self) -> bool:
        """Whether one of the two outputs can still bring something."""
        return bool(self._outputs)

    def watch(self, source: Any, react: Callable[[], None]) -> None:
        """Call `react` whenever `source` (a descriptor or an object with one) is readable."""
        self._selector.register(source, selectors.EVENT_READ, (react,))

    def unwatch(self, source: Any) -> None:
        """Stop watching; unknown sources are fine."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(source)

    def feed(self, content: bytes) -> None:
        """Write `content` to the child's input, now as far as it takes it, the rest in later steps."""
        if self._stdin < 0 or self._close_when_fed:
            return
        self._input += content
        self._write()

    def close_input(self) -> None:
        """Close the input once everything before has been written."""
        self._close_when_fed = True
        self._write()

    def step(self, timeout_s: float) -> None:
        """Wait at most `timeout_s` for something to happen and deal with it."""
        self.moved = False
        for key, _ in self._selector.select(max(0.0, timeout_s)):
            react, *arguments = key.data
            react(*arguments)

    def close(self) -> None:
        """Close everything; what was not read or written is given up."""
        self._selector.close()
        self._outputs.clear()
        self._stdin = -1
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _drain(self, descriptor: int, sink: Sink) -> None:
        try:
            chunk = os.read(descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return
        if chunk:
            self.moved = True
            sink(chunk)
            return
        self._selector.unregister(descriptor)
        self._outputs.discard(descriptor)
        if descriptor == self._stdout:
            self.stdout_ended = True

    def _write(self) -> None:
        if self._stdin < 0:
            return
        try:
            while self._input:
                with memoryview(self._input) as view:
                    written = os.write(self._stdin, view[:CHUNK_BYTES])
                del self._input[:written]
        except BlockingIOError:
            if not self._stdin_registered:
                self._selector.register(self._stdin, selectors.EVENT_WRITE, (self._write,))
                self._stdin_registered = True
            return
        except (BrokenPipeError, ConnectionResetError):
            # The child does not want to read any more. What that means shows in its output and its end.
            self._input.clear()
            self._close_when_fed = True
        if self._stdin_registered:
            self._selector.unregister(self._stdin)
            self._stdin_registered = False
        if self._close_when_fed and self._process.stdin is not None:
            self._stdin = -1
            self._process.stdin.close()
