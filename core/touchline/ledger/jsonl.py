"""Append-only lines of evidence (`steps.jsonl`), whole or absent (spec page 3, "Place").

A crash or a full disk may leave the last line torn. A reader skips it; the next append first takes it off, so
that no record is ever glued to half of another. One writer: the holder of the run's lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from touchline.errors import LedgerError
from touchline.ledger.atomic import read_regular
from touchline.state import make_private_folder

_BLOCK = 64 * 1024


def append_jsonl(path: Path, record: Mapping[str, object]) -> int:
    """Append one record as a line, durable when this returns; gives the bytes of a torn tail taken off."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = line.encode("utf-8", "backslashreplace") + b"\n"
    try:
        make_private_folder(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            return _append(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise LedgerError(
            f"cannot append to {path}: {error.strerror or error}",
            fix="Repair the cause and start the same command again; what was written before is kept.",
        ) from error


def read_jsonl(path: Path) -> list[dict[str, object]]:
    """Every whole record, oldest first; a torn last line is skipped, a broken one before it is an error."""
    try:
        lines = read_regular(path).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LedgerError(f"cannot read {path}: {error.strerror or error}") from error
    records = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LedgerError(f"{path} is corrupt at line {number}: {error}", fix="Move it away.") from error
        if not isinstance(record, dict):
            raise LedgerError(f"{path} is corrupt at line {number}: not an object", fix="Move it away.")
        records.append(record)
    return records


def _append(descriptor: int, data: bytes) -> int:
    size = os.lseek(descriptor, 0, os.SEEK_END)
    whole = _end_of_last_line(descriptor, size)
    if whole < size:
        os.ftruncate(descriptor, whole)
    done = 0
    try:
        while done < len(data):
            done += os.pwrite(descriptor, data[done:], whole + done)
        os.fdatasync(descriptor)
    except OSError:
        os.ftruncate(descriptor, whole)
        raise
    return size - whole


def _end_of_last_line(descriptor: int, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - _BLOCK)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
