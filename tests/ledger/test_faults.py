"""A crash, a full disk or a read-only folder leaves the last good ledger (spec page 3, "Writing")."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from touchline.documents.ledger import Ledger
from touchline.errors import LedgerError
from touchline.ledger.atomic import LEFTOVER_SUFFIX, atomic_write
from touchline.ledger.jsonl import append_jsonl, read_jsonl
from touchline.ledger.lock import RunLock
from touchline.ledger.store import LedgerStore

KILLED_AT_EACH_LINE = """
import json, os, signal, sys
from pathlib import Path
from touchline.ledger import atomic
from touchline.ledger.lock import RunLock
from touchline.ledger.store import LedgerStore

store = LedgerStore(Path(sys.argv[1]))
threshold, outcomes = 1, []
for nth in range(1, 200):
    threshold = threshold % 10 + 1
    child = os.fork()
    if child == 0:
        left = nth
        def trace(frame, event, argument):
            global left
            if frame.f_code.co_filename != atomic.__file__:
                return None
            if event == "line":
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace
        with RunLock(store.folder.path):
            ledger = store.read().model_copy(update={"severity_threshold": threshold})
            sys.settrace(trace)
            store.write(ledger)
            sys.settrace(None)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    before = sorted(name for name in os.listdir(sys.argv[1]) if name.endswith(atomic.LEFTOVER_SUFFIX))
    with RunLock(store.folder.path):
        after = [name for name in os.listdir(sys.argv[1]) if name.endswith(atomic.LEFTOVER_SUFFIX)]
        outcomes.append([os.WIFSIGNALED(status), threshold, store.read().severity_threshold, len(before), len(after)])
    if not os.WIFSIGNALED(status):
        break
print(json.dumps(outcomes))
"""

KILLED_AT_RANDOM = """
import json, os, signal, sys, time
from pathlib import Path
from touchline.ledger.lock import RunLock
from touchline.ledger.store import LedgerStore

store = LedgerStore(Path(sys.argv[1]))
seen, last = [], 0
for attempt in range(25):
    ready, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ready)
        with RunLock(store.folder.path):
            ledger = store.read()
            number = int(ledger.plan_file)
            while True:
                number += 1
                ledger = store.write(ledger.model_copy(update={"plan_file": str(number)}))
                os.write(write_end, b".")
    os.close(write_end)
    os.read(ready, 1)
    time.sleep(attempt * 0.0011)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready)
    ledger = store.read()
    assert int(ledger.plan_file) > last and len(ledger.interruptions) == 2000
    last = int(ledger.plan_file)
    seen.append(last)
print(json.dumps(seen))
"""


def run_script(script: str, folder: Path) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert isinstance(outcomes, list)
    return outcomes


def test_a_writer_killed_at_any_line_leaves_the_old_or_the_new_ledger(
    tmp_path: Path, make_ledger: Callable[..., Ledger]
) -> None:
    LedgerStore(tmp_path).create(make_ledger(severity_threshold=1))
    outcomes = run_script(KILLED_AT_EACH_LINE, tmp_path)
    good = 1
    for killed, wanted, found, _, after in outcomes:  # type: ignore[misc]
        assert found in (good, wanted)
        assert killed or found == wanted
        assert after == 0
        good = found
    # The instants were real: some before the rename, some after it, some that left a file behind.
    assert len(outcomes) > 10
    assert any(killed and found != wanted for killed, wanted, found, _, _ in outcomes)  # type: ignore[misc]
    assert any(killed and found == wanted for killed, wanted, found, _, _ in outcomes)  # type: ignore[misc]
    assert any(before for _, _, _, before, _ in outcomes)  # type: ignore[misc]


def test_a_writer_killed_at_random_never_tears_the_ledger_and_never_goes_back(
    tmp_path: Path, make_ledger: Callable[..., Ledger]
) -> None:
    LedgerStore(tmp_path).create(make_ledger(plan_file="0", interruptions=["f" * 40] * 2000))
    assert len(run_script(KILLED_AT_RANDOM, tmp_path)) == 25
    with RunLock(tmp_path):
        assert not list(tmp_path.glob(f".*{LEFTOVER_SUFFIX}"))


def test_two_writers_that_ignore_the_lock_still_never_tear_the_file(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys\n"
        "from touchline.ledger.atomic import atomic_write\n"
        "for _ in range(60):\n"
        "    atomic_write(pathlib.Path(sys.argv[1]), sys.argv[2].encode() * 200_000)\n"
    )
    file = tmp_path / "ledger.json"
    atomic_write(file, b"a" * 200_000)
    writers = [subprocess.Popen([sys.executable, "-c", code, str(file), letter]) for letter in "ab"]
    try:
        while any(writer.poll() is None for writer in writers):
            data = file.read_bytes()
            assert len(data) == 200_000
            assert len(set(data)) == 1
        assert [writer.returncode for writer in writers] == [0, 0]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait(timeout=10)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB of its own, unmounted in any case."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "touchline-test", str(folder)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"NOT TESTED: a full disk. This user may not mount a file system: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], timeout=30, check=True)


def fill(folder: Path) -> Path:
    filler = folder / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(descriptor, b"x" * 4096):
            pass
    except OSError:
        return filler
    finally:
        os.close(descriptor)


def test_a_full_disk_leaves_the_last_good_ledger_and_the_run_goes_on_once_there_is_room(
    small_disk: Path, make_ledger: Callable[..., Ledger]
) -> None:
    run = small_disk / "run"
    store = LedgerStore(run)
    good = store.create(make_ledger())
    append_jsonl(run / "steps.jsonl", {"step": 1})
    filler = fill(small_disk)
    larger = good.model_copy(update={"interruptions": ["f" * 40] * 500})
    with pytest.raises(LedgerError, match="No space left on device") as caught:
        store.write(larger)
    assert str(store.path) in str(caught.value)
    assert "Free some space" in str(caught.value)
    with pytest.raises(LedgerError, match="No space left on device"):
        append_jsonl(run / "steps.jsonl", {"step": "x" * 8192})
    assert store.read() == good
    assert not list(run.glob(f".*{LEFTOVER_SUFFIX}"))
    filler.unlink()
    store.write(larger)
    append_jsonl(run / "steps.jsonl", {"step": 2})
    assert len(store.read().interruptions) == 500
    assert read_jsonl(run / "steps.jsonl") == [{"step": 1}, {"step": 2}]


def test_a_folder_on_a_disk_that_became_read_only_keeps_its_ledger_and_says_so(
    small_disk: Path, make_ledger: Callable[..., Ledger]
) -> None:
    store = LedgerStore(small_disk / "run")
    good = store.create(make_ledger())
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True, timeout=30)
    with pytest.raises(LedgerError, match="Read-only file system") as caught:
        store.write(good)
    assert "writable" in str(caught.value)
    with pytest.raises(LedgerError, match="cannot lock"):
        RunLock(small_disk / "run").acquire()
    assert store.read() == good


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into any folder; the read-only disk above covers it")
def test_a_folder_without_write_permission_keeps_its_ledger_and_says_so(
    tmp_path: Path, make_ledger: Callable[..., Ledger]
) -> None:
    store = LedgerStore(tmp_path / "run")
    good = store.create(make_ledger())
    store.folder.path.chmod(0o500)
    try:
        with pytest.raises(LedgerError, match="Permission denied"):
            store.write(good)
        assert store.read() == good
    finally:
        store.folder.path.chmod(0o700)
