"""What a driver is given for one turn: a way to start its program and a way to ask permission (spec page 2).

The host knows every process that the driver started, so that a driver which forgets one leaves nothing behind,
and it is the only place that emits `PermissionAsked` and `PermissionAnswered`, so that none is missed or doubled.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from touchline.errors import ProcessError, TouchlineError
from touchline.executor import (
    Event,
    PermissionAnswer,
    PermissionAnswered,
    PermissionAsked,
    TurnRequest,
)
from touchline.process import Child, ProcessLimits, start
from touchline.process.cancel import Cancellation
from touchline.process.environment import clean_environment
from touchline.turn.raw import RawStream
from touchline.turn.record import TurnRecord
from touchline.turn.text import tail

Permit = Callable[[PermissionAsked], PermissionAnswer]
STDERR_KEPT = 8000
"""Code points of a program's standard error that are recorded with its end."""
NOT_STARTED = "not-started"
"""The recorded ending of a program that could not be started."""
SHORTEST_WALL_S = 1.0
"""A second process of a turn whose time is nearly over still gets this much, then the wall limit ends it."""


class TurnHost:
    """`touchline.executor.ExecutorHost` for one turn."""

    def __init__(
        self,
        request: TurnRequest,
        *,
        run_id: str,
        permit: Permit,
        emit: Callable[[Event], None],
        record: TurnRecord | None,
        executor: str,
        cancel: Cancellation | None,
    ) -> None:
        self._request = request
        self._run_id = run_id
        self._permit = permit
        self._emit = emit
        self._record = record
        self._executor = executor
        self._cancel = cancel
        self._children: list[Child] = []
        self._streams: list[tuple[Child, RawStream]] = []
        self.started_at = time.monotonic()
        self.denied: list[PermissionAsked] = []

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled."""
        return self._cancel is not None and self._cancel.is_set()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the turn began."""
        return time.monotonic() - self.started_at

    def start(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = b"",
        env: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
    ) -> Child:
        """Start a program of this turn; the wall limit is what is left of the turn's own."""
        limits = self._request.limits
        stream = self._record.raw(self._purpose()) if self._record is not None else None
        try:
            child = start(
                list(argv),
                cwd=self._request.cwd,
                env=clean_environment(os.environ, run_id=self._run_id, remove=tuple(unset), add=dict(env or {})),
                stdin=stdin,
                limits=ProcessLimits(
                    wall_s=max(SHORTEST_WALL_S, limits.wall_s - self.elapsed_s),
                    idle_s=limits.idle_s,
                    grace_s=limits.grace_s,
                ),
                run_id=self._run_id,
                raw=stream.write if stream is not None else None,
                cancel=self._cancel,
            )
        except ProcessError:
            if stream is not None:
                stream.end({"ending": NOT_STARTED})
            raise
        self._children.append(child)
        if stream is not None:
            self._streams.append((child, stream))
        return child

    def permit(self, asked: PermissionAsked) -> PermissionAnswer:
        """Ask the run's policy; what cannot be decided is denied. (A child is not idle while its reader waits.)"""
        self._emit(asked)
        try:
            answer = self._permit(asked)
        except TouchlineError as error:
            answer = PermissionAnswer(False, f"the permission could not be decided: {error.what}")
        if not answer.allowed:
            self.denied.append(asked)
        self._emit(PermissionAnswered(asked.id, answer.allowed, answer.reason))
        return answer

    def extend_idle(self, seconds: float) -> None:
        """Let the running programs be silent for this much longer."""
        for child in self._children:
            child.extend_idle(seconds)

    def stop_all(self) -> None:
        """Stop whatever the driver left running, with everything below it."""
        for child in self._children:
            child.stop()

    def record_ends(self) -> None:
        """Record how each program ended; when all are stopped and every event of the turn is recorded."""
        for child, stream in self._streams:
            stream.end(
                {
                    "ending": child.ending,
                    "returncode": child.returncode,
                    "stderrTail": tail(child.stderr_tail, STDERR_KEPT),
                    "lateAfter": child.late_after,
                }
            )

    def _purpose(self) -> dict[str, object]:
        """What the record says that a program is started for: enough to read its stream again, nothing secret."""
        request = self._request
        return {
            "executor": self._executor,
            "turn": request.turn,
            "taskId": request.task_id,
            "role": request.role,
            "purpose": request.purpose,
            "sessionId": request.session_id,
            "resume": request.resume,
        }
