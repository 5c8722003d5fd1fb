from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HOST = """
import sys
from pathlib import Path
from touchline.process import ProcessLimits, run, start
from touchline.process.cancel import on_signals

folder, form = Path(sys.argv[1]), sys.argv[2]
program = [sys.executable, "-I", "-S", str(folder / "tree.py"), str(folder)]
limits = ProcessLimits(wall_s=60, idle_s=60, stop_s=0.6)
with on_signals() as cancel:
    if form == "start":
        with start(program, cwd=folder, limits=limits, cancel=cancel, run_id="run-1") as child:
            for line in child.lines():
                (folder / "said").write_text(line.text)
        (folder / "ending").write_text(child.ending)
    else:
        done = run(program, cwd=folder, timeout_s=60, stop_s=0.6, supervised=True, cancel=cancel)
        (folder / "ending").write_text(done.ending)
"""

TREE = """
import os, signal, sys, time
folder = sys.argv[1]
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
names = ["root"]
if os.fork() == 0:
    names = ["child"]
    if os.fork() == 0:
        names = ["setsid"]
        os.setsid()
        if os.fork() == 0:
            names = ["daemon"]
            os.closerange(0, 3)
with open(f"{folder}/{names[0]}.tmp", "w") as file:
    file.write(f"{os.getpid()}\\n")
os.rename(f"{folder}/{names[0]}.tmp", f"{folder}/{names[0]}")
if names == ["root"]:
    print("begun", flush=True)
time.sleep(60)
"""

NAMES = ("root", "child", "setsid", "daemon")


@pytest.fixture
def host(tmp_path: Path):
    """Starts an interpreter that runs the process host on a tree of four; ends it at the latest with the test."""
    (tmp_path / "tree.py").write_text(TREE)
    started: list[subprocess.Popen[bytes]] = []

    def begin(form: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOST, str(tmp_path), form],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate(timeout=10)


@pytest.mark.parametrize("form", ["start", "run"])
def test_when_the_host_is_killed_the_whole_tree_ends(
    host, form: str, tmp_path: Path, pid_in, is_running, eventually
) -> None:
    process = host(form)
    pids = [pid_in(tmp_path / name) for name in NAMES]
    assert all(is_running(pid) for pid in pids)
    process.kill()
    assert process.wait(10) == -signal.SIGKILL
    assert eventually(lambda: not any(is_running(pid) for pid in pids), within_s=5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_stops_cleanly(host, number: signal.Signals, tmp_path: Path, pid_in, is_running) -> None:
    process = host("start")
    pids = [pid_in(tmp_path / name) for name in NAMES]
    process.send_signal(number)
    assert process.wait(10) == 0
    assert (tmp_path / "ending").read_text() == "cancelled"
    assert not any(is_running(pid) for pid in pids)


def test_two_interrupts_end_at_once_without_an_orphan(host, tmp_path: Path, pid_in, is_running) -> None:
    process = host("start")
    pids = [pid_in(tmp_path / name) for name in NAMES]
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == -signal.SIGINT
    assert b"KeyboardInterrupt" in errors
    assert not any(is_running(pid) for pid in pids)


def test_a_terminal_interrupt_does_not_reach_the_program_directly(host, tmp_path: Path, pid_in) -> None:
    process = host("start")
    root = pid_in(tmp_path / "root")
    assert os.getsid(root) == root
    assert os.getsid(root) != os.getsid(process.pid)
    assert len({os.getpgid(pid) for pid in (root, process.pid, os.getpid())}) == 3
