"""One writer for each run: an OS lock that names its holder (spec page 3, "Writing").

The kernel's lock is the truth and ends with the process, however that dies; the holder's name in the file is
for people, and for file systems where the kernel's lock does nothing. The file is never deleted while in use.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from touchline.errors import LedgerError, LockHeldError
from touchline.ledger.atomic import sweep_leftovers
from touchline.process.tree import ancestors, look_up, process_table
from touchline.state import RunFolder, make_private_folder

_MAX_HOLDER_BYTES = 64 * 1024
_MAX_COMMAND = 200
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_REPLACED_TRIES = 5


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock. `start` tells a process from a later one of the same pid, whatever the clock did."""

    pid: int
    start: str
    host: str
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} ({self.command})"


def process_start(pid: int) -> str:
    """When process `pid` started, in a form that setting the clock does not change; empty if it is gone."""
    process = look_up(pid)
    if process is None or process.state in ("Z", "X"):
        return ""
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:  # no Linux: there the start is a date already
        boot = ""
    return f"{boot}:{os.fsdecode(process.start)}"


def holder_of(folder: Path) -> Holder | None:
    """Who is named in the lock of `folder`; None if nobody is, or the name is not written whole yet."""
    try:
        with RunFolder(folder).lock.open("rb") as file:
            found = json.loads(file.read(_MAX_HOLDER_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    try:
        holder = Holder(**found)
    except TypeError:
        return None
    return holder if isinstance(holder.pid, int) and holder.pid > 0 else None


class RunLock:
    """The lock of one run folder; a context manager.

    With `join`, a helper process of the run that holds the lock (the holder is this process or an ancestor of
    it) shares it instead of being refused. Only a command that is made to work inside a run asks for that.
    """

    def __init__(self, folder: Path, *, join: bool = False) -> None:
        self.folder = RunFolder(folder)
        self._join = join
        self._descriptor: int | None = None
        self._joined = False

    @property
    def held(self) -> bool:
        """Whether this object holds the lock, or shares it with the run that it belongs to."""
        return self._descriptor is not None or self._joined

    def acquire(self) -> None:
        """Take the lock at once or raise LockHeldError; what a dead holder left behind is swept."""
        if self.held:
            return
        descriptor = self._lock_current_file()
        if descriptor is None:
            self._refuse_or_join(holder_of(self.folder.path))
            return
        try:
            self._take(descriptor)
        except BaseException:
            if self._descriptor is None:
                os.close(descriptor)
            else:
                self.release()
            raise

    def try_acquire(self) -> bool:
        """Take the lock if nobody holds it; other failures are raised."""
        try:
            self.acquire()
        except LockHeldError:
            return False
        return True

    def release(self) -> None:
        """Give the lock back; a joined one stays with its holder."""
        self._joined = False
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            with suppress(OSError):  # the name is a courtesy; the kernel's lock goes with the descriptor
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _take(self, descriptor: int) -> None:
        named = holder_of(self.folder.path)
        if named is not None and _is_alive_elsewhere(named):
            # The file system granted a lock that a living process still claims: it does not lock at all.
            raise _held_by(self.folder, named)
        self._descriptor = descriptor
        name = Holder(pid=os.getpid(), start=process_start(os.getpid()), host=platform.node(), command=_command())
        data = json.dumps(asdict(name)).encode() + b"\n"
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, data, 0)
            sweep_leftovers(self.folder.path)
        except OSError as error:
            raise _cannot_lock(self.folder, error) from error

    def _refuse_or_join(self, holder: Holder | None) -> None:
        if self._join and holder is not None and _is_ours(holder):
            self._joined = True
            return
        raise _held_by(self.folder, holder)

    def _lock_current_file(self) -> int | None:
        # A pruner deletes whole folders, lock file included: a lock on a file that is gone protects nothing.
        for _ in range(_REPLACED_TRIES):
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _same_file(descriptor, self.folder.lock):
                    return descriptor
            except OSError as error:
                os.close(descriptor)
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    return None
                raise _cannot_lock(self.folder, error) from error
            os.close(descriptor)
        raise LedgerError(
            f"the lock file {self.folder.lock} is being replaced all the time",
            fix="See which program removes it, and start again.",
        )

    def _open(self) -> int:
        try:
            make_private_folder(self.folder.path)
            descriptor = os.open(
                self.folder.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
            )
            os.fchmod(descriptor, 0o600)
        except OSError as error:
            raise _cannot_lock(self.folder, error) from error
        return descriptor


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def _is_alive_elsewhere(holder: Holder) -> bool:
    return (
        holder.host == platform.node()
        and holder.pid != os.getpid()
        and holder.start != ""
        and process_start(holder.pid) == holder.start
    )


def _is_ours(holder: Holder) -> bool:
    if holder.host != platform.node() or not holder.start or process_start(holder.pid) != holder.start:
        return False
    return holder.pid in ancestors(os.getpid(), process_table())


def _command() -> str:
    # Only the program and its subcommand: arguments may hold what must not be shown.
    words = [Path(sys.argv[0]).name, *(word for word in sys.argv[1:2] if not word.startswith("-"))]
    return " ".join(words)[:_MAX_COMMAND]


def _held_by(folder: RunFolder, holder: Holder | None) -> LockHeldError:
    who = str(holder) if holder is not None else "another process, which has not written its name yet"
    return LockHeldError(
        f"the run in {folder.path} is in use by {who}",
        fix="Wait until it ends or stop it; nothing was touched.",
    )


def _cannot_lock(folder: RunFolder, error: OSError) -> LedgerError:
    return LedgerError(
        f"cannot lock {folder.lock}: {error.strerror or error}",
        fix="Put the state folder (XDG_STATE_HOME) on a writable file system that supports locks.",
    )
