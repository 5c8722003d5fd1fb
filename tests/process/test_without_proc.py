"""The fallbacks for systems without /proc or pidfd, as far as they can be run here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from copy import copy
from pathlib import Path

import pytest

from touchline.process import run, tree

needs_ps = pytest.mark.skipif(shutil.which("ps") is None, reason="no ps on this machine")


def test_without_a_pidfd_a_light_run_ends_the_same(program, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    done = run(program("print('out'); sys.exit(6)"), cwd=tmp_path, timeout_s=20)
    assert (done.returncode, done.stdout, done.ending) == (6, b"out\n", "exited")
    late = run(program("print('out', flush=True); time.sleep(60)"), cwd=tmp_path, timeout_s=0.7, stop_s=1)
    assert (late.returncode, late.stdout, late.ending) == (-2, b"out\n", "wall")


def test_without_a_pidfd_the_start_time_still_guards_each_signal(monkeypatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.DEVNULL)
    try:
        seen = tree.look_up(process.pid)
        assert seen is not None
        impostor = copy(seen)
        impostor.start = b"1"
        assert tree.send(impostor, 9) is False
        assert process.poll() is None
        assert tree.send(seen, 9) is True
        assert process.wait(10) == -9
    finally:
        process.kill()
        process.wait(10)


@needs_ps
def test_the_table_of_ps_agrees_with_proc_on_who_is_whose_parent(monkeypatch) -> None:
    from_proc = tree.process_table()
    monkeypatch.setattr(tree, "HAS_PROC", False)
    from_ps = tree.process_table()
    ours = [os.getpid(), os.getppid()]
    assert [from_ps[pid].parent for pid in ours] == [from_proc[pid].parent for pid in ours]
    assert [from_ps[pid].group for pid in ours] == [from_proc[pid].group for pid in ours]
    assert tree.look_up(os.getpid()).group == os.getpgid(0)
