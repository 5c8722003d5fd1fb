"""Taking secrets out of what is published beside the code (spec page 5, "In metadata: redacted-{kind}-{hex}").

A name is the same for the same value all through a run, and tells nothing about it. A text is searched again
after each replacement, until nothing is found; one that cannot be cleaned is not published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from touchline.errors import TouchlineError
from touchline.git.refnames import is_branch_name
from touchline.git.repository import Repository
from touchline.secrets.scan import Scanner
from touchline.secrets.values import Hit, Kind, Scan, whole

_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text that may be published, and the kinds that were taken out of it."""

    text: str
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Redactor:
    """Cleans texts with a scanner, under whose key the replacements are named."""

    scanner: Scanner

    def text(self, name: str, text: str) -> Redacted:
        """One message, title or body. Raises TouchlineError if it cannot be cleaned or scanned."""
        return self.texts({name: text})[name]

    def texts(self, texts: Mapping[str, str]) -> dict[str, Redacted]:
        """Several texts by name."""
        return self._clean(texts, (Kind.METADATA,))

    def branch(self, repo: Repository, name: str) -> Redacted:
        """A branch name, which git accepts afterwards. Raises TouchlineError if it does not."""
        cleaned = self._clean({"branch": name}, (Kind.METADATA, Kind.NAME))["branch"]
        if not cleaned.kinds:
            return cleaned
        # What a replacement leaves around itself need not be a name any more.
        renamed = re.sub(r"/{2,}", "/", re.sub(r"[^\w./+-]+|\.{2,}|@\{", "-", cleaned.text)).strip("/.-")
        if not is_branch_name(repo, renamed):
            raise TouchlineError(
                "the branch name holds a secret, and without it git does not accept the rest",
                fix="Choose another branch name.",
            )
        return Redacted(renamed, cleaned.kinds)

    def _clean(self, texts: Mapping[str, str], kinds: Iterable[Kind]) -> dict[str, Redacted]:
        kinds = tuple(kinds)
        now = dict(texts)
        taken: dict[str, set[str]] = {name: set() for name in texts}
        for _ in range(_ROUNDS):
            scan = self.scanner.scan_sources(
                [whole(name, text, kind=kind) for name, text in now.items() for kind in kinds]
            )
            _require_whole(scan)
            if not scan.hits:
                return {name: Redacted(text, tuple(sorted(taken[name]))) for name, text in now.items()}
            for name in {hit.path for hit in scan.hits}:
                hits = [hit for hit in scan.hits if hit.path == name]
                now[name] = replace_hits(now[name], hits)
                taken[name].update(hit.kind for hit in hits)
        raise TouchlineError(
            f"a secret cannot be taken out of: {', '.join(sorted({hit.path for hit in scan.hits}))}",
            fix="Write this text without it.",
        )


def replace_hits(text: str, hits: Iterable[Hit]) -> str:
    """`text` with each hit (of a scan of exactly this text) replaced by its mark."""
    end = len(text)
    parts: list[str] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end), reverse=True):
        if hit.end <= end:
            parts += [text[hit.end : end], hit.mark]
            end = hit.start
    parts.append(text[:end])
    return "".join(reversed(parts))


def _require_whole(scan: Scan) -> None:
    for part in scan.unscanned:
        if part.stops:
            raise TouchlineError(
                f"{part.path} cannot be published: {part.reason}", fix="Make it shorter, or try again."
            )
