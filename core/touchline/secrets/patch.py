"""The added lines of a patch (spec page 5, "Secrets: the added lines of the patch"). Pure.

The counts in the hunk headers decide what is content: an added line that looks like a header is only a line.
"""

from __future__ import annotations

import os
import re

from touchline.secrets.values import Line, Source

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def parse_patch(patch: bytes, *, commit: str = "") -> tuple[Source, ...]:
    """One source for each file to which `patch` (git's, with `a/` and `b/`) adds something."""
    found: dict[str, list[Line]] = {}
    path = ""
    old = new = number = 0
    for raw in patch.split(b"\n"):
        if old or new:
            mark, text = raw[:1], raw[1:]
            if mark == b"-":
                old -= 1
            elif mark in (b"+", b" ", b""):
                line = Line(number, text.decode("utf-8", "replace"), mark == b"+")
                found.setdefault(path, []).append(line)
                old -= mark != b"+"
                new -= 1
                number += 1
            continue
        hunk = _HUNK.match(raw)
        if hunk:
            old, number, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
        elif raw.startswith(b"+++ "):
            path = _path(raw[4:])
    return tuple(
        Source(name, tuple(lines), commit=commit) for name, lines in found.items() if any(line.added for line in lines)
    )


def _path(name: bytes) -> str:
    # Git ends a name that holds blanks with a tab.
    name = name.removesuffix(b"\t")
    if name.startswith(b'"') and name.endswith(b'"') and len(name) > 1:
        name = _ESCAPE.sub(_unescape, name[1:-1])
    return os.fsdecode(name.removeprefix(b"b/"))


def _unescape(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    return bytes([int(escape, 8) & 0xFF]) if len(escape) == 3 else _LETTERS.get(escape, escape)
