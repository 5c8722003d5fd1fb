"""One supervised child: its lines, its limits, its end (spec page 2, "The process host").

A child ends in exactly one `Ending`. Once a limit has fired, the rest of the output still arrives, marked
late, until the tree is gone. Time that the reader of `lines` spends elsewhere (a person deciding on a
permission) is not the child's idleness; it does count for the wall clock, which the supervisor keeps too.

One thread uses a `Child`; only its `Cancellation` may be set from elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from touchline.process.buffers import Tail
from touchline.process.cancel import Cancellation
from touchline.process.deadlines import HELD_PIPE_S, Deadlines, Ending, ProcessLimits
from touchline.process.lines import Line, LineSplitter
from touchline.process.pipes import Pipes, Sink
from touchline.process.supervisor import KILL, KILL_PATIENCE_S, STOP
from touchline.process.sweep import kill_tree
from touchline.process.tree import Process, cpu_seconds

STDERR_TAIL_BYTES = 64 * 1024


class Child:
    """A running program under its supervisor; a context manager that leaves nothing behind."""

    def __init__(
        self,
        supervisor: subprocess.Popen[bytes],
        control: socket.socket,
        *,
        root: Process,
        limits: ProcessLimits,
        mark: str,
        heard: bytes = b"",
        raw: Sink | None = None,
        cancel: Cancellation | None = None,
        stdout: Sink | None = None,
        stderr: Sink | None = None,
    ) -> None:
        self.pid = root.pid
        self.returncode: int | None = None
        """Exit status of the program, negative for a signal; None while it runs or when it is not known."""
        self._supervisor = supervisor
        self._control = control
        self._limits = limits
        self._root = root
        self._mark = mark
        self._raw = raw
        self._cancel = cancel
        self._splitter = LineSplitter(limits.max_line_bytes)
        self._queue: deque[Line] = deque()
        self._tail = Tail(STDERR_TAIL_BYTES)
        self._stderr_sink = stderr
        self._ending: Ending = "running"
        self._exited = False
        self._late = False
        self._lines_in_time = 0
        self._discard = False
        self._words = b""
        self._supervisor_ended = False
        self._closed = False
        self._left_at = time.monotonic()
        self._deadlines = Deadlines(limits, self._left_at)
        self._end_by: float | None = None
        """When waiting is over whatever happens; set once the end has begun."""
        self._pipes = Pipes(supervisor, stdout=stdout or self._split, stderr=self._keep_stderr)
        self._pipes.watch(control, self._hear)
        if cancel is not None:
            self._pipes.watch(cancel, self._on_cancel)
        self._take(heard)

    @property
    def ending(self) -> Ending:
        """How the child ended, or `running`. Known as soon as a limit fires, before the tree is gone."""
        return self._ending

    @property
    def stderr_tail(self) -> str:
        """The last 64 KiB of standard error so far, invalid UTF-8 replaced."""
        return self._tail.content().decode("utf-8", "replace")

    @property
    def late_after(self) -> int | None:
        """After how many lines of standard output the rest was late; None as long as none could be."""
        return self._lines_in_time if self._late else None

    def lines(self) -> Iterator[Line]:
        """The lines of standard output until the child has ended; nothing of its tree is left then."""
        while True:
            while self._queue:
                yield self._queue.popleft()
            if self._closed:
                return
            self._step()

    def write(self, content: bytes) -> None:
        """Write to standard input without ever waiting; ignored once the child or we closed it."""
        self._pipes.feed(content)

    def close_stdin(self) -> None:
        """Close standard input after what was written."""
        self._pipes.close_input()

    def extend_idle(self, seconds: float) -> None:
        """Let the idle limit begin only `seconds` from now: the program announced that it waits that long."""
        self._deadlines.announced_wait(time.monotonic() + seconds)

    def wait(self) -> None:
        """Wait for the end within the limits; lines not yet read are dropped (`raw` has them)."""
        self._discard = True
        while not self._closed:
            self._step()

    def finish(self, grace_s: float) -> None:
        """The result is here: close standard input, give `grace_s` to exit, then stop the tree.

        Output that still comes goes to `raw` only. The ending is `exited`, or `grace` after a stop.
        """
        if self._closed:
            return
        self.close_stdin()
        self._deadlines.give_grace(time.monotonic() + grace_s)
        self.wait()

    def stop(self) -> None:
        """Stop the whole tree: interrupt, terminate, kill. Returns when it is gone; the ending is `cancelled`."""
        self._begin_stop("cancelled")
        self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closed:
            return
        if kind is not None and not issubclass(kind, Exception | GeneratorExit):
            self._kill_now()  # a second Ctrl-C: at once, and still without an orphan
            return
        try:
            self.stop()
        except BaseException:
            self._kill_now()
            raise

    def _step(self) -> None:
        now = time.monotonic()
        away = now - self._left_at
        self._deadlines.reader_was_away(away)
        if self._end_by is not None:
            self._end_by += away
        if now >= self._deadlines.wall_end and not self._exited:
            self._hear()  # it may have exited in time while the reader was away
            if not self._exited:
                self._begin_stop("wall")  # before reading: what waits in the pipe now is late
        try:
            until = self._deadlines.next() if self._end_by is None else self._end_by
            self._pipes.step(until - now)
            now = time.monotonic()
            if self._pipes.moved:
                self._deadlines.active(now)
            self._enforce(now)
        finally:
            self._left_at = time.monotonic()

    def _enforce(self, now: float) -> None:
        if self._supervisor_ended and not self._pipes.outputs_open:
            self._close()
        elif self._end_by is not None:
            # Output that is there is read; only a stranger who goes on writing is given up for good.
            if now >= self._end_by + (HELD_PIPE_S if self._pipes.moved else 0.0):
                self._give_up_waiting()
        elif self._exited and not self._pipes.outputs_open:
            self._begin_stop("exited")
        else:
            over = self._deadlines.passed(now, lambda: cpu_seconds(self._supervisor.pid))
            if over is not None:
                self._begin_stop(over)
            elif self._pipes.stdout_ended and not self._deadlines.in_grace:
                self._deadlines.give_grace(now + self._limits.grace_s)

    def _begin_stop(self, ending: Ending) -> None:
        if self._end_by is not None or self._closed:
            return
        if self._ending == "running":
            self._ending = ending
        self._late = self._pipes.outputs_open
        self._order(STOP)
        self._end_by = time.monotonic() + self._limits.stop_s + KILL_PATIENCE_S + 1.0

    def _order(self, word: bytes) -> None:
        with contextlib.suppress(OSError):  # a supervisor that is gone shows as the end of its socket
            self._control.send(word, socket.MSG_DONTWAIT)

    def _on_cancel(self) -> None:
        if self._cancel is not None:
            self._pipes.unwatch(self._cancel)
        self._begin_stop("cancelled")

    def _hear(self) -> None:
        if self._supervisor_ended:
            return
        try:
            words = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            words = b""
        if not words:
            self._pipes.unwatch(self._control)
            self._on_supervisor_end()
            return
        self._take(words)

    def _take(self, words: bytes) -> None:
        *complete, self._words = (self._words + words).split(b"\n")
        for word in complete:
            name, _, value = word.partition(b" ")
            if name == b"wall" and self._ending == "running":
                self._begin_stop("wall")
            elif name == b"exited":
                self._exited = True
                self._deadlines.exited(time.monotonic())
                self.returncode = os.waitstatus_to_exitcode(int(value))
                if self._ending == "running":
                    self._ending = "exited"

    def _on_supervisor_end(self) -> None:
        self._supervisor_ended = True
        if self._ending == "running":
            self._ending, self._late = "lost", True
        if self._reap_supervisor() != 0:
            # Killed or crashed: its tree is no longer held together, so it is gathered by its mark.
            kill_tree(self._root, mark=self._mark)
        if self._end_by is None or self._pipes.outputs_open:
            # What is left in the pipes is read; a stranger that holds one is not waited for.
            self._end_by = time.monotonic() + HELD_PIPE_S

    def _reap_supervisor(self) -> int | None:
        try:
            return self._supervisor.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(timeout=2.0)
        return None

    def _give_up_waiting(self) -> None:
        if not self._supervisor_ended:
            self._supervisor.kill()
            kill_tree(self._root, mark=self._mark)
        self._close()

    def _kill_now(self) -> None:
        if self._ending == "running":
            self._ending = "cancelled"
        self._order(KILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(timeout=KILL_PATIENCE_S)
        self._close()

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if not self._discard:
            self._queue.extend(self._splitter.flush(late=self._late))
        self._pipes.close()
        self._control.close()
        self._reap_supervisor()

    def _split(self, chunk: bytes) -> None:
        if self._raw is not None:
            self._raw(chunk)
        if not self._late:
            self._lines_in_time += chunk.count(b"\n")
        if not self._discard:
            self._queue.extend(self._splitter.feed(chunk, late=self._late))

    def _keep_stderr(self, chunk: bytes) -> None:
        self._tail.add(chunk)
        if self._stderr_sink is not None:
            self._stderr_sink(chunk)
