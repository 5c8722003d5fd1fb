"""The quarantine file that all runs of an epic share (spec page 3).

A JSON array of quarantine entries. Each change is read, merge, write under a lock of its own, so that
parallel runs lose nothing. An entry is known by what it proves (signature, paths, the commit where it was
reproduced); the `Q-n` ids are each document's own.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from touchline.documents.ledger import Ledger, QuarantineEntry
from touchline.errors import LedgerError, LockHeldError
from touchline.ledger.atomic import atomic_write, read_regular
from touchline.ledger.store import first_fault

LOCK_WAIT_S = 30.0
_POLL_S = 0.02
_ENTRIES = TypeAdapter(list[QuarantineEntry])

EntryKey = tuple[str, tuple[str, ...], str]


def entry_key(entry: QuarantineEntry) -> EntryKey:
    """What makes two entries of different documents the same one."""
    return entry.signature, tuple(sorted(set(entry.paths))), entry.provenance.reproduced_at


@dataclass(frozen=True, slots=True)
class QuarantineChange:
    """What one step of a run did to its quarantine: entries newly proven, and entries that no longer hold."""

    opened: tuple[QuarantineEntry, ...] = ()
    invalidated: tuple[QuarantineEntry, ...] = ()


def change_between(before: Ledger, after: Ledger) -> QuarantineChange:
    """What a decision changed in the quarantine; only that may go to the shared file. Pure."""
    was = {entry_key(entry): entry.active for entry in before.quarantine}
    opened, invalidated = [], []
    for entry in after.quarantine:
        was_active = was.get(entry_key(entry), False)
        if entry.active and not was_active:
            opened.append(entry)
        elif was_active and not entry.active:
            invalidated.append(entry)
    return QuarantineChange(opened=tuple(opened), invalidated=tuple(invalidated))


def merge(known: Sequence[QuarantineEntry], change: QuarantineChange) -> list[QuarantineEntry]:
    """`known` with the change taken over; nothing known is dropped or reordered. Pure.

    An opened entry is appended, or active again if it is known; one whose id is taken gets the next free one.
    """
    merged = list(known)
    places = {entry_key(entry): place for place, entry in enumerate(merged)}
    for entry in change.opened:
        place = places.setdefault(entry_key(entry), len(merged))
        if place == len(merged):
            update = {"id": _free_id(entry.id, merged), "active": True, "invalidated_by": None}
            merged.append(entry.model_copy(update=update))
        elif not merged[place].active:
            merged[place] = merged[place].model_copy(update={"active": True, "invalidated_by": None})
    for entry in change.invalidated:
        place = places.get(entry_key(entry), -1)
        if place >= 0 and merged[place].active:
            update = {"active": False, "invalidated_by": entry.invalidated_by}
            merged[place] = merged[place].model_copy(update=update)
    return merged


def unrecorded(ledger: Ledger, entries: Sequence[QuarantineEntry]) -> QuarantineChange:
    """What the ledger proved but the shared file lacks, after a crash between the two writes. Pure."""
    known = {entry_key(entry) for entry in entries}
    return QuarantineChange(
        opened=tuple(entry for entry in ledger.quarantine if entry.active and entry_key(entry) not in known)
    )


def seeded(ledger: Ledger, entries: Sequence[QuarantineEntry]) -> Ledger:
    """`ledger` with the active shared entries that it does not know; they are evidence, not permission. Pure.

    Whoever seeds re-checks each entry against this run's own merge base and diff (`touchline.gates`).
    """
    active = tuple(entry for entry in entries if entry.active)
    known = {entry_key(entry) for entry in ledger.quarantine}
    new = QuarantineChange(opened=tuple(entry for entry in active if entry_key(entry) not in known))
    return ledger.model_copy(update={"quarantine": merge(ledger.quarantine, new)}) if new.opened else ledger


class EpicQuarantine:
    """The shared file at `path`; a missing one is empty, and is made by the first record."""

    def __init__(self, path: Path, *, lock_wait_s: float = LOCK_WAIT_S) -> None:
        # Through a link, all runs must agree on one file and one lock, and the link must survive the rename.
        self.path = Path(os.path.realpath(path))
        self._lock_wait_s = lock_wait_s

    def read(self) -> list[QuarantineEntry]:
        """The entries as they are on disk now."""
        try:
            data = read_regular(self.path)
        except FileNotFoundError:
            self._require_folder()
            return []
        except OSError as error:
            raise LedgerError(
                f"cannot read the epic quarantine file {self.path}: {error.strerror or error}",
                fix="Make it readable for you, or name another with --epic-quarantine.",
            ) from error
        try:
            return _ENTRIES.validate_json(data)
        except ValidationError as error:
            raise LedgerError(
                f"the epic quarantine file {self.path} is corrupt: {first_fault(error)}",
                fix="The file was not touched. Repair it, or name another with --epic-quarantine.",
            ) from error

    def record(self, change: QuarantineChange) -> list[QuarantineEntry]:
        """Take over what this run opened and invalidated; gives the entries as they are then."""
        with self._locked():
            known = self.read()
            merged = merge(known, change)
            if merged != known or not self.path.exists():
                data = _ENTRIES.dump_json(merged, by_alias=True, indent=2) + b"\n"
                atomic_write(self.path, data, mode=self._mode())
            return merged

    def _require_folder(self) -> None:
        """Say at once, not after a turn was spent, that the first record could not be kept."""
        if not os.access(self.path.parent, os.W_OK | os.X_OK):
            raise LedgerError(
                f"the epic quarantine file {self.path} cannot be made: {self.path.parent} is no writable folder",
                fix="Put it into a folder that exists and is writable for you.",
            )

    def _mode(self) -> int:
        # People who share one epic may have opened the file to their group.
        try:
            return stat.S_IMODE(self.path.stat().st_mode)
        except FileNotFoundError:
            return 0o600

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock_path = self.path.with_name(f".{self.path.name}.lock")
        try:
            descriptor = os.open(
                lock_path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise LedgerError(
                f"cannot lock the epic quarantine file {self.path}: {error.strerror or error}",
                fix="Put it into a folder that exists and is writable for you.",
            ) from error
        try:
            self._wait_for(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _wait_for(self, descriptor: int) -> None:
        deadline = time.monotonic() + self._lock_wait_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise LockHeldError(
                        f"the epic quarantine file {self.path} has been in use for {self._lock_wait_s:g} s",
                        fix="See which process holds it; start the same command again.",
                    ) from error
                time.sleep(_POLL_S)
            except OSError as error:
                raise LedgerError(
                    f"cannot lock the epic quarantine file {self.path}: {error.strerror or error}",
                    fix="Put it on a file system that supports locks.",
                ) from error
            else:
                return


def _free_id(wanted: str, entries: Sequence[QuarantineEntry]) -> str:
    taken = {entry.id for entry in entries}
    if wanted not in taken:
        return wanted
    number = 1
    while f"Q-{number}" in taken:
        number += 1
    return f"Q-{number}"
