"""One writer for each run (spec page 3, "Writing")."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from touchline.errors import LedgerError, LockHeldError
from touchline.ledger.atomic import LEFTOVER_SUFFIX
from touchline.ledger.lock import RunLock, holder_of, process_start

HOLD = (
    "import pathlib, sys\n"
    "from touchline.ledger.lock import RunLock\n"
    "with RunLock(pathlib.Path(sys.argv[1])):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.read()\n"
)
TRY = (
    "import pathlib, sys\n"
    "from touchline.errors import LockHeldError\n"
    "from touchline.ledger.lock import RunLock\n"
    "try:\n"
    "    with RunLock(pathlib.Path(sys.argv[1]), join=sys.argv[2] == 'join'):\n"
    "        print('entered')\n"
    "except LockHeldError as error:\n"
    "    print(error)\n"
)
Hold = Callable[[Path], "subprocess.Popen[str]"]


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Start a process that holds the lock of a folder; it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=10)


def attempt(folder: Path, how: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", TRY, str(folder), how], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout


def test_a_second_run_stops_at_once_and_names_the_holder(tmp_path: Path, hold: Hold) -> None:
    process = hold(tmp_path)
    lock = RunLock(tmp_path)
    with pytest.raises(LockHeldError) as caught:
        lock.acquire()
    assert f"process {process.pid} on {platform.node()}" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert not lock.held
    assert not lock.try_acquire()


def test_the_lock_is_free_after_a_clean_end(tmp_path: Path, hold: Hold) -> None:
    process = hold(tmp_path)
    process.communicate(timeout=10)
    assert holder_of(tmp_path) is None
    with RunLock(tmp_path) as lock:
        assert lock.held
        assert holder_of(tmp_path) is not None
    assert not lock.held


def test_the_lock_of_a_killed_process_is_taken_over_and_its_leftovers_swept(tmp_path: Path, hold: Hold) -> None:
    process = hold(tmp_path)
    leftover = tmp_path / f".ledger.json.x{LEFTOVER_SUFFIX}"
    leftover.write_text("half")
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=10)
    dead = holder_of(tmp_path)
    assert dead is not None
    assert dead.pid == process.pid
    with RunLock(tmp_path):
        holder = holder_of(tmp_path)
        assert holder is not None
        assert holder.pid == os.getpid()
        assert holder.start == process_start(os.getpid()) != ""
    assert not leftover.exists()


def test_a_refused_run_sweeps_nothing(tmp_path: Path, hold: Hold) -> None:
    hold(tmp_path)
    being_written = tmp_path / f".ledger.json.x{LEFTOVER_SUFFIX}"
    being_written.write_text("half")
    assert not RunLock(tmp_path).try_acquire()
    assert being_written.exists()


def test_a_helper_of_the_same_run_joins_and_only_if_it_asks(tmp_path: Path) -> None:
    with RunLock(tmp_path) as lock:
        assert attempt(tmp_path, "join") == "entered\n"
        assert "is in use by process" in attempt(tmp_path, "alone")
        inner = RunLock(tmp_path, join=True)
        inner.acquire()
        assert inner.held
        inner.release()
        assert not inner.held
        assert lock.held
        assert "is in use by process" in attempt(tmp_path, "alone")


def test_a_stranger_cannot_join(tmp_path: Path, hold: Hold) -> None:
    hold(tmp_path)
    with pytest.raises(LockHeldError):
        RunLock(tmp_path, join=True).acquire()


def test_joining_a_free_lock_takes_it(tmp_path: Path) -> None:
    with RunLock(tmp_path, join=True):
        assert not RunLock(tmp_path).try_acquire()


def test_children_do_not_inherit_the_lock(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    lock.acquire()
    child = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        lock.release()
        with RunLock(tmp_path) as again:
            assert again.held
    finally:
        child.kill()
        child.wait(timeout=10)


def name_holder(folder: Path, **changes: object) -> None:
    named = {"pid": os.getppid(), "start": process_start(os.getppid()), "host": platform.node(), "command": "x"}
    (folder / "run.lock").write_text(json.dumps(named | changes))


def test_a_living_holder_counts_even_where_the_file_system_locks_nothing(tmp_path: Path) -> None:
    name_holder(tmp_path)
    with pytest.raises(LockHeldError):
        RunLock(tmp_path).acquire()


@pytest.mark.parametrize("changes", [{"start": "other:1"}, {"pid": 2**22 + 1}, {"host": "elsewhere.invalid"}])
def test_a_name_left_by_a_dead_process_does_not_hold_though_its_number_is_used_again(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    name_holder(tmp_path, **changes)
    with RunLock(tmp_path) as lock:
        assert lock.held


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "1"}', b'{"pid": 1, "a": 2}', b"\xff", b"9" * 9999])
def test_a_torn_or_strange_name_neither_holds_nor_breaks(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.lock").write_bytes(content)
    assert holder_of(tmp_path) is None
    with RunLock(tmp_path) as lock:
        assert lock.held


def test_a_holder_without_a_written_name_is_still_a_holder(tmp_path: Path, hold: Hold) -> None:
    hold(tmp_path)
    os.truncate(tmp_path / "run.lock", 0)
    with pytest.raises(LockHeldError, match="has not written its name yet"):
        RunLock(tmp_path).acquire()


def test_a_lock_file_that_was_removed_meanwhile_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with RunLock(folder):
        (folder / "run.lock").unlink()
        folder.rename(tmp_path / "pruned")
    with RunLock(folder) as lock:
        assert lock.held
        assert (folder / "run.lock").stat().st_mode & 0o777 == 0o600


def test_a_lock_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "run.lock").mkdir()
    with pytest.raises(LedgerError, match="cannot lock"):
        RunLock(tmp_path).acquire()
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot lock"):
        RunLock(tmp_path / "file").acquire()


def test_the_name_in_the_lock_shows_no_arguments(tmp_path: Path) -> None:
    code = HOLD.replace("sys.argv[1]", "sys.argv[-1]")
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--token=secret", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        holder = holder_of(tmp_path)
        assert holder is not None
        assert "secret" not in holder.command
        assert str(tmp_path) not in holder.command
    finally:
        process.kill()
        process.communicate(timeout=10)


def test_the_start_of_a_process_that_is_gone_is_empty() -> None:
    child = subprocess.Popen(["true"])
    child.wait(timeout=10)
    assert process_start(child.pid) == ""


CONTEND = """
import os, sys, time
from pathlib import Path
from touchline.errors import LedgerError
from touchline.ledger.lock import RunLock

folder, alone = Path(sys.argv[1]), Path(sys.argv[2])
won = 0
while won < 100:
    lock = RunLock(folder)
    try:
        lock.acquire()
    except LedgerError:
        time.sleep(0.0003)
        continue
    os.close(os.open(alone, os.O_CREAT | os.O_EXCL))  # fails if somebody else is inside
    alone.unlink()
    if won % 2:  # the last act of a holder, as in pruning: from here on a new file may be locked
        (folder / "run.lock").unlink()
    lock.release()
    won += 1
"""


def test_there_is_never_a_second_holder_though_lock_files_are_removed_all_the_time(tmp_path: Path) -> None:
    contenders = [
        subprocess.Popen(
            [sys.executable, "-c", CONTEND, str(tmp_path / "run"), str(tmp_path / "alone")],
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        for contender in contenders:
            _, errors = contender.communicate(timeout=60)
            assert contender.returncode == 0, errors
    finally:
        for contender in contenders:
            contender.kill()
            contender.communicate(timeout=10)
