"""The one writer of state files: old or new, never torn (spec page 3, "Writing").

A file is written beside its target, synced, renamed over it, and the folder synced. A process that dies on
the way leaves a file with our suffix; `sweep_leftovers` removes those, under the run's lock.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from touchline.errors import LedgerError
from touchline.state import make_private_folder

LEFTOVER_SUFFIX = ".touchline-tmp"
MAX_STATE_BYTES = 256 * 1024 * 1024
"""A state file above this is not read: it is not ours, or something went badly wrong."""

_FOLDER_SYNC_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def atomic_write(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Put `data` at `path` in one step, durable when this returns; missing folders are created 0700.

    On any failure the previous file is as it was and one LedgerError says why.
    """
    try:
        make_private_folder(path.parent)
        _replace(path, data, mode)
    except OSError as error:
        raise _cannot_write(path, error) from error


def read_regular(path: Path, *, max_bytes: int = MAX_STATE_BYTES) -> bytes:
    """The bytes of a regular file; anything else (a pipe would block for ever) is an OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"larger than {max_bytes} bytes", str(path))
    return data


def sweep_leftovers(folder: Path) -> list[Path]:
    """Remove what interrupted writes left under `folder`; call it only while holding the run's lock."""
    swept = []
    for parent, _, names in os.walk(folder, followlinks=False):
        for name in names:
            if name.startswith(".") and name.endswith(LEFTOVER_SUFFIX):
                leftover = Path(parent, name)
                with suppress(FileNotFoundError):
                    leftover.unlink()
                    swept.append(leftover)
    return swept


def _replace(path: Path, data: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", suffix=LEFTOVER_SUFFIX, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _FOLDER_SYNC_UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def _cannot_write(path: Path, error: OSError) -> LedgerError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        fix = "Free some space"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        fix = "Make the folder writable for you"
    else:
        fix = "Repair the cause"
    return LedgerError(
        f"cannot write {path}: {error.strerror or error}",
        fix=f"{fix} and start the same command again; the last good state was kept.",
    )
