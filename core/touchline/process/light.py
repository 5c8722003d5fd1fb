"""The light form of a run: no supervisor, little over the cost of a bare start (spec page 2).

For the dozens of git calls of a turn. The program has its own session and a time limit; at the limit its whole
tree is interrupted, terminated and killed, what left its session included. After its own end the rest of its
process group is killed while its number still cannot belong to anybody else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from touchline.process.cancel import Cancellation
from touchline.process.deadlines import HELD_PIPE_S, Ending
from touchline.process.launch import child_environment
from touchline.process.pipes import Pipes, Sink
from touchline.process.programs import find_program, illegal_environment, start_problem
from touchline.process.supervisor import KILL_PATIENCE_S
from touchline.process.sweep import kill_tree, tree_of
from touchline.process.tree import Process, freeze_and_kill, look_up, send

_POLL_S = 0.02
"""How often the end of a program is looked for where the system has no descriptor for it."""


def run_light(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None,
    stdin: bytes,
    timeout_s: float,
    stop_s: float,
    run_id: str,
    cancel: Cancellation | None,
    stdout: Sink,
    stderr: Sink,
) -> tuple[int | None, Ending, float]:
    """Run `argv`; gives exit status, ending and duration in seconds."""
    full, mark = child_environment(env, run_id=run_id)
    program = find_program(argv, cwd=cwd, env=full)
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            argv,
            executable=program,
            bufsize=0,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=full,
            start_new_session=True,
        )
    except OSError as problem:
        raise start_problem(program, problem.errno or 0, cwd=cwd) from problem
    except ValueError as problem:
        raise illegal_environment(program) from problem
    run = _LightRun(process, mark=mark, stdout=stdout, stderr=stderr, cancel=cancel)
    try:
        if stdin:
            run.pipes.feed(stdin)
            run.pipes.close_input()
        run.to_the_end(began + timeout_s, stop_s=stop_s)
    finally:
        run.close()
    return process.returncode, run.ending, time.monotonic() - began


class _LightRun:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        *,
        mark: str,
        stdout: Sink,
        stderr: Sink,
        cancel: Cancellation | None,
    ) -> None:
        self.ending: Ending = "running"
        self.pipes = Pipes(process, stdout=stdout, stderr=stderr)
        self._process = process
        self._mark = mark
        self._exited = False
        self._cancel = cancel
        self._cancelled = False
        try:
            self._pidfd = os.pidfd_open(process.pid)
            self.pipes.watch(self._pidfd, self._on_exit)
        except (AttributeError, OSError):
            self._pidfd = -1
        if cancel is not None:
            self.pipes.watch(cancel, self._on_cancel)

    def to_the_end(self, deadline: float, *, stop_s: float) -> None:
        """Drain until the program has exited and its pipes are closed; stop it step by step after `deadline`."""
        steps = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
        while not self._exited or self.pipes.outputs_open:
            now = time.monotonic()
            if self._exited and self.ending == "running":
                # Whoever still holds a pipe of it gets a moment, no more.
                self.ending, deadline, steps = "exited", now + HELD_PIPE_S, []
            elif self._cancelled and self.ending == "running":
                self.ending, deadline = "cancelled", now
            if now >= deadline:
                if self.ending == "running":
                    self.ending = "wall"
                if not steps:
                    return
                number = steps.pop(0)
                self._signal_tree(number)
                deadline = time.monotonic() + (KILL_PATIENCE_S if number == signal.SIGKILL else stop_s / 2)
            self._wait(deadline - time.monotonic())
        if self.ending == "running":
            self.ending = "exited"

    def _wait(self, seconds: float) -> None:
        if self._pidfd >= 0:
            self.pipes.step(seconds)
            return
        self.pipes.step(min(seconds, _POLL_S))
        found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        self._exited = found is not None

    def close(self) -> None:
        """End what is left, collect the program, give everything back."""
        held = self.pipes.outputs_open
        if self._exited:
            # Not collected yet, so its number, and with it its group's, is still its own.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        if held or self.ending != "exited":
            root = self._root()
            if root is not None:
                kill_tree(root, mark=self._mark)
        self.pipes.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=KILL_PATIENCE_S)

    def _root(self) -> Process | None:
        # Not collected yet: the number is still the program's own.
        return look_up(self._process.pid)

    def _signal_tree(self, number: signal.Signals) -> None:
        root = self._root()
        if root is None:
            return
        if number == signal.SIGKILL:
            freeze_and_kill(lambda: tree_of(root, mark=self._mark))
        else:
            for process in tree_of(root, mark=self._mark):
                send(process, number)

    def _on_exit(self) -> None:
        self._exited = True
        self.pipes.unwatch(self._pidfd)

    def _on_cancel(self) -> None:
        self._cancelled = True
        if self._cancel is not None:
            self.pipes.unwatch(self._cancel)
