"""What is scanned and what comes out of it (spec page 5, "Secrets": a value is never printed, logged or stored).

No type here holds a value that was found: a hit names kind, place and a keyed digest, which tells whether two hits
are the same value and lets nobody try candidates.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

DIGEST_HEX = 16


class Grade(StrEnum):
    """What a hit means in code."""

    STOP = "stop"
    """A provider token, a private key, a connection string with a password: nothing is committed or pushed."""
    NOTICED = "noticed"
    """Looks like a secret by its name or its randomness: a finding for the player."""


class Kind(StrEnum):
    """What a source is, and so what is looked for in it."""

    CODE = "code"
    BINARY = "binary"
    """Bytes as Latin-1: only tokens, keys and connection strings."""
    METADATA = "metadata"
    """Commit message, title, body: sensitive personal data too."""
    NAME = "name"
    """A branch name: as metadata, in whatever letter case."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a source: its number in the file, and whether it is part of the change or only around it."""

    number: int
    text: str = field(repr=False)
    added: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """One text to scan. `commit` is set where one of several commits is meant."""

    path: str
    lines: tuple[Line, ...]
    kind: Kind = Kind.CODE
    commit: str = ""

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """One secret at one place. `start` and `end` are offsets in the text of its source."""

    path: str
    line: int
    kind: str
    grade: Grade
    digest: str
    commit: str = ""
    start: int = 0
    end: int = 0

    @property
    def mark(self) -> str:
        """What stands in a text instead of the value."""
        return f"redacted-{self.kind}-{self.digest}"


@dataclass(frozen=True, slots=True, order=True)
class Unscanned:
    """A part that was not scanned, or not in full; `stops` where a token could have got through."""

    path: str
    reason: str
    stops: bool
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """The outcome of one scan. `notes` say what of the repository's own rules could not be used."""

    hits: tuple[Hit, ...] = ()
    unscanned: tuple[Unscanned, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def stopping(self) -> tuple[Hit, ...]:
        """The hits that forbid a commit or a push."""
        return tuple(hit for hit in self.hits if hit.grade is Grade.STOP)

    @property
    def noticed(self) -> tuple[Hit, ...]:
        """The hits that become findings."""
        return tuple(hit for hit in self.hits if hit.grade is Grade.NOTICED)

    @property
    def stops(self) -> bool:
        """Whether nothing may be committed or pushed: a secret, or something that nobody looked at."""
        return bool(self.stopping) or any(part.stops for part in self.unscanned)

    def reasons(self, *, limit: int = 20) -> tuple[str, ...]:
        """Why it stops, one short sentence each, without any value."""
        words = [f"{_where(hit.path, hit.line, hit.commit)}: {hit.kind}" for hit in self.stopping]
        words += [f"{_where(part.path, 0, part.commit)}: {part.reason}" for part in self.unscanned if part.stops]
        more = len(words) - limit
        return (*words[:limit], *([f"and {more} more"] if more > 0 else []))


def digest_of(key: bytes, value: str) -> str:
    """The keyed digest that stands for a value."""
    return hmac.new(key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:DIGEST_HEX]


def whole(path: str, text: str, *, kind: Kind = Kind.CODE, commit: str = "") -> Source:
    """A source of which every line is new."""
    parts = enumerate(text.split("\n"), start=1)
    return Source(path, tuple(Line(number, part) for number, part in parts), kind, commit)


def join(scans: Iterable[Scan]) -> Scan:
    """Several scans as one, without repetition."""
    scans = tuple(scans)
    return Scan(
        tuple(sorted({hit for scan in scans for hit in scan.hits})),
        tuple(sorted({part for scan in scans for part in scan.unscanned})),
        tuple(dict.fromkeys(note for scan in scans for note in scan.notes)),
    )


def _where(path: str, line: int, commit: str) -> str:
    place = f"{path}:{line}" if line else path
    return f"{place} (commit {commit[:12]})" if commit else place
