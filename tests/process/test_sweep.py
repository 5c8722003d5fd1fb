from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import pytest

from touchline.process.sweep import carriers, kill_tree, sweep
from touchline.process.tree import Process, ancestors, descendants, look_up, process_table, send

SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]


@pytest.fixture
def sleeper() -> Iterator[object]:
    """Starts sleeping programs with an environment of the test's choice and ends them with it."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(argv: list[str] = SLEEP, **env: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            argv, env={**os.environ, **env}, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate(timeout=10)


def test_a_sweep_ends_what_carries_the_runs_mark_and_nothing_else(sleeper) -> None:
    mine, other = f"run-{uuid.uuid4().hex}", f"run-{uuid.uuid4().hex}"
    left = sleeper(TOUCHLINE_RUN=mine)
    neighbours = [
        sleeper(TOUCHLINE_RUN=other),
        sleeper(TOUCHLINE_RUN=f"{mine}-2"),
        sleeper(NOT_TOUCHLINE_RUN=mine),
        sleeper(),
    ]
    assert sweep(mine) == [left.pid]
    assert left.wait(10) == -9
    assert [process.poll() for process in neighbours] == [None] * 4
    assert sweep(mine) == []


def test_a_sweep_without_a_run_touches_nothing(sleeper) -> None:
    process = sleeper(TOUCHLINE_RUN="")
    assert sweep("") == []
    assert process.poll() is None


def test_a_sweep_from_inside_the_run_spares_itself_and_its_ancestors(sleeper) -> None:
    run = f"run-{uuid.uuid4().hex}"
    inner = f"from touchline.process.sweep import sweep; print(sweep({run!r}))"
    outer = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', {inner!r}]).returncode + 5)"
    beside = sleeper(TOUCHLINE_RUN=run)
    process = sleeper([sys.executable, "-c", outer], TOUCHLINE_RUN=run)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 5
    assert out.decode().strip() == str([beside.pid])


def test_a_sweep_ends_a_family_that_replaces_its_dead(sleeper, tmp_path: Path) -> None:
    run = f"run-{uuid.uuid4().hex}"
    guard = (
        "import os, time\n"
        "end = time.monotonic() + 20\n"
        "while time.monotonic() < end:\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        time.sleep(60)\n"
        "    os.wait()\n"
    )
    process = sleeper([sys.executable, "-I", "-S", "-c", guard], TOUCHLINE_RUN=run)
    while len(carriers("TOUCHLINE_RUN", run)) < 2:
        assert process.poll() is None
    assert process.pid in sweep(run)
    assert carriers("TOUCHLINE_RUN", run) == []


def test_a_process_is_signalled_only_under_its_own_start_time(sleeper) -> None:
    process = sleeper()
    seen = look_up(process.pid)
    assert seen is not None
    impostor = copy(seen)
    impostor.start = b"1"
    assert send(impostor, 9) is False
    assert process.poll() is None
    assert send(seen, 9) is True
    assert process.wait(10) == -9
    assert send(seen, 9) is False


def test_a_tree_whose_root_number_was_given_away_is_only_gathered_by_its_mark(sleeper) -> None:
    mark = uuid.uuid4().hex
    stranger, runaway = sleeper(), sleeper(TOUCHLINE_PROCESS=mark)
    seen = look_up(stranger.pid)
    assert seen is not None
    seen.start = b"1"
    assert kill_tree(seen, mark=mark) == [runaway.pid]
    assert stranger.poll() is None


def test_the_process_table_knows_us_our_ancestors_and_our_children(sleeper) -> None:
    child = sleeper()
    table = process_table()
    assert {os.getpid(), os.getppid()} <= ancestors(os.getpid(), table)
    assert child.pid in {process.pid for process in descendants(os.getpid(), table)}
    assert child.pid not in ancestors(os.getpid(), table)


def test_a_program_name_with_brackets_and_spaces_does_not_confuse_the_table(tmp_path: Path, sleeper) -> None:
    name = tmp_path / "a) R 1 (b"
    name.symlink_to("/bin/sleep")
    process = sleeper([str(name), "60"])
    seen = look_up(process.pid)
    assert seen is not None
    assert (seen.parent, seen.group, seen.session) == (os.getpid(), process.pid, process.pid)


def test_descendants_come_parents_first_and_a_loop_in_the_table_ends() -> None:
    rows = [(2, 1), (3, 2), (4, 3), (5, 9), (9, 5)]
    table = {pid: Process(pid, parent, pid, pid, b"0", "S", 0.0) for pid, parent in rows}
    assert [process.pid for process in descendants(1, table)] == [2, 3, 4]
    assert {process.pid for process in descendants(5, table)} == {9}
    assert ancestors(5, table) == {5, 9}
