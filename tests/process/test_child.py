from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from touchline.process import Child, Line, ProcessLimits, start
from touchline.process.cancel import Cancellation, interrupts_raised

QUICK = ProcessLimits(wall_s=30, idle_s=20, stop_s=0.6, grace_s=5)


def read(child: Child) -> list[Line]:
    with child:
        return list(child.lines())


def test_lines_arrive_while_the_program_runs(program, tmp_path: Path) -> None:
    argv = program("print('first', flush=True); time.sleep(60)")
    with start(argv, cwd=tmp_path, limits=QUICK) as child:
        assert next(child.lines()) == Line("first", 5)
        assert child.ending == "running"
        assert child.returncode is None
        child.stop()
    assert child.ending == "cancelled"
    assert child.returncode == -2


def test_a_dialog_over_standard_input_and_output(program, tmp_path: Path) -> None:
    argv = program("""
        for line in sys.stdin:
            print("heard " + line, end="", flush=True)
        print("end")
    """)
    with start(argv, cwd=tmp_path, stdin=None, limits=QUICK) as child:
        lines = child.lines()
        for word in ("one", "two"):
            child.write(f"{word}\n".encode())
            assert next(lines).text == f"heard {word}"
        child.close_stdin()
        assert [line.text for line in lines] == ["end"]
    assert (child.ending, child.returncode) == ("exited", 0)


def test_a_program_that_reads_its_input_to_the_end_gets_the_end(program, tmp_path: Path) -> None:
    child = start(program("print(len(sys.stdin.read()))"), cwd=tmp_path, stdin=b"z" * 200_000, limits=QUICK)
    assert [line.text for line in read(child)] == ["200000"]


def test_a_program_that_waits_for_the_end_of_an_open_input_is_bounded(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=30, idle_s=0.6, stop_s=0.6)
    child = start(program("sys.stdin.read()"), cwd=tmp_path, stdin=None, limits=limits)
    assert read(child) == []
    assert child.ending == "idle"


def test_writing_to_a_program_that_does_not_read_or_has_gone_never_blocks_or_raises(program, tmp_path: Path) -> None:
    argv = program("print('here', flush=True); time.sleep(0.2)")
    with start(argv, cwd=tmp_path, stdin=None, limits=QUICK) as child:
        child.write(b"x" * 5_000_000)
        assert [line.text for line in child.lines()] == ["here"]
        child.write(b"too late")
        child.close_stdin()
    assert (child.ending, child.returncode) == ("exited", 0)


def test_exit_0_with_nothing_is_just_that(program, tmp_path: Path) -> None:
    child = start(program("pass"), cwd=tmp_path, limits=QUICK)
    assert read(child) == []
    assert (child.ending, child.returncode, child.stderr_tail) == ("exited", 0, "")


def test_a_hang_meets_the_idle_limit(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=30, idle_s=0.8, stop_s=0.6)
    began = time.monotonic()
    child = start(program("print('on it', flush=True); time.sleep(60)"), cwd=tmp_path, limits=limits)
    assert [line.text for line in read(child)] == ["on it"]
    assert child.ending == "idle"
    assert 0.8 < time.monotonic() - began < 4


def test_a_hang_after_the_result_ends_after_the_grace_and_keeps_the_result(program, tmp_path: Path) -> None:
    argv = program('print(\'{"type": "result"}\', flush=True); time.sleep(60)')
    began = time.monotonic()
    with start(argv, cwd=tmp_path, stdin=None, limits=QUICK) as child:
        for line in child.lines():
            assert json.loads(line.text) == {"type": "result"}
            child.finish(0.5)
    assert (child.ending, child.returncode) == ("grace", -2)
    assert time.monotonic() - began < 4


def test_a_program_that_ends_within_the_grace_has_exited(program, tmp_path: Path) -> None:
    argv = program("print('result', flush=True); sys.stdin.read(); sys.exit(4)")
    with start(argv, cwd=tmp_path, stdin=None, limits=QUICK) as child:
        assert next(child.lines()).text == "result"
        child.finish(10)
    assert (child.ending, child.returncode) == ("exited", 4)


def test_a_program_that_closed_its_output_and_lives_on_ends_after_the_grace(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=30, idle_s=20, stop_s=0.6, grace_s=0.5)
    child = start(program("print('bye', flush=True); os.close(1); time.sleep(60)"), cwd=tmp_path, limits=limits)
    assert [line.text for line in read(child)] == ["bye"]
    assert child.ending == "grace"


def test_a_busy_talker_meets_the_wall_clock(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=0.8, idle_s=20, stop_s=0.6)
    argv = program("while True: print('still here', flush=True); time.sleep(0.05)")
    child = start(argv, cwd=tmp_path, limits=limits)
    assert {line.text for line in read(child)} == {"still here"}
    assert child.ending == "wall"


def test_output_after_the_deadline_is_late(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=0.8, idle_s=20, stop_s=1.0)
    raw: list[bytes] = []
    argv = program("""
        def on_interrupt(*_):
            print("result", flush=True)
            sys.exit(0)
        signal.signal(signal.SIGINT, on_interrupt)
        print("working", flush=True)
        time.sleep(60)
    """)
    child = start(argv, cwd=tmp_path, limits=limits, raw=raw.append)
    assert read(child) == [Line("working", 7), Line("result", 6, late=True)]
    assert b"".join(raw) == b"working\nresult\n"
    assert (child.ending, child.returncode) == ("wall", 0)


def test_what_came_while_the_reader_was_away_is_late_only_if_the_program_outlived_its_time(
    program, tmp_path: Path
) -> None:
    limits = ProcessLimits(wall_s=1.0, idle_s=20, stop_s=0.6)
    source = "print('one', flush=True); time.sleep(0.2); print('two', flush=True); time.sleep(float(sys.argv[1]))"
    for stays_s, late, ending in (("0", False, "exited"), ("60", True, "wall")):
        with start(program(source, stays_s), cwd=tmp_path, limits=limits) as child:
            lines = child.lines()
            assert next(lines).text == "one"
            time.sleep(1.2)
            assert list(lines) == [Line("two", 3, late=late)]
        assert child.ending == ending


def test_the_wall_clock_is_kept_even_when_nobody_reads(program, tmp_path: Path, is_running, eventually) -> None:
    limits = ProcessLimits(wall_s=0.2, idle_s=20, stop_s=0.4)
    with start(program("time.sleep(60)"), cwd=tmp_path, limits=limits) as child:
        assert eventually(lambda: not is_running(child.pid), within_s=5)
        assert list(child.lines()) == []
    assert child.ending == "wall"


def test_errors_count_as_activity_and_their_tail_is_kept(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=30, idle_s=0.8, stop_s=0.6)
    argv = program("""
        os.write(2, b"x" * 300_000)
        for number in range(4):
            time.sleep(0.4)
            os.write(2, b"trouble %d \\xff\\n" % number)
    """)
    child = start(argv, cwd=tmp_path, limits=limits)
    assert read(child) == []
    assert child.ending == "exited"
    assert child.stderr_tail.endswith("trouble 2 �\ntrouble 3 �\n")
    assert len(child.stderr_tail) <= 65536


def test_an_announced_retry_extends_the_idle_limit(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=30, idle_s=0.9, stop_s=0.6)
    argv = program("print('retry in 1.2', flush=True); time.sleep(1.2); print('back', flush=True); time.sleep(60)")
    with start(argv, cwd=tmp_path, limits=limits) as child:
        seen = []
        for line in child.lines():
            seen.append(line.text)
            if line.text.startswith("retry"):
                child.extend_idle(1.2)
    assert seen == ["retry in 1.2", "back"]
    assert child.ending == "idle"


def test_time_that_the_reader_takes_is_not_the_programs_silence(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=30, idle_s=0.6, stop_s=0.6)
    argv = program("print('may I?', flush=True); word = input(); time.sleep(0.3); print(word, flush=True)")
    with start(argv, cwd=tmp_path, stdin=None, limits=limits) as child:
        lines = child.lines()
        assert next(lines).text == "may I?"
        time.sleep(1.0)
        child.write(b"yes\n")
        assert [line.text for line in lines] == ["yes"]
    assert child.ending == "exited"


def test_a_silent_tree_that_computes_is_not_stalled(program, tmp_path: Path) -> None:
    limits = ProcessLimits(wall_s=30, idle_s=1.0, stop_s=0.6)
    argv = program("""
        import subprocess
        work = "import time; end = time.monotonic() + 2.2\\nwhile time.monotonic() < end: sum(range(1000))"
        subprocess.run([sys.executable, "-I", "-S", "-c", work], start_new_session=True)
        print("built")
    """)
    child = start(argv, cwd=tmp_path, limits=limits)
    assert [line.text for line in read(child)] == ["built"]
    assert child.ending == "exited"


@pytest.mark.parametrize("size", [5_000_000, 20_000_000])
def test_long_lines_are_read_or_reported_and_the_next_line_is_whole(program, tmp_path: Path, size: int) -> None:
    argv = program(
        """
        os.write(1, b'before\\n')
        left = int(sys.argv[1])
        while left: left -= os.write(1, b'x' * min(left, 1 << 16))
        os.write(1, b'\\nafter\\n')
    """,
        str(size),
    )
    before, long, after = read(start(argv, cwd=tmp_path, limits=QUICK))
    assert (before.text, after.text) == ("before", "after")
    assert long.size == size
    assert long.oversized == (size > 16 * 1024 * 1024)
    assert set(long.text) == {"x"}
    assert len(long.text) == (size if not long.oversized else 65536)


def test_invalid_and_split_utf8_is_replaced_and_the_raw_bytes_are_kept(program, tmp_path: Path) -> None:
    raw: list[bytes] = []
    argv = program(r"""
        for part in (b"gr\xc3", b"\xbc\xc3\x9fe \xf0\x9f", b"\x98\x80\n", b"bad \xff\xfe end\n", b"cut \xf0\x9f\x98"):
            os.write(1, part)
            time.sleep(0.05)
    """)
    texts = [line.text for line in read(start(argv, cwd=tmp_path, limits=QUICK, raw=raw.append))]
    assert texts == ["grüße 😀", "bad �� end", "cut �"]
    assert b"".join(raw) == "grüße 😀\n".encode() + b"bad \xff\xfe end\ncut \xf0\x9f\x98"


def test_a_grandchild_in_its_own_session_ends_with_the_tree(program, tmp_path: Path, pid_in, is_running) -> None:
    argv = program(
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
                os.environ.clear()
                os.closerange(0, 3)
                open(sys.argv[1], "w").write(f"{os.getpid()}\\n")
                os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"], {})
            os._exit(0)
        while not os.path.exists(sys.argv[1]): time.sleep(0.01)
        time.sleep(0.1)
        print("result", flush=True)
        if sys.argv[2] == "hang": time.sleep(60)
        """
    )
    for manner in ("hang", "leave"):
        place = tmp_path / f"grandchild-{manner}"
        with start([*argv, str(place), manner], cwd=tmp_path, limits=QUICK) as child:
            assert next(child.lines()).text == "result"
            child.finish(0.3)
        assert child.ending == ("grace" if manner == "hang" else "exited")
        assert not is_running(pid_in(place))


def test_a_fork_storm_ends_within_its_bound(program, tmp_path: Path) -> None:
    argv = program("""
        for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)
        print("storm", flush=True)
        end = time.monotonic() + 15
        os.fork()
        os.fork()
        while time.monotonic() < end:  # four chains: each link starts the next one and goes
            if os.fork(): os._exit(0)
            os.setsid()
    """)
    with start(argv, cwd=tmp_path, limits=QUICK) as child:
        assert next(child.lines()).text == "storm"
        time.sleep(0.3)
        began = time.monotonic()
        child.stop()
        assert time.monotonic() - began < 6
    assert child.ending in ("cancelled", "exited")


def test_a_cancellation_ends_the_turn_and_a_set_one_ends_it_at_once(program, tmp_path: Path) -> None:
    cancel = Cancellation()
    timer = threading.Timer(0.4, cancel.set)
    timer.start()
    child = start(program("print('on it', flush=True); time.sleep(60)"), cwd=tmp_path, limits=QUICK, cancel=cancel)
    assert [line.text for line in read(child)] == ["on it"]
    timer.join()
    assert child.ending == "cancelled"
    again = start(program("time.sleep(60)"), cwd=tmp_path, limits=QUICK, cancel=cancel)
    assert read(again) == []
    assert again.ending == "cancelled"


def test_leaving_the_block_stops_the_tree(program, tmp_path: Path, is_running) -> None:
    with start(program("time.sleep(60)"), cwd=tmp_path, limits=QUICK) as child:
        assert is_running(child.pid)
    assert not is_running(child.pid)
    with (
        pytest.raises(KeyError),
        start(program("time.sleep(60)"), cwd=tmp_path, limits=QUICK) as child,
    ):
        raise KeyError("a fault of the reader")
    assert not is_running(child.pid)


def test_a_second_interrupt_kills_at_once(program, tmp_path: Path, is_running) -> None:
    argv = program("""
        for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)
        print("ready", flush=True)
        while True: time.sleep(60)
    """)
    limits = ProcessLimits(wall_s=30, idle_s=20, stop_s=20)
    began = time.monotonic()
    child = start(argv, cwd=tmp_path, limits=limits)
    assert next(child.lines()).text == "ready"
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt), interrupts_raised(), child:
        child.stop()
    assert not is_running(child.pid)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)])
def test_a_program_that_ends_or_freezes_its_supervisor_is_still_gathered(
    program, tmp_path: Path, number: signal.Signals, pid_in, is_running
) -> None:
    argv = program(
        """
        if os.fork() == 0:
            os.setsid()
            open(sys.argv[1], "w").write(f"{os.getpid()}\\n")
            time.sleep(60)
        while not os.path.exists(sys.argv[1]): time.sleep(0.01)
        os.kill(os.getppid(), int(sys.argv[2]))
        print("alone", flush=True)
        time.sleep(60)
        """,
        str(tmp_path / "grandchild"),
        str(int(number)),
    )
    limits = ProcessLimits(wall_s=1.0, idle_s=20, stop_s=0.2)
    child = start(argv, cwd=tmp_path, limits=limits)
    texts = [line.text for line in read(child)]
    assert set(texts) <= {"alone"}
    assert child.ending == ("lost" if number == signal.SIGKILL else "wall")
    assert child.returncode is None
    assert not is_running(child.pid)
    assert not is_running(pid_in(tmp_path / "grandchild"))


def test_a_faulty_record_ends_the_program_and_reaches_the_caller(program, tmp_path: Path, is_running) -> None:
    def broken(chunk: bytes) -> None:
        raise OSError(28, "No space left on device")

    with (
        pytest.raises(OSError, match="No space"),
        start(program("print('x', flush=True); time.sleep(60)"), cwd=tmp_path, limits=QUICK, raw=broken) as child,
    ):
        list(child.lines())
    assert not is_running(child.pid)


def test_locale_and_run_reach_the_program_unchanged(tmp_path: Path) -> None:
    base = {"PATH": os.environ["PATH"], "PROCESS_TEST": os.environ["PROCESS_TEST"]}
    for extra in ({}, {"LC_CTYPE": "C"}, {"LC_ALL": "C"}):
        child = start(["env"], cwd=tmp_path, env={**base, **extra}, run_id="run-7", limits=QUICK)
        seen = dict(line.text.split("=", 1) for line in read(child))
        assert len(seen.pop("TOUCHLINE_PROCESS")) == 16
        assert seen == {**base, **extra, "TOUCHLINE_RUN": "run-7"}


def test_two_children_at_once_do_not_hold_each_other(program, tmp_path: Path) -> None:
    first = start(program("print(sys.stdin.read())"), cwd=tmp_path, stdin=None, limits=QUICK)
    second = start(program("time.sleep(60)"), cwd=tmp_path, stdin=None, limits=QUICK)
    with second, first:
        first.write(b"done")
        first.close_stdin()
        assert [line.text for line in first.lines()] == ["done"]
    assert (first.ending, second.ending) == ("exited", "cancelled")
