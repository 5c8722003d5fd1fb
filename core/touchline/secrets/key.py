"""The random key of a run, under which secrets are named in texts (spec page 5: 0600, in `private/`).

Without it nobody can find out by trying candidates what a `redacted-…` text stood for; it is removed with the run.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from touchline.errors import LedgerError
from touchline.state import make_private_folder

KEY_BYTES = 32
_NAME = "redaction.key"


def run_key(private: Path) -> bytes:
    """The key of the run whose private folder this is; made on first use, the same ever after.

    Raises LedgerError if the key cannot be written or read, is not ours alone, or is damaged.
    """
    place = private / _NAME
    try:
        make_private_folder(private)
        if not place.exists():
            _create(place)
        return _read(place)
    except OSError as error:
        problem = f"the key {place} cannot be read or written: {error.strerror}"
        raise LedgerError(problem, fix="Check the disk and the permissions of the folder.") from error


def _create(place: Path) -> None:
    """Puts a whole key in place in one step; of two processes, the first one's stays."""
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".key-")
    incoming = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.urandom(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            place.hardlink_to(incoming)
        except FileExistsError:
            return
    finally:
        incoming.unlink(missing_ok=True)


def _read(place: Path) -> bytes:
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077 or found.st_uid != os.geteuid():
            problem = f"the key {place} can be read or changed by others"
            raise LedgerError(problem, fix="Remove it and begin a new run: texts of this run get new names.")
        key = file.read(KEY_BYTES + 1)
    if len(key) != KEY_BYTES:
        raise LedgerError(f"the key {place} is damaged", fix="Remove it; texts of this run get new names.")
    return key
