"""1,000 turns in one probe loop (spec page 7): the time of a turn stays the same, and so does the memory.

The loop drives an executor that answers in our own process, so that engine, permission gate and turn execution are
measured and no program's start hides them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import paired, peak_mb
from bench.rows import Aim, Row
from bench.scale import Scale
from touchline.executor import (
    API_VERSION,
    Capability,
    Event,
    ExecutorHost,
    QuestionAsked,
    Readiness,
    SessionStarted,
    TextDelta,
    TurnEnded,
    TurnRequest,
    UsageReported,
)
from touchline.probe.loop import run_turn_loop
from touchline.turn.settle import TurnSettlement, question_or_silent

PROMPT = "review the tests of the parser and fix what is wrong"
BUDGET = 10**9


class Instant:
    """An executor without a program, which notes when each of its turns began."""

    name = "instant"
    api_version = API_VERSION
    capabilities = frozenset({Capability.RESUME, Capability.CHOSEN_SESSION_ID, Capability.USAGE})

    def __init__(self) -> None:
        self.began: list[float] = []

    def check(self) -> Readiness:
        """Nothing is needed."""
        return Readiness(True)

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        """Answer at once."""
        self.began.append(time.perf_counter())
        yield SessionStarted(request.session_id)
        yield TextDelta("It is done.")
        yield UsageReported(20, 3)
        yield TurnEnded("It is done.")

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        """The shared default."""
        return question_or_silent(session_id, text, question)


def run(scale: Scale) -> list[Row]:
    """The last turns of a long loop against its first ones, and its peak against that of a short loop."""
    many, few = scale.pick((1000, 100), quick=(20, 5))
    loops = [run_loop(many) for _ in range(scale.pick(5, quick=1))]
    pair = paired([(statistics.median(turns[-few:]), statistics.median(turns[:few])) for turns in loops])
    peaks = {turns: _peak_in_child(turns) for turns in (many, few)}
    return [
        Row(
            "probe-time",
            pair.measured_s,
            "s",
            pair.floor_s,
            f"the median of the first {few} turns of a loop",
            pair.ratio,
            (Aim("ratio", 1.2),),
            f"the median of the last {few} of its {many:,} turns; constant means a ratio near 1",
        ),
        Row(
            "probe-memory",
            peaks[many],
            "MB",
            peaks[few],
            f"the peak of a loop of {few}",
            peaks[many] / peaks[few],
            (Aim("ratio", 1.1),),
            f"the peak of a loop of {many:,}, whose results are all kept and returned",
        ),
    ]


def run_loop(turns: int) -> list[float]:
    """Seconds of each turn but the last of one loop; raises if it did not run to its end."""
    executor = Instant()
    results = run_turn_loop(PROMPT, max_turns=turns, max_budget_tokens=BUDGET, executor=executor)
    if len(results) != turns or results[-1].stop_reason != "completed":
        raise RuntimeError(f"the probe loop stopped after {len(results)} of {turns} turns: {results[-1].output}")
    return [later - earlier for earlier, later in zip(executor.began, executor.began[1:], strict=False)]


def _peak_in_child(turns: int) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "bench.probing", str(turns)],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
        timeout=300,
    )
    return float(done.stdout)


if __name__ == "__main__":
    run_loop(int(sys.argv[1]))
    print(peak_mb())
