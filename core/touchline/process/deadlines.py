"""When a child has had its time: wall clock, silence, grace, held pipes (spec page 2). Pure: the time is given.

Silence is judged twice: after half the idle limit the work of the tree is measured, after the whole again. A
tree that computed all the while (a long build or test run says nothing) is not stalled, and is looked at again
half a limit later; only the wall clock ends it. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from touchline.process.lines import MAX_LINE_BYTES

Ending = Literal["running", "exited", "wall", "idle", "grace", "cancelled", "lost"]
"""How a child ended; `running` as long as it has not.

`exited`: by itself. `wall`, `idle`, `grace`: stopped by that limit. `cancelled`: stopped by us or the user.
`lost`: its supervisor vanished, so that how it ended is not known.
"""

HELD_PIPE_S = 2.0
"""How long output is awaited from whoever still holds a pipe of a child that has exited."""

BUSY_SHARE = 0.05
"""Share of one processor from which a silent tree counts as working.

An idle event loop stays far below; a build on an overloaded machine stays above."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Bounds of one child. `stop_s` is the time from the interrupt to the kill, shared with the terminate.

    `grace_s` is how long a child may live on after it closed its output.
    """

    wall_s: float = 3600.0
    idle_s: float = 900.0
    stop_s: float = 4.0
    max_line_bytes: int = MAX_LINE_BYTES
    grace_s: float = 10.0


class Deadlines:
    """The limits of one child against the clock."""

    def __init__(self, limits: ProcessLimits, now: float) -> None:
        self._idle_s = limits.idle_s
        self.wall_end = now + limits.wall_s
        self._active_at = now
        self._grace_end: float | None = None
        self._held_end: float | None = None
        self._measured: tuple[float, float] | None = None
        """When the work of a silent tree was last measured, and its processor time then."""
        self._look_again: float | None = None

    def active(self, now: float) -> None:
        """A byte came; an announced wait that is not over yet stays."""
        self._active_at = max(self._active_at, now)
        self._measured = self._look_again = None

    def reader_was_away(self, seconds: float) -> None:
        """The reader did not read for so long: only the wall clock went on."""
        self._active_at += seconds
        if self._measured is not None:
            self._measured = (self._measured[0] + seconds, self._measured[1])
        if self._look_again is not None:
            self._look_again += seconds
        if self._grace_end is not None:
            self._grace_end += seconds
        if self._held_end is not None:
            self._held_end += seconds

    def announced_wait(self, until: float) -> None:
        """Silence is expected until then and counts only afterwards."""
        self.active(until)

    def give_grace(self, end: float) -> None:
        """It has to exit by itself until then; the earliest such end holds."""
        self._grace_end = end if self._grace_end is None else min(end, self._grace_end)

    @property
    def in_grace(self) -> bool:
        """Whether an end was already set by which it has to exit."""
        return self._grace_end is not None

    def exited(self, now: float) -> None:
        """It exited; only those who hold its pipes are awaited now."""
        if self._held_end is None:
            self._held_end = now + HELD_PIPE_S

    def next(self) -> float:
        """When to look again at the latest."""
        if self._held_end is not None:
            return self._held_end
        if self._look_again is not None:
            silence = self._look_again
        elif self._measured is not None:
            silence = self._active_at + self._idle_s
        else:
            silence = self._active_at + self._idle_s / 2
        ends = (self.wall_end, silence) if self._grace_end is None else (self.wall_end, silence, self._grace_end)
        return min(ends)

    def passed(self, now: float, cpu_s: Callable[[], float]) -> Ending | None:
        """The limit that is over, None when there is time left. `cpu_s` measures the tree's processor time."""
        if self._held_end is not None:
            return "exited" if now >= self._held_end else None
        if now >= self.wall_end:
            return "wall"
        if self._grace_end is not None and now >= self._grace_end:
            return "grace"
        return "idle" if self._stalled(now, cpu_s) else None

    def _stalled(self, now: float, cpu_s: Callable[[], float]) -> bool:
        if self._measured is None:
            if now >= self._active_at + self._idle_s / 2:
                self._measured = (now, cpu_s())
            return False
        end = self._look_again if self._look_again is not None else self._active_at + self._idle_s
        if now < end:
            return False
        before, used_before = self._measured
        used = cpu_s()
        if used - used_before < BUSY_SHARE * (now - before):
            return True
        self._measured = (now, used)
        self._look_again = now + self._idle_s / 2
        return False
