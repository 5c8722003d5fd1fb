"""Which old run folders go, and how (spec page 3, "Place").

A folder untouched for 30 days goes, never one that a process holds, never one whose run is unfinished with a
pull request open, and never one whose ledger cannot be read: what it would say is not known. Age is the
newest change of any file in it; nothing inside a document is asked for a time.
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from touchline.errors import LedgerError
from touchline.ledger.lock import RunLock
from touchline.ledger.queries import is_unfinished
from touchline.ledger.store import LedgerStore
from touchline.state import RunFolder, run_folders

MAX_AGE = timedelta(days=30)

_GOING_PREFIX = ".pruned-"


@dataclass(frozen=True, slots=True)
class Pruning:
    """What one pass did: the folders that are gone, and what could not be judged or removed, with why."""

    removed: tuple[Path, ...]
    problems: tuple[str, ...]


def prune(root: Path, *, now: datetime, max_age: timedelta = MAX_AGE) -> Pruning:
    """Remove the run folders under `root` that nobody needs any more.

    A problem with one folder is reported and does not keep the others. Hold the lock of the run that is about
    to start before calling this, so that its own folder stays.
    """
    removed: list[Path] = []
    problems: list[str] = _finish_earlier_pass(root)
    oldest = (now - max_age).timestamp()
    for folder in list(run_folders(root)):
        try:
            if _age_allows(folder, oldest) and _ledger_allows(folder) and _remove_unless_held(folder, oldest):
                removed.append(folder.path)
        except LedgerError as error:
            problems.append(f"kept {folder.path}: {error.what}")
        except OSError as error:
            problems.append(f"could not remove {folder.path}: {error.strerror or error}")
    return Pruning(removed=tuple(removed), problems=tuple(problems))


def _age_allows(folder: RunFolder, oldest: float) -> bool:
    return (_newest_file(folder) or folder.path.lstat().st_mtime) < oldest


def _ledger_allows(folder: RunFolder) -> bool:
    store = LedgerStore(folder.path)
    if not store.exists():
        return True
    ledger = store.read()
    return not (is_unfinished(ledger) and ledger.pr_url)


def _remove_unless_held(folder: RunFolder, oldest: float) -> bool:
    lock = RunLock(folder.path)
    if not lock.try_acquire():
        return False
    try:
        # Somebody may have been here since the first look; taking the lock changed the folder's own time.
        if _newest_file(folder) >= oldest or not _ledger_allows(folder):
            return False
        # Renamed first: a half-removed folder never passes for a run.
        going = folder.path.with_name(f"{_GOING_PREFIX}{secrets.token_hex(8)}")
        folder.path.rename(going)
        shutil.rmtree(going)
    finally:
        lock.release()
    with suppress(OSError):  # the project has other changes
        folder.path.parent.rmdir()
    return True


def _newest_file(folder: RunFolder) -> float:
    # The lock file is left out: looking at a folder must not make it young.
    newest = 0.0
    for parent, _, names in os.walk(folder.path, followlinks=False):
        for path in (Path(parent, name) for name in names):
            if path != folder.lock:
                with suppress(FileNotFoundError):
                    newest = max(newest, path.lstat().st_mtime)
    return newest


def _finish_earlier_pass(root: Path) -> list[str]:
    problems = []
    for leftover in sorted(root.glob(f"*/{_GOING_PREFIX}*")):
        try:
            shutil.rmtree(leftover)
        except OSError as error:
            problems.append(f"could not remove {leftover}: {error.strerror or error}")
    return problems
