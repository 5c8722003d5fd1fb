"""A recorded stream as a program, to drive an adapter without its CLI (spec page 2, "recorded streams").

cli = ReplayCli(tmp_path, stream, hang_s=60)
executor = MyExecutor(ExecutorSettings(command=cli.command))

`play` runs one turn of the driver on it. `assert_read_again` holds a driver that offers it to the promise of spec
page 7: what it reads of a recorded stream are the events that it gave then.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from touchline.execution import ExecutedTurn, execute_turn
from touchline.execution.replay import replay_processes
from touchline.executor import Event, Executor, Limits, PermissionAnswer, ReplayableExecutor, TurnRequest
from touchline.testing import replay_cli
from touchline.turn.raw import read_processes
from touchline.turn.record import TurnRecord, read_events
from touchline.turn.settle import Role


class ReplayCli:
    """A command that waits for its first line of input, prints `stream`, then exits with `status`.

    `hang_s`: stays that long after the stream. `piece`: prints that many bytes at a time. `after_interrupt`: prints
    nothing until it is interrupted. `wait_for_lines`: exits only when so many lines of input came. A negative status is
    a signal that it sends itself.
    """

    def __init__(
        self,
        folder: Path,
        stream: bytes,
        *,
        status: int = 0,
        stderr: str = "",
        hang_s: float = 0.0,
        piece: int = 0,
        after_interrupt: bool = False,
        wait_for_lines: int = 0,
    ) -> None:
        stem = folder / f"replay-{uuid.uuid4().hex}"
        recorded, plan, self._log = stem.with_suffix(".bin"), stem.with_suffix(".json"), stem.with_suffix(".stdin")
        recorded.write_bytes(stream)
        plan.write_text(
            json.dumps(
                {
                    "stream": str(recorded),
                    "stdin_log": str(self._log),
                    "status": status,
                    "stderr": stderr,
                    "hang_s": 60.0 if after_interrupt else hang_s,
                    "piece": piece,
                    "after_interrupt": after_interrupt,
                    "wait_for_lines": wait_for_lines,
                }
            ),
            encoding="utf-8",
        )
        self.command = (sys.executable, "-I", "-S", replay_cli.__file__, str(plan))

    def stdin(self) -> list[str]:
        """The lines that the driver wrote."""
        if not self._log.exists():
            return []
        return self._log.read_text(encoding="utf-8").splitlines()


SESSION = "11111111-2222-4333-8444-555555555555"
YES = PermissionAnswer(True)
LIMITS = Limits(wall_s=20, idle_s=10, grace_s=1)


@dataclass(frozen=True, slots=True)
class Played:
    """One turn and the events that it gave."""

    turn: ExecutedTurn
    events: tuple[Event, ...]


Play = Callable[..., Played]
"""The fixture of an adapter's tests: a `ReplayCli` and the options of `play`, played by that adapter's driver."""


def play(
    executor: Executor,
    folder: Path,
    *,
    session_id: str = SESSION,
    resume: bool = False,
    permit: PermissionAnswer = YES,
    limits: Limits = LIMITS,
    role: Role = "player",
) -> Played:
    """One turn of `executor` in `folder`, every permission answered with `permit`; then read again from its record."""
    events: list[Event] = []
    request = TurnRequest("task", role, "Do it.", folder, session_id, folder / "private", resume=resume, limits=limits)
    kept = folder / f"record-{uuid.uuid4().hex}"
    with TurnRecord(kept) as record:
        turn = execute_turn(
            executor, request, record=record, permit=lambda _: permit, observe=events.append, run_id="test"
        )
    assert_read_again(executor, kept)
    return Played(turn, tuple(events))


def assert_read_again(executor: Executor, record: Path) -> None:
    """Every program in the folder of a record gives its events again; nothing is asked of other drivers."""
    if isinstance(executor, ReplayableExecutor):
        for one in replay_processes(list(read_processes(record)), list(read_events(record)), lambda name: executor):
            assert one.difference is None, one.difference
            assert not one.not_compared, one.not_compared
