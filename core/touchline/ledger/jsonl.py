"""Append-only lines of evidence (`steps.jsonl`), whole or absent (spec page 3, "Place").

A crash or a full disk may leave the last line torn: a reader skips it, the next append first repairs it, so that
no record is ever glued to half of another. One writer: the holder of the run's lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from touchline.errors import LedgerError
from touchline.ledger.atomic import read_regular
from touchline.state import make_private_folder
from touchline.turn.appending import LinesFile


def append_jsonl(path: Path, record: Mapping[str, object]) -> None:
    """Append one record as a line; durable when this returns, without a trace of it when this raises."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    file = LinesFile(path)
    try:
        make_private_folder(path.parent)
        file.append(line.encode("utf-8", "backslashreplace") + b"\n")
        os.fdatasync(file.open())
    except OSError as error:
        raise LedgerError(
            f"cannot append to {path}: {error.strerror or error}",
            fix="Repair the cause and start the same command again; what was written before is kept.",
        ) from error
    finally:
        file.close()


def read_jsonl(path: Path) -> list[dict[str, object]]:
    """Every whole record, oldest first; a torn last line is skipped, a broken one before it is an error."""
    try:
        lines = read_regular(path).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LedgerError(
            f"cannot read {path}: {error.strerror or error}", fix="Make it readable for you and try again."
        ) from error
    return [_record(path, number, line) for number, line in enumerate(lines[:-1], 1)]


def _record(path: Path, number: int, line: bytes) -> dict[str, object]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LedgerError(
            f"{path} is corrupt at line {number}: {error}", fix="The file was not touched; move it away."
        ) from error
    if not isinstance(record, dict):
        raise LedgerError(
            f"{path} is corrupt at line {number}: not an object", fix="The file was not touched; move it away."
        )
    return record
