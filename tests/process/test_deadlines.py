from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchline.process.deadlines import HELD_PIPE_S, Deadlines, ProcessLimits

LIMITS = ProcessLimits(wall_s=100, idle_s=10, grace_s=3)


def asleep() -> float:
    return 0.0


def first_passed(deadlines: Deadlines, now: float, cpu_s=asleep) -> tuple[float, str]:
    """Let time run from one look to the next, as the host does."""
    for _ in range(1000):
        over = deadlines.passed(now, cpu_s)
        if over is not None:
            return now, over
        now = max(now, deadlines.next())
    raise AssertionError("no limit ever passed")


def test_silence_ends_after_the_idle_limit() -> None:
    assert first_passed(Deadlines(LIMITS, 0.0), 0.0) == (10.0, "idle")


def test_a_byte_begins_the_idle_limit_anew() -> None:
    deadlines = Deadlines(LIMITS, 0.0)
    deadlines.passed(6.0, asleep)
    deadlines.active(7.0)
    assert first_passed(deadlines, 7.0) == (17.0, "idle")


def test_an_announced_wait_comes_before_the_idle_limit_even_when_something_is_said_meanwhile() -> None:
    deadlines = Deadlines(LIMITS, 0.0)
    deadlines.announced_wait(30.0)
    deadlines.active(2.0)
    assert first_passed(deadlines, 2.0) == (40.0, "idle")


def test_a_silent_tree_that_computes_is_not_stalled_before_the_wall_clock() -> None:
    clock = 0.0

    def busy() -> float:
        nonlocal clock
        clock += 2.0
        return clock

    assert first_passed(Deadlines(LIMITS, 0.0), 0.0, busy) == (100.0, "wall")


def test_a_tree_that_stops_computing_is_stalled_half_a_limit_later() -> None:
    used = iter([0.0, 5.0, 5.0])
    assert first_passed(Deadlines(LIMITS, 0.0), 0.0, lambda: next(used)) == (15.0, "idle")


def test_time_of_the_reader_is_not_silence_but_counts_for_the_wall_clock() -> None:
    deadlines = Deadlines(LIMITS, 0.0)
    deadlines.passed(5.0, asleep)
    deadlines.reader_was_away(60.0)
    assert first_passed(deadlines, 65.0) == (70.0, "idle")
    deadlines = Deadlines(LIMITS, 0.0)
    deadlines.reader_was_away(100.0)
    assert deadlines.passed(100.0, asleep) == "wall"


def test_the_earliest_grace_holds() -> None:
    deadlines = Deadlines(LIMITS, 0.0)
    deadlines.give_grace(4.0)
    deadlines.give_grace(9.0)
    assert first_passed(deadlines, 0.0) == (4.0, "grace")


def test_after_the_exit_only_the_holders_of_the_pipes_are_awaited() -> None:
    deadlines = Deadlines(LIMITS, 0.0)
    deadlines.give_grace(0.5)
    deadlines.exited(0.0)
    deadlines.exited(1.0)
    assert first_passed(deadlines, 0.0) == (HELD_PIPE_S, "exited")


@given(st.lists(st.floats(min_value=0.01, max_value=9.0), max_size=60))
def test_whoever_speaks_often_enough_only_meets_the_wall_clock(pauses: list[float]) -> None:
    deadlines, now = Deadlines(LIMITS, 0.0), 0.0
    for pause in pauses:
        now += pause
        assert deadlines.passed(now, asleep) == ("wall" if now >= 100.0 else None)
        deadlines.active(now)
