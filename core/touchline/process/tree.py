"""Which processes belong to a tree, and how one of them is signalled without ever hitting another (spec page 2).

Standard library only and cheap to import: the supervisor loads this file by path in a bare interpreter.

A process is named by its number and its start time together, so a number that the kernel gave to somebody
else in the meantime is never signalled. On Linux the signal goes through a pidfd, which closes the last gap
between looking and signalling. Where there is no /proc (macOS) the table comes from `ps` and that gap stays.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Mapping
elif __package__:
    import signal
else:  # in the supervisor: `signal` itself brings `enum`, which takes as long to import as the rest of its start
    try:
        import _signal as signal
    except ImportError:
        import signal

PROC = "/proc"
HAS_PROC = os.path.exists(f"{PROC}/self/stat")  # noqa: PTH110  (pathlib costs the supervisor its start time)


class Process:
    """One row of the process table; `start` is opaque and only ever compared for equality.

    `cpu_s` is the processor time of the process and of its collected children (0 where only `ps` can tell).
    """

    # No dataclass or named tuple: what they import would double the supervisor's start time.
    __slots__ = ("cpu_s", "group", "parent", "pid", "session", "start", "state")

    def __init__(self, pid: int, parent: int, group: int, session: int, start: bytes, state: str, cpu_s: float) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start
        self.state = state
        self.cpu_s = cpu_s


_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def process_table() -> dict[int, Process]:
    """Every process that can be seen now, by number."""
    if not HAS_PROC:
        return _table_of_ps()
    table = {}
    for name in os.listdir(PROC):  # noqa: PTH208
        if name.isdigit():
            process = look_up(int(name))
            if process is not None:
                table[process.pid] = process
    return table


def look_up(pid: int) -> Process | None:
    """The process of that number, None when there is none."""
    if not HAS_PROC:
        return _table_of_ps().get(pid)
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:  # noqa: PTH123
            stat = file.read()
    except OSError:
        return None  # it ended while we looked
    # The name in the second field may hold spaces and brackets: count from its last bracket.
    fields = stat[stat.rindex(b")") + 2 :].split()
    cpu_s = sum(map(int, fields[11:15])) * _TICK_S
    return Process(pid, int(fields[1]), int(fields[2]), int(fields[3]), fields[19], fields[0].decode("ascii"), cpu_s)


def descendants(root: int, table: Mapping[int, Process]) -> list[Process]:
    """All processes below `root` (without it), parents before their children."""
    children: dict[int, list[Process]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    queue = [root]
    seen = {root}
    while queue:
        for process in children.get(queue.pop(), ()):
            if process.pid not in seen:
                seen.add(process.pid)
                found.append(process)
                queue.append(process.pid)
    return found


def ancestors(pid: int, table: Mapping[int, Process]) -> set[int]:
    """`pid` and everything above it."""
    line: set[int] = set()
    while pid > 0 and pid not in line:
        line.add(pid)
        above = table.get(pid)
        pid = above.parent if above is not None else 0
    return line


def cpu_seconds(root: int) -> float:
    """Processor time of `root` and its tree so far."""
    table = process_table()
    tree = descendants(root, table)
    if root in table:
        tree.append(table[root])
    return float(sum(process.cpu_s for process in tree))


def is_alive(process: Process) -> bool:
    """Whether this very process still runs; a zombie does not."""
    now = look_up(process.pid)
    return now is not None and now.start == process.start and now.state != "Z"


def send(process: Process, number: int) -> bool:
    """Signal this very process; False when it is gone or its number belongs to another one by now."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):  # no pidfd on this system, or none to be had (sandbox, full table)
        return _send_by_number(process, number)
    try:
        if not is_alive(process):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(descriptor)
    return True


def freeze_and_kill(find: Callable[[], Iterable[Process]], *, scans: int = 50) -> None:
    """Kill all that `find` sees, first stopping it so that a fork storm cannot outrun the scan.

    Bounded by `scans` looks; the caller repeats until nothing is left or its own time is over.
    """
    frozen: dict[int, Process] = {}
    for _ in range(scans):
        fresh = [process for process in find() if process.pid not in frozen and process.state != "Z"]
        if not fresh:
            break
        for process in fresh:
            frozen[process.pid] = process
            send(process, signal.SIGSTOP)
    for process in frozen.values():
        send(process, signal.SIGKILL)


def _send_by_number(process: Process, number: int) -> bool:
    if not is_alive(process):
        return False
    try:
        os.kill(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _table_of_ps() -> dict[int, Process]:
    import subprocess  # only here: it would double the supervisor's start time

    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,pgid=,sess=,stat=,lstart="],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=10,
        check=False,
        env={"PATH": "/bin:/usr/bin", "LC_ALL": "C"},
    )
    table = {}
    for line in listing.stdout.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[0].isdigit() and fields[1].isdigit() and fields[2].isdigit():
            pid, parent, group = (int(field) for field in fields[:3])
            table[pid] = Process(pid, parent, group, group, fields[5], fields[4][:1].decode("ascii", "replace"), 0.0)
    return table
