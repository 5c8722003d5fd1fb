"""Reading what the runs of a change left in their folder, for a replay (spec page 7). Reads only.

The ledger must be readable; what else is missing or damaged is named, so that nobody takes it for equal.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from touchline.coach.replay import Recorded
from touchline.coach.trace import StepRecord, read_record
from touchline.documents.ledger import Ledger
from touchline.ledger.atomic import read_regular
from touchline.ledger.store import LedgerStore
from touchline.state import RunFolder


def read_recorded(folder: RunFolder) -> Recorded:
    """What is in the folder. Raises LedgerError when its ledger cannot be read."""
    ledger = LedgerStore(folder.path).read()
    unread: list[str] = []
    numbers = [*(past.run_number for past in ledger.runs), ledger.run_number]
    return Recorded(
        ledger=ledger,
        starts=dict(_starts(folder, numbers, unread)),
        reports=dict(_reports(folder, ledger, unread)),
        steps=_steps(folder, unread),
        unread=tuple(unread),
    )


def _starts(folder: RunFolder, numbers: list[str], unread: list[str]) -> Iterator[tuple[str, Ledger]]:
    for number in numbers:
        try:
            path = folder.start(number)
            yield number, Ledger.model_validate_json(read_regular(path))
        except FileNotFoundError:
            continue  # the replay says what follows from that
        except (OSError, ValueError, ValidationError) as error:
            unread.append(f"the beginning of run {number}: {_why(error)}")


def _reports(folder: RunFolder, ledger: Ledger, unread: list[str]) -> Iterator[tuple[int, bytes]]:
    for row in ledger.verification_runs:
        try:
            yield row.verify_run, read_regular(folder.report(row.verify_run))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            unread.append(f"the report of verification {row.verify_run}: {_why(error)}")


def _steps(folder: RunFolder, unread: list[str]) -> list[StepRecord]:
    name = folder.steps.name
    try:
        *lines, last = read_regular(folder.steps).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        unread.append(f"{name}: {_why(error)}")
        return []
    if last:
        unread.append(f"{name}: its last line is torn")
    found = []
    for number, line in enumerate(lines, 1):
        record = read_record(line)
        if record is None:
            unread.append(f"{name}: line {number} is no record of a step")
        else:
            found.append(record)
    return found


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it cannot be understood"
