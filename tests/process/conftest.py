"""Hostile programs for the process host, and an oracle of our own that finds what was left behind."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Program = Callable[..., list[str]]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Writes a Python program into the test's folder and gives the argv that runs it."""

    def write(source: str, *arguments: str, isolated: bool = True) -> list[str]:
        path = tmp_path / f"program-{uuid.uuid4().hex[:8]}.py"
        header = "import os, sys, signal, time\n"
        path.write_text(header + textwrap.dedent(source), encoding="utf-8")
        flags = ["-I", "-S"] if isolated else []
        return [sys.executable, *flags, str(path), *arguments]

    return write


@pytest.fixture
def is_running() -> Callable[[int], bool]:
    """Whether a process of that number runs; a zombie does not."""

    def look(pid: int) -> bool:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] not in "ZX"

    return look


@pytest.fixture
def eventually() -> Callable[..., bool]:
    """Waits for a condition, bounded; gives its last answer."""

    def wait(condition: Callable[[], bool], *, within_s: float = 10.0) -> bool:
        end = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    return wait


@pytest.fixture
def pid_in(eventually: Callable[..., bool]) -> Callable[[Path], int]:
    """The process number that a program writes into a file."""

    def read(path: Path) -> int:
        assert eventually(lambda: path.exists() and path.read_text().endswith("\n")), f"{path.name} never came"
        return int(path.read_text())

    return read


def _marked(value: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ = (folder / "environ").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"PROCESS_TEST={value}".encode() in environ and state not in "ZX" and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


@pytest.fixture(autouse=True)
def nothing_is_left(
    request: pytest.FixtureRequest, clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Every test of this room that starts a process ends without a living one."""
    if not {"tmp_path", "sleeper", "peak_mb"} & set(request.fixturenames):
        yield
        return
    mark = uuid.uuid4().hex
    monkeypatch.setenv("PROCESS_TEST", mark)
    yield
    end = time.monotonic() + 3
    while (left := _marked(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ") for pid in left]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"left behind: {commands}"
