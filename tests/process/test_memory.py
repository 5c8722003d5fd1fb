from __future__ import annotations

import subprocess
import sys

import pytest

HOST = """
import resource, sys, tempfile
from touchline.process import ProcessLimits, run, start

form, megabytes = sys.argv[1], int(sys.argv[2])
speaker = '''
import os, sys
form, left = sys.argv[1], int(sys.argv[2]) << 20
block = {
    "small lines": b'{"type":"delta","text":"0123456789 0123456789"}\\\\n' * 1400,
    "empty lines": b"\\\\n" * 65536,
    "one line": b"x" * 65536,
    "16 MB lines": ("x" * 16_000_000 + "\U0001f600\\\\n").encode(),
    "errors": b"e" * 65536,
    "run": b"y" * 65536,
}[form]
where = 2 if form == "errors" else 1
while left > 0:
    left -= os.write(where, block)
'''
program = [sys.executable, "-I", "-S", "-c", speaker, form, str(megabytes)]
if form == "run":
    done = run(program, cwd="/", timeout_s=300, max_output_bytes=1 << 20)
    print(len(done.stdout), end=" ")
else:
    size = 0
    with start(program, cwd="/", limits=ProcessLimits(wall_s=300)) as child:
        for line in child.lines():
            size += line.size
    assert (child.ending, child.returncode) == ("exited", 0), (child.ending, child.stderr_tail)
    print(size, end=" ")
high = 0
with open("/proc/self/status") as status:  # getrusage would count the test worker that started this program
    high = next(int(row.split()[1]) for row in status if row.startswith("VmHWM:"))
print(high // 1024)
"""


@pytest.fixture
def peak_mb():
    """Runs the process host in an interpreter of its own; gives bytes seen and peak memory in MB."""
    return measure


def measure(form: str, megabytes: int) -> tuple[int, int]:
    done = subprocess.run(
        [sys.executable, "-c", HOST, form, str(megabytes)],
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    size, peak = done.stdout.split()
    return int(size), int(peak)


@pytest.mark.parametrize("form", ["one line", "errors", "run", "small lines"])
def test_memory_stays_bounded_whatever_the_streams_size(peak_mb, form: str) -> None:
    megabytes = 30 if form == "small lines" else 300
    size, peak = peak_mb(form, megabytes)
    if form == "run":
        assert size == 1 << 20
    if form == "one line":
        assert size >= megabytes << 20
    assert peak < 200


@pytest.mark.slow
@pytest.mark.parametrize("form", ["one line", "small lines", "16 MB lines", "empty lines", "run"])
def test_a_stream_of_1_gb_takes_less_than_200_mb(peak_mb, form: str) -> None:
    size, peak = peak_mb(form, 1024 if form != "empty lines" else 16)
    if form in ("one line", "16 MB lines"):
        assert size >= 1000 << 20
    assert peak < 200
