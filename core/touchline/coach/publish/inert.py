"""The one place where text is escaped for publishing (DESIGN.md; spec page 6, "Body"). Pure.

Text of models, tools and hosts can be read in a body but does nothing there: no heading, HTML, comment, marker of
ours, mention, reference to an issue or closing keyword comes out of it.
"""

from __future__ import annotations

import re
import unicodedata

ZERO_WIDTH = "\u200b"
CUT = "… (cut)"

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~>$])")
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}):(?=//)")
_GH = re.compile(r"(?i)\b(GH)-(?=\d)")
_START = re.compile(r"^(?:[-=]{1,}|\d{1,9}[.)])(?=\s|$|[-=])")


def inert(text: str, limit: int = 500) -> str:
    """`text` as one line of plain Markdown text, at most about `limit` code points of it, with no effect."""
    shown = "".join(" " if unicodedata.category(letter) in _UNSEEN else letter for letter in text[: limit * 4])
    line = " ".join(shown.split())
    if len(line) > limit:
        line = line[:limit].rstrip() + CUT
    line = _SPECIAL.sub(r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;"))
    line = line.replace("@", f"@{ZERO_WIDTH}")
    line = line.replace("\\#", f"\\#{ZERO_WIDTH}").replace("\\!", f"\\!{ZERO_WIDTH}")
    line = _GH.sub(rf"\1{ZERO_WIDTH}-", line)
    line = _URL.sub(rf"\1:{ZERO_WIDTH}", line)
    return _START.sub(lambda match: f"{ZERO_WIDTH}{match[0]}", line)


def inert_title(text: str, limit: int = 120) -> str:
    """A title of one plain line: hosts render no Markdown there, but they read references and mentions."""
    shown = "".join(" " if unicodedata.category(letter) in _UNSEEN else letter for letter in text[: limit * 4])
    line = " ".join(shown.split())
    line = re.sub(r"[@](?=\w)|[#!](?=\d)", "", line)
    line = _GH.sub(r"\1 ", line)
    return line[: limit - 1].rstrip() + "…" if len(line) > limit else line


def capped(body: str, limit: int) -> str:
    """`body` in at most `limit` code points, cut with a marker that says so."""
    marker = "\n\n*This text was longer than the host allows and is cut here.*\n"
    return body if len(body) <= limit else body[: limit - len(marker)].rstrip() + marker
