"""Owns when two findings are the same one across verification runs (spec page 3, "Finding identity"). Pure.

Same path, and the same defect mechanism or the same symbol with the same symptom; lines do not count. The rules
are tried in the order of `MatchReason`; within one rule the earliest id wins.
"""

from __future__ import annotations

import heapq
import posixpath
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from touchline.documents.decision import MatchReason
from touchline.documents.ledger import Finding

SIMILARITY_THRESHOLD = 88.0
"""Two texts are one cause from here on: rapidfuzz ratio, 0 to 100, of their sorted, folded tokens.

Rewordings of one defect score about 85 to 97, two defects of one pattern ("missing null check in foo", "... in bar")
up to 84. Above the second group on purpose: a missed match costs an id, a wrong one hides a defect.
"""
MAX_COMPARED_CHARS = 2_000
MAX_CANDIDATES = 32
MAX_POSTINGS = 64
"""How many texts one token leads to; together with `MAX_CANDIDATES` this bounds the work for one file."""

_ID = re.compile(r"([A-Z])-([0-9]{1,9})", re.ASCII)
_NOT_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Traits:
    """What identity looks at, of a known finding as of a reported one. `path` is normalised; None: no path."""

    path: str | None
    mechanism: str
    symbol: str = ""
    symptom: str = ""
    title: str = ""
    root_cause: str = ""
    moved: bool = False
    """The file was renamed since the finding was booked, so its stored key names the old path."""


@dataclass(frozen=True, slots=True)
class Match:
    """The known finding that a reported one repeats, and by which rule."""

    finding_id: str
    reason: MatchReason


def normalise_path(path: str | None) -> str | None:
    """The path with `/` separators and without `.`, `..` and doubled slashes, lexically; case is kept.

    None for an empty path. A path that climbs out of the tree keeps its leading `..`: it is no path of the tree.
    A path that git's quoting made storable (bytes that are no Unicode) is kept: its backslashes are no separators.
    """
    if not path:
        return None
    if len(path) > 1 and path[0] == path[-1] == '"':
        return path
    plain = posixpath.normpath(path.replace("\\", "/"))
    if plain.startswith("//"):
        plain = plain[1:]
    return None if plain == "." else plain


def slug(text: str | None) -> str:
    """The text with case and punctuation folded: words joined by `-`; "" when nothing is left."""
    folded = unicodedata.normalize("NFKC", text or "").casefold()
    return _NOT_WORD.sub("-", folded).strip("-")


def finding_key(path: str | None, mechanism: str) -> str:
    """The key of a finding: normalised path and slug of the mechanism. "" when the mechanism says nothing."""
    mechanism_slug = slug(mechanism)
    return f"{normalise_path(path) or ''}#{mechanism_slug}" if mechanism_slug else ""


def id_number(identifier: str) -> int:
    """The n of an id such as F-n or Q-n; a very large number for anything else, so that it never wins a tie."""
    match = _ID.fullmatch(identifier)
    return int(match[2]) if match else 10**12


def next_id(prefix: str, used: Iterable[str]) -> str:
    """The id after the highest one in `used`; the caller names every id ever seen, so none is used again."""
    taken = [int(match[2]) for text in used if (match := _ID.fullmatch(text)) and match[1] == prefix]
    return f"{prefix}-{max(taken, default=0) + 1}"


def current_path(path: str | None, renames: Mapping[str, str]) -> str | None:
    """Where a known path is now: git's renames map an old path to its new one."""
    plain = normalise_path(path)
    return None if plain is None else renames.get(plain, plain)


def normalise_renames(renames: Mapping[str, str]) -> dict[str, str]:
    """The rename map with normalised paths on both sides."""
    pairs = ((normalise_path(old), normalise_path(new)) for old, new in renames.items())
    return {old: new for old, new in pairs if old is not None and new is not None}


def traits_of(finding: Finding, renames: Mapping[str, str]) -> Traits:
    """The traits of a known finding, at the place where its file is now."""
    booked = normalise_path(finding.location.path if finding.location else None)
    path = current_path(booked, renames)
    return Traits(
        path=path,
        mechanism=finding.mechanism,
        symbol=finding.symbol or "",
        symptom=finding.symptom or "",
        title=finding.title,
        root_cause=finding.root_cause,
        moved=path != booked,
    )


@dataclass(slots=True)
class _Texts:
    """Sorted-token texts of one kind (title or root cause) within one file, and an index over their tokens.

    Texts are numbered as they come, the earliest id first, so that a lower number is an earlier finding.
    """

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    exact: dict[str, list[int]] = field(default_factory=dict)
    postings: dict[str, list[int]] = field(default_factory=dict)
    frequency: Counter[str] = field(default_factory=Counter)

    def add(self, finding_id: str, text: str) -> None:
        folded = _sorted_tokens(text)
        if not folded:
            return
        number = len(self.texts)
        self.ids.append(finding_id)
        self.texts.append(folded)
        for token in set(folded.split(" ")):
            self.frequency[token] += 1
            posting = self.postings.setdefault(token, [])
            if len(posting) < MAX_POSTINGS:
                posting.append(number)
        equal = self.exact.setdefault(folded, [])
        if len(equal) < MAX_CANDIDATES:
            equal.append(number)

    def best(self, text: str, possible: Callable[[str], bool]) -> tuple[float, str] | None:
        """The highest score at or above the threshold and whose it is; the earliest finding of equal scores."""
        folded = _sorted_tokens(text)
        if not folded:
            return None
        for number in self.exact.get(folded, ()):
            if possible(self.ids[number]):
                return 100.0, self.ids[number]
        scores = (
            (fuzz.ratio(folded, self.texts[number], score_cutoff=SIMILARITY_THRESHOLD), -number)
            for number in self._candidates(folded)
            if possible(self.ids[number])
        )
        score, number = max(scores, default=(0.0, 0))
        return (score, self.ids[-number]) if score > 0 else None

    def _candidates(self, folded: str) -> Iterable[int]:
        if len(self.texts) <= MAX_CANDIDATES:
            return range(len(self.texts))
        # A rare token tells more than a common one. Sorted, so that no order of a set decides how sums round.
        shared: defaultdict[int, float] = defaultdict(float)
        for token in sorted(set(folded.split(" "))):
            for number in self.postings.get(token, ()):
                shared[number] += 1 / self.frequency[token]
        return heapq.nsmallest(MAX_CANDIDATES, shared, key=lambda number: (-shared[number], number))


@dataclass(slots=True)
class _File:
    """What is known of one file (or of no file)."""

    mechanisms: dict[str, Match] = field(default_factory=dict)
    symbols: dict[tuple[str, str], str] = field(default_factory=dict)
    titles: _Texts = field(default_factory=_Texts)
    causes: _Texts = field(default_factory=_Texts)


class FindingIndex:
    """Finds the known finding that a reported one repeats. Linear in the number of files; never across files."""

    def __init__(self, findings: Iterable[Finding], renames: Mapping[str, str]) -> None:
        self._files: dict[str | None, _File] = {}
        self._known: dict[str, Traits] = {}
        moved = normalise_renames(renames)
        for finding in sorted(findings, key=lambda one: (id_number(one.id), one.id)):
            self.add(finding.id, traits_of(finding, moved))

    def add(self, finding_id: str, traits: Traits) -> None:
        """Make a finding known; a later one never displaces an earlier one."""
        self._known.setdefault(finding_id, traits)
        file = self._files.setdefault(traits.path, _File())
        mechanism = slug(traits.mechanism)
        if mechanism:
            reason: MatchReason = "same-mechanism" if traits.moved else "same-key"
            file.mechanisms.setdefault(mechanism, Match(finding_id, reason))
        pair = slug(traits.symbol), slug(traits.symptom)
        if all(pair):
            file.symbols.setdefault(pair, finding_id)
        if traits.path is not None:
            file.titles.add(finding_id, traits.title)
            file.causes.add(finding_id, traits.root_cause)

    def match(self, traits: Traits, cites: str | None, *, taken: Collection[str] = ()) -> Match | None:
        """The finding that `traits` repeats. `cites` is the ledger id that the report names, believed per path.

        `taken` are findings that likeness alone does not lead to (see `identify` in the gates).
        """
        return self.exact(traits, cites) or self.alike(traits, taken)

    def exact(self, traits: Traits, cites: str | None) -> Match | None:
        """The match by citation, key or symbol and symptom."""
        if cites is not None and cites in self._known and self._may_be_cited(cites, traits.path):
            return Match(cites, "same-ledger-id")
        file = self._files.get(traits.path)
        if file is None:
            return None
        by_mechanism = file.mechanisms.get(slug(traits.mechanism))
        if by_mechanism is not None or traits.path is None:
            return by_mechanism
        by_symbol = file.symbols.get((slug(traits.symbol), slug(traits.symptom)))
        return Match(by_symbol, "same-symbol-and-symptom") if by_symbol is not None else None

    def alike(self, traits: Traits, taken: Collection[str]) -> Match | None:
        """The match by likeness of the root cause or the title; never between two different named symbols."""
        file = self._files.get(traits.path)
        if file is None or traits.path is None:
            return None

        def possible(finding_id: str) -> bool:
            return finding_id not in taken and _may_be_one(self._known[finding_id].symbol, traits.symbol)

        found = [
            best
            for best in (file.causes.best(traits.root_cause, possible), file.titles.best(traits.title, possible))
            if best is not None
        ]
        if not found:
            return None
        _, finding_id = min(found, key=lambda pair: (-pair[0], id_number(pair[1]), pair[1]))
        return Match(finding_id, "similar-cause")

    def _may_be_cited(self, finding_id: str, path: str | None) -> bool:
        known = self._known[finding_id].path
        return known is None or path is None or known == path


def _may_be_one(one: str, other: str) -> bool:
    """Whether two symbols may be one: a missing one may be any, `get` may be `Client.get`."""
    first, second = sorted((slug(one), slug(other)), key=len)
    return not first or first == second or second.endswith(f"-{first}")


def _sorted_tokens(text: str) -> str:
    folded = slug(text[:MAX_COMPARED_CHARS])
    return " ".join(sorted(folded.split("-"))) if folded else ""
