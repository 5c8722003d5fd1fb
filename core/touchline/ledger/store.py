"""The ledger file: created once, read fresh each time, written whole (spec page 3, "Writing" and "Reading").

Nothing is cached: an object that outlives one step holds no ledger state. Write only while holding `RunLock`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from touchline.documents.ledger import SCHEMA_VERSION, Ledger
from touchline.errors import LedgerError
from touchline.ledger.atomic import atomic_write, read_regular
from touchline.state import RunFolder

__all__ = ["LedgerStore", "atomic_write", "first_fault", "new_run_number", "timestamp", "utc_now"]

Clock = Callable[[], datetime]


class _Version(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    schema_version: int = Field(alias="schemaVersion")


def utc_now() -> datetime:
    """The system clock, in UTC."""
    return datetime.now(UTC)


def timestamp(now: datetime) -> str:
    """`now` as it is written into documents: ISO 8601, UTC, whole seconds."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_run_number(now: datetime, taken: Collection[str]) -> str:
    """A run id that is not in `taken`: 14 digits of UTC time, counted up where the clock repeats itself."""
    number = int(now.astimezone(UTC).strftime("%Y%m%d%H%M%S"))
    while str(number) in taken:
        number += 1
    return str(number)


class LedgerStore:
    """Reads and writes the `ledger.json` of one run folder."""

    def __init__(self, folder: Path, *, clock: Clock = utc_now) -> None:
        self.folder = RunFolder(folder)
        self._clock = clock

    @property
    def path(self) -> Path:
        """The ledger file."""
        return self.folder.ledger

    def exists(self) -> bool:
        """Whether there is a ledger, readable or not."""
        try:
            self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _cannot_read(self.path, error) from error
        return True

    def create(self, ledger: Ledger) -> Ledger:
        """Write the first ledger of a change; refused where there is one, whatever it holds."""
        if self.exists():
            raise LedgerError(
                f"there is already a ledger at {self.path}",
                fix="Continue that run, or start a new one on it with --new.",
            )
        now = timestamp(self._clock())
        return self._put(ledger.model_copy(update={"created_at": now, "updated_at": now}))

    def read(self) -> Ledger:
        """The ledger as it is on disk now; a file that is no valid ledger is reported, never repaired."""
        try:
            data = read_regular(self.path)
        except FileNotFoundError as error:
            raise LedgerError(f"there is no ledger at {self.path}", fix="Start a run first.") from error
        except OSError as error:
            raise _cannot_read(self.path, error) from error
        try:
            return Ledger.model_validate_json(data)
        except ValidationError as error:
            raise _unreadable(self.path, data, error) from error

    def write(self, ledger: Ledger) -> Ledger:
        """Replace the ledger and return it as written, with `updatedAt` set.

        The file in place is read first: one that became corrupt, newer or missing meanwhile is left as it is.
        """
        self.read()
        return self._put(ledger.model_copy(update={"updated_at": timestamp(self._clock())}))

    def _put(self, ledger: Ledger) -> Ledger:
        # `model_copy` does not validate: what could not be read back must never reach the disk.
        data = ledger.to_bytes()
        try:
            checked = Ledger.model_validate_json(data)
        except ValidationError as error:
            raise LedgerError(
                f"refusing to write an invalid ledger to {self.path}: {first_fault(error)}",
                fix="This is a fault of touchline; the last good ledger was kept.",
            ) from error
        atomic_write(self.path, data)
        return checked


def _cannot_read(path: Path, error: OSError) -> LedgerError:
    return LedgerError(f"cannot read {path}: {error.strerror or error}", fix="Make it readable for you and try again.")


def _unreadable(path: Path, data: bytes, error: ValidationError) -> LedgerError:
    found = _schema_version(data)
    if found is not None and found > SCHEMA_VERSION:
        return LedgerError(
            f"{path} was written by a newer touchline: its schemaVersion is {found}, not {SCHEMA_VERSION}",
            fix="Update touchline; the file was not touched.",
        )
    return LedgerError(
        f"the ledger {path} is corrupt: {first_fault(error)}",
        fix="The file was not touched. Repair it or restore it from a copy; or move it away to start anew.",
    )


def _schema_version(data: bytes) -> int | None:
    try:
        return _Version.model_validate_json(data).schema_version
    except ValidationError:
        return None


def first_fault(error: ValidationError) -> str:
    """The first fault of a document and its position: line and column, or the path of the field."""
    # Values are left out: a ledger may hold text that must not be repeated on a terminal or in a log.
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    first = faults[0]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    if first["type"] == "json_invalid":  # its message ends with line and column
        return first["msg"]
    where = ".".join(str(part) for part in first["loc"]) or "the top level"
    return f"{first['msg']}, at {where}{more}"
