"""Finding and killing what escaped its tree, by the marks in its environment (spec page 2, "The process host").

The next start of a run sweeps what a dead touchline left: everything that still carries the run's
`TOUCHLINE_RUN` value. One program's tree is gathered the same way by its own mark when its supervisor is gone.
Only processes of our own user are looked at; we and our ancestors are never touched; each signal is guarded by
the start time. Bounded: what survives `patience_s` of killing is left and reported by its absence.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from touchline.process.environment import MARK_VARIABLE, RUN_VARIABLE
from touchline.process.tree import (
    HAS_PROC,
    Process,
    ancestors,
    descendants,
    freeze_and_kill,
    is_alive,
    look_up,
    process_table,
)


def sweep(run_id: str, *, patience_s: float = 5.0) -> list[int]:
    """Kill what still carries this run's mark; the numbers of the processes that are gone now."""
    if not run_id:
        return []
    return _kill_all(lambda: carriers(RUN_VARIABLE, run_id), patience_s)


def kill_tree(root: Process, *, mark: str, patience_s: float = 2.0) -> list[int]:
    """Kill `root`, everything below it and everything that carries its mark."""
    return _kill_all(lambda: tree_of(root, mark=mark), patience_s)


def tree_of(root: Process, *, mark: str) -> list[Process]:
    """What belongs to the program `root` now: its session, its descendants, and runaways with its mark."""
    table = process_table()
    found = {process.pid: process for process in carriers(MARK_VARIABLE, mark, table)}
    now = look_up(root.pid)
    if now is not None and now.start == root.start:  # a zombie keeps its number too
        for process in (now, *descendants(root.pid, table)):
            found[process.pid] = process
        found.update((other.pid, other) for other in table.values() if other.session == root.pid)
    for pid in ancestors(os.getpid(), table):
        found.pop(pid, None)
    return [process for process in found.values() if process.state != "Z"]


def carriers(variable: str, value: str, table: Mapping[int, Process] | None = None) -> list[Process]:
    """The living processes of our user that carry `variable=value`, without us and our ancestors."""
    seen = process_table() if table is None else table
    ours = ancestors(os.getpid(), seen)
    entry = os.fsencode(f"{variable}={value}")
    read = _environ_of_proc if HAS_PROC else _environ_of_psutil
    return [
        process
        for process in seen.values()
        if process.state != "Z" and process.pid not in ours and entry in read(process.pid)
    ]


def _kill_all(find: Callable[[], list[Process]], patience_s: float) -> list[int]:
    end = time.monotonic() + patience_s
    met: dict[int, Process] = {}

    def look() -> list[Process]:
        found = find()
        met.update((process.pid, process) for process in found)
        return found

    pause_s = 0.005
    while look() and time.monotonic() < end:
        freeze_and_kill(look)
        time.sleep(pause_s)  # a killed process needs a moment to go
        pause_s = min(pause_s * 2, 0.1)
    return sorted(pid for pid, process in met.items() if not is_alive(process))


def _environ_of_proc(pid: int) -> list[bytes]:
    folder = f"/proc/{pid}"
    try:
        if os.stat(folder).st_uid != os.geteuid():  # noqa: PTH116  (hundreds of them, many times)
            return []
        with open(f"{folder}/environ", "rb") as file:  # noqa: PTH123
            return file.read().split(b"\0")
    except OSError:
        return []  # ended meanwhile, or not ours to read


def _environ_of_psutil(pid: int) -> list[bytes]:
    import psutil  # only where there is no /proc

    try:
        process = psutil.Process(pid)
        if process.uids().effective != os.geteuid():
            return []
        return [os.fsencode(f"{name}={value}") for name, value in process.environ().items()]
    except (psutil.Error, OSError):
        return []
