"""How foreign text stands in a prompt: every line behind a bar, so that it cannot pose as ours (spec page 5)."""

from __future__ import annotations

import unicodedata

BAR = "| "
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def quoted(text: str) -> str:
    """`text` with each line behind `BAR`; control and format characters (all but tabs) are shown, not obeyed."""
    return "\n".join(BAR + _shown(line) for line in text.splitlines()) or BAR.rstrip()


def one_line(text: str, limit: int = 300) -> str:
    """`text` as part of one line of ours, at most `limit` code points."""
    line = _shown(" ".join(text[: limit * 4].split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _shown(line: str) -> str:
    if line.replace("\t", "").isprintable():
        return line
    return "".join(
        f"\\u{ord(letter):04x}" if letter != "\t" and unicodedata.category(letter) in _OBEYED else letter
        for letter in line
    )
