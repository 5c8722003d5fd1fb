"""The search of one source, in two passes: tokens, then what is noticed (spec page 5, "Secrets").

Pure but for the second pass, which needs a folder. Gives hits; the values stay behind.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from touchline.secrets.allow import Allowances, line_digest, value_digest
from touchline.secrets.keywords import notice
from touchline.secrets.patterns import Found, find_own, find_stopping, is_sample
from touchline.secrets.personal import find_personal
from touchline.secrets.values import Grade, Hit, Kind, Source, digest_of

_SLUG = re.compile(r"[^a-z0-9]+")
_HARMLESS_IN_PROSE = frozenset({"private-key-header"})
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{7,64}")


@dataclass(slots=True)
class Search:
    """Searches sources under one key and one set of allowances; `excluded` counts what only those let through."""

    key: bytes = field(repr=False)
    allowed: Allowances
    excluded: int = 0
    _own: dict[str, re.Pattern[str]] = field(init=False)
    _exclude: dict[str, list[re.Pattern[str]]] = field(init=False)

    def __post_init__(self) -> None:
        self._own = {slug(kind): re.compile(pattern) for kind, pattern in self.allowed.patterns.items()}
        self._exclude = {part: [re.compile(item) for item in items] for part, items in self.allowed.exclude.items()}

    def tokens(self, source: Source) -> list[Hit]:
        """The first pass: everything whose form alone says what it is."""
        text = source.text
        found = find_stopping(text, loose=source.kind is Kind.NAME)
        parts: Iterable[Found] = itertools.chain(found, find_own(text, self._own))
        if source.kind in (Kind.METADATA, Kind.NAME):
            parts = (
                part for part in itertools.chain(parts, find_personal(text)) if part.kind not in _HARMLESS_IN_PROSE
            )
        return list(self._hits(source, parts))

    def noticed(self, source: Source, folder: Path) -> list[Hit]:
        """The second pass: what detect-secrets notices in the added lines."""
        starts = _line_starts(source)
        added = [index for index, line in enumerate(source.lines) if line.added]
        lines = [source.lines[index] for index in added]
        allowed = self.allowed
        found = notice(lines, source.path, folder=folder, detectors=allowed.detectors, limits=allowed.limits)
        parts = (
            Found(part.kind, part.grade, starts[added[index]] + part.start, starts[added[index]] + part.end, part.value)
            for index, part in found
            if not is_sample(part.value) and not (source.kind in (Kind.METADATA, Kind.NAME) and _is_prose(part.value))
        )
        return list(self._hits(source, parts))

    def _hits(self, source: Source, parts: Iterable[Found]) -> Iterator[Hit]:
        starts = _line_starts(source)
        for part in parts:
            first, last = bisect_right(starts, part.start) - 1, bisect_right(starts, max(part.start, part.end - 1)) - 1
            line = next((source.lines[index] for index in range(first, last + 1) if source.lines[index].added), None)
            if line is None or self._is_allowed(source, line.text, part):
                continue
            digest = digest_of(self.key, part.value)
            yield Hit(source.path, line.number, part.kind, part.grade, digest, source.commit, part.start, part.end)

    def _is_allowed(self, source: Source, line: str, part: Found) -> bool:
        if (source.path, value_digest(part.value)) in self.allowed.accepted:
            return True
        if source.kind is Kind.CODE and line_digest(line) in self.allowed.lines:
            return True
        texts = {"files": source.path, "lines": line, "secrets": part.value}
        if source.kind not in (Kind.CODE, Kind.BINARY):
            texts.pop("files")
        excluded = any(pattern.search(texts[name]) for name in texts for pattern in self._exclude.get(name, ()))
        self.excluded += excluded and part.grade is Grade.STOP
        return excluded


def strongest(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The hits without those that lie in a stronger or longer one of the same source."""
    kept: list[Hit] = []
    order = sorted(
        set(hits), key=lambda hit: (hit.path, hit.commit, hit.grade is not Grade.STOP, hit.start - hit.end, hit)
    )
    for _, group in itertools.groupby(order, key=lambda hit: (hit.path, hit.commit)):
        taken: list[Hit] = []
        for hit in group:
            if not any(hit.start < other.end and other.start < hit.end for other in taken):
                taken.append(hit)
        kept.extend(taken)
    return tuple(sorted(kept))


def slug(kind: str) -> str:
    """A kind as it may stand in a branch name."""
    return _SLUG.sub("-", kind.lower()).strip("-")[:40].strip("-") or "secret"


def _line_starts(source: Source) -> Sequence[int]:
    return [0, *itertools.accumulate(len(line.text) + 1 for line in source.lines[:-1])]


def _is_prose(value: str) -> bool:
    """Whether a noticed value is a word or an object id: both belong into a title or a body."""
    mixed = any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)
    return len(value) < 8 or not mixed or _OBJECT_ID.fullmatch(value) is not None
