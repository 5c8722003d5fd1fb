"""Text of models and programs made safe to show on a terminal (spec page 8). Pure.

Control, format (right-to-left marks included), surrogate and separator characters are shown as what they are
instead of being obeyed.
"""

from __future__ import annotations

import unicodedata

_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str, limit: int) -> str:
    """`text` on one line, at most `limit` code points, nothing in it that a terminal obeys."""
    line = " ".join(text[: limit * 4].split())
    shown = _shown(line)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def printable_lines(text: str) -> str:
    """`text` with its line breaks, nothing else in it that a terminal obeys."""
    return "\n".join(_shown(line.expandtabs()) for line in text.split("\n"))


def visible(text: str) -> str:
    """`text` on one line and otherwise as it is, nothing in it that a terminal obeys."""
    return _shown(text)


def told(text: str, limit: int) -> str:
    """`text` with its line breaks, in at most `limit` code points, cut with a marker that says so."""
    if len(text) <= limit:
        return printable_lines(text)
    return f"{printable_lines(text[:limit])}… (cut, {len(text):,} characters)"


def _shown(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(_escape(letter) if unicodedata.category(letter) in _OBEYED else letter for letter in line)


def _escape(letter: str) -> str:
    return f"\\x{ord(letter):02x}" if ord(letter) < 0x100 else f"\\u{ord(letter):04x}"
