"""Permission requests and questions that wait for a person, as files (spec page 8, `touchline reply`).

A ticket holds the full text, 0600 in a 0700 folder. Its answer is a second file that can be made only once, whole
or not at all, so two answers never mix and the first one counts. Whoever can write as this user can answer; the
policy keeps an executor from writing there, the operating system does not.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from touchline.documents.base import Document
from touchline.errors import TouchlineError, UsageError
from touchline.state import make_private_folder

FOLDER = "tickets"

MAX_TICKET_BYTES = 32 * 1024 * 1024

_ID = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_NAME = re.compile(r"([1-9][0-9]{0,8})\.json", re.ASCII)

Outcome = Literal["waiting", "approved", "denied", "answered", "expired", "cancelled", "abandoned"]


class TicketError(TouchlineError):
    """A ticket cannot be written or read; the request that it stands for is then denied."""


class Answer(Document):
    """What a person said. `text` is the reason of a denial or the answer to a question."""

    schema_version: int = 1
    decision: Literal["approve", "deny", "answer"]
    text: str = ""
    at: str = ""
    by: str = ""


class Ticket(Document):
    """One request that waits, or how it ended. Times are ISO 8601 in UTC."""

    schema_version: int = 1
    id: str
    run: str
    kind: Literal["permission", "question"]
    tool: str = ""
    raw_tool: str = ""
    command: str = ""
    paths: tuple[str, ...] = ()
    text: str = ""
    folders: tuple[str, ...] = ()
    why: str = ""
    digest: str = ""
    reusable: bool = False
    asked_at: str
    deadline: str
    outcome: Outcome = "waiting"
    answer: Answer | None = None


class TicketFolder:
    """The tickets of one run folder."""

    def __init__(self, run_folder: Path) -> None:
        self.path = run_folder / FOLDER

    def open(self, ticket: Ticket) -> Ticket:
        """Keep `ticket` under the next free number and give it back with that id. Raises TicketError."""
        try:
            make_private_folder(self.path)
            number = max((int(one) for one in self._ids()), default=0)
            for _ in range(1000):
                number += 1
                numbered = ticket.model_copy(update={"id": str(number)})
                if self._create(f"{number}.json", numbered.to_bytes()):
                    return numbered
        except OSError as error:
            raise TicketError(
                f"no ticket can be written in {self.path}: {error.strerror or error}",
                fix="Make the folder writable and free some space.",
            ) from error
        raise TicketError(f"no free ticket number in {self.path}", fix="Look at who else writes there.")

    def answer(self, ticket_id: str, answer: Answer) -> None:
        """Answer a waiting ticket; raises UsageError if there is none such, or it has its answer already."""
        ticket = self.read(ticket_id)
        if ticket.outcome != "waiting":
            raise UsageError(f"ticket {ticket_id} does not wait any more: {ticket.outcome}", fix=self._waiting_hint())
        if (ticket.kind == "question") != (answer.decision == "answer"):
            wanted = "--answer TEXT" if ticket.kind == "question" else "--approve or --deny --reason TEXT"
            raise UsageError(f"ticket {ticket_id} is a {ticket.kind}", fix=f"Reply with {wanted}.")
        try:
            made = self._create(f"{ticket_id}.answer.json", answer.to_bytes())
        except OSError as error:
            raise TicketError(
                f"the answer cannot be written in {self.path}: {error.strerror or error}",
                fix="Make the folder writable and free some space.",
            ) from error
        if not made:
            raise UsageError(f"ticket {ticket_id} has its answer already", fix=self._waiting_hint())

    def read(self, ticket_id: str) -> Ticket:
        """The ticket called `ticket_id`. Raises UsageError if there is none, TicketError if it is damaged."""
        if _ID.fullmatch(ticket_id) is None or not (self.path / f"{ticket_id}.json").is_file():
            raise UsageError(f"there is no ticket {ticket_id!r}", fix=self._waiting_hint())
        return self._ticket(self.path / f"{ticket_id}.json")

    def answer_to(self, ticket_id: str) -> Answer | None:
        """The answer to a ticket, or None while there is none. Raises TicketError for a damaged one."""
        path = self.path / f"{ticket_id}.answer.json"
        try:
            data = _read_private(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TicketError(f"{path} cannot be read: {error.strerror or error}") from error
        try:
            return Answer.model_validate_json(data)
        except ValidationError as error:
            raise TicketError(f"{path} is no answer", fix="Reply with `touchline reply`.") from error

    def close(self, ticket: Ticket, outcome: Outcome, answer: Answer | None = None) -> Ticket:
        """Write down how `ticket` ended. Raises TicketError."""
        ended = ticket.model_copy(update={"outcome": outcome, "answer": answer})
        path = self.path / f"{ticket.id}.json"
        try:
            temporary = self._temporary(ended.to_bytes())
            temporary.replace(path)
        except OSError as error:
            raise TicketError(f"{path} cannot be written: {error.strerror or error}") from error
        return ended

    def all(self) -> list[Ticket]:
        """Every ticket that can be read, by number."""
        found = []
        for one in sorted(self._ids(), key=int):
            with suppress(TicketError):
                found.append(self._ticket(self.path / f"{one}.json"))
        return found

    def waiting(self) -> list[Ticket]:
        """The tickets without an answer."""
        return [one for one in self.all() if one.outcome == "waiting"]

    def _ids(self) -> list[str]:
        try:
            entries = os.listdir(self.path)  # noqa: PTH208  names alone are wanted, not paths
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [match[1] for entry in entries if (match := _NAME.fullmatch(entry))]

    def _ticket(self, path: Path) -> Ticket:
        try:
            return Ticket.model_validate_json(_read_private(path))
        except (OSError, ValidationError) as error:
            raise TicketError(f"{path} is no readable ticket", fix="Remove it; its request is denied.") from error

    def _create(self, name: str, data: bytes) -> bool:
        """Make the file whole, unless one of that name exists."""
        temporary = self._temporary(data)
        try:
            os.link(temporary, self.path / name)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        return True

    def _temporary(self, data: bytes) -> Path:
        descriptor, name = tempfile.mkstemp(prefix=".ticket.", suffix=".touchline-tmp", dir=self.path)
        with os.fdopen(descriptor, "wb") as file:  # mkstemp makes it 0600
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return Path(name)

    def _waiting_hint(self) -> str:
        ids = ", ".join(one.id for one in self.waiting())
        return f"Waiting tickets: {ids}." if ids else "No ticket is waiting."


def _read_private(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            raise OSError(f"{path} is not a file of this user")
        data = file.read(MAX_TICKET_BYTES + 1)
    if len(data) > MAX_TICKET_BYTES:
        raise OSError(f"{path} is too large")
    return data
