"""What a repository allows (spec page 5, "Secrets: the repository's own patterns and allow-list honoured"). Pure.

Honoured: of `.secrets.baseline` the accepted values (those not audited as real), the excluding patterns, the
entropy limits and the switched-off detectors; lines that carry `pragma: allowlist secret` (or the one after
`allowlist nextline secret`) in the base. Code that a baseline names (custom plugins and filters) is not run: it is
named in the notes. No switch turns off the search for tokens, private keys and connection strings; what an
excluding pattern of the base lets through of them is counted in a note.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

BASELINE = ".secrets.baseline"
_PRAGMA = re.compile(r"(?i)pragma: ?(?:allow|white)list[ -](?P<next>nextline[ -])?secret")
_EXCLUDING = {
    "detect_secrets.filters.regex.should_exclude_file": "files",
    "detect_secrets.filters.regex.should_exclude_line": "lines",
    "detect_secrets.filters.regex.should_exclude_secret": "secrets",
}
_BUILT_IN = ("detect_secrets.filters.heuristic.", "detect_secrets.filters.allowlist.", "detect_secrets.filters.common.")


@dataclass(frozen=True, slots=True)
class Allowances:
    """What counts as allowed. `accepted`: path and SHA-1 of the value, as detect-secrets writes them."""

    accepted: frozenset[tuple[str, str]] = frozenset()
    lines: frozenset[str] = frozenset()
    """SHA-256 of allowed lines, without the blanks around them."""
    exclude: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """"files", "lines", "secrets" -> regular expressions."""
    detectors: tuple[str, ...] | None = None
    """The names of the detectors that the baseline uses, None for all."""
    limits: Mapping[str, float] = field(default_factory=dict)
    patterns: Mapping[str, str] = field(default_factory=dict)
    """Kind -> regular expression: what this repository calls a secret besides (it stops)."""
    notes: tuple[str, ...] = ()


NOTHING = Allowances()


def parse_baseline(content: bytes) -> Allowances:
    """The allowances of a `.secrets.baseline`; one that cannot be read allows nothing and is noted."""
    if not content.strip():
        return NOTHING
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return Allowances(notes=(f"{BASELINE} is no JSON object: nothing in it counts",))
    notes: list[str] = []
    detectors, limits = _detectors(document.get("plugins_used"), notes)
    return Allowances(
        accepted=frozenset(_accepted(document.get("results"))),
        exclude=_exclusions(document.get("filters_used"), notes),
        detectors=detectors,
        limits=limits,
        notes=tuple(notes),
    )


def pragma_lines(text: str) -> Iterable[str]:
    """The digests of the lines of `text` that carry a pragma or follow one for the next line."""
    following = False
    for line in text.split("\n"):
        found = _PRAGMA.search(line)
        if following or (found and not found["next"]):
            yield line_digest(line)
        following = bool(found and found["next"])


def line_digest(line: str) -> str:
    """How `Allowances.lines` knows a line."""
    return hashlib.sha256(line.strip().encode("utf-8", "surrogatepass")).hexdigest()


def value_digest(value: str) -> str:
    """How a baseline knows a value."""
    return hashlib.sha1(value.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _accepted(results: Any) -> Iterable[tuple[str, str]]:
    for path, entries in results.items() if isinstance(results, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            # An entry that a person marked as a real secret is a reminder, not a permission.
            if isinstance(entry, dict) and entry.get("is_secret") is not True:
                value = entry.get("hashed_secret")
                if isinstance(value, str):
                    yield str(path), value.lower()


def _exclusions(filters: Any, notes: list[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for entry in filters if isinstance(filters, list) else ():
        path = str(entry.get("path", "")) if isinstance(entry, dict) else ""
        if path in _EXCLUDING:
            given = entry.get("pattern", [])
            given = [given] if isinstance(given, str) else given
            found[_EXCLUDING[path]] = tuple(str(item) for item in given if _compiles(str(item), notes))
        elif path and not path.startswith(_BUILT_IN):
            notes.append(f"{BASELINE}: the filter {path[:100]} is not used")
    return found


def _detectors(plugins: Any, notes: list[str]) -> tuple[tuple[str, ...] | None, dict[str, float]]:
    if not isinstance(plugins, list):
        return None, {}
    names: list[str] = []
    limits: dict[str, float] = {}
    for entry in plugins:
        if not isinstance(entry, dict):
            continue
        name = str(entry.get("name", ""))
        if "path" in entry:
            notes.append(f"{BASELINE}: the detector {name[:100]} is code of the repository and is not run")
            continue
        names.append(name)
        limit = entry.get("limit")
        if isinstance(limit, (int, float)) and 0 <= limit <= 8:
            limits[name] = float(limit)
    return tuple(names), limits


def _compiles(pattern: str, notes: list[str]) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        notes.append(f"{BASELINE}: an excluding pattern is no regular expression")
        return False
    return True
