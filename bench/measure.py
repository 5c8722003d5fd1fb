"""Owns how two things are timed against each other: in turn, several times, compared pair by pair.

Other work on the machine slows both halves of a pair alike, so the median of the pairs' ratios holds still where the
times themselves do not.
"""

from __future__ import annotations

import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    """Medians in seconds of what is measured and of its floor, and the median of their ratios."""

    measured_s: float
    floor_s: float
    ratio: float


def interleaved(measured: Callable[[], object], floor: Callable[[], object], *, rounds: int) -> Pair:
    """Run both in turn `rounds` times after one uncounted round each."""
    measured()
    floor()
    return paired([(timed(measured), timed(floor)) for _ in range(rounds)])


def paired(pairs: list[tuple[float, float]]) -> Pair:
    """The medians of pairs of (measured, floor) seconds."""
    return Pair(
        statistics.median(measured for measured, _ in pairs),
        statistics.median(floor for _, floor in pairs),
        statistics.median(measured / floor for measured, floor in pairs),
    )


def timed(action: Callable[[], object]) -> float:
    """Seconds that `action` takes, with garbage of before collected before."""
    gc.collect()
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def peak_mb() -> float:
    """The most memory that this process itself has held, in MB (10^6 bytes)."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss begins with what the parent had when it started us
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
