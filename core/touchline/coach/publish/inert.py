"""The one place where text is escaped for publishing (DESIGN.md; spec page 6, "Body"). Pure.

Text of models, tools and hosts can be read in a body but does nothing there: no heading, HTML, comment, marker of
ours, mention, reference, closing keyword or quick action comes out of it, and nothing in it is there unseen.
"""

from __future__ import annotations

import re
import unicodedata

ZERO_WIDTH = "\u200b"
CUT = "… (cut)"
NO_TITLE = "Change"

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that show as nothing: fillers, joiners, selectors. Text can be hidden in them.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~>$])")
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}):(?=//)")
_WWW = re.compile(r"(?i)\b(www)\.")
_GH = re.compile(r"(?i)\b(GH)-(?=\d)")
_REFERENCE = re.compile(r"(&amp;|%)(?=[\w\"'])")
_START = re.compile(r"^(?:[-=]{1,}|\d{1,9}[.)])(?=\s|$|[-=])|^/")
_STATE_WORD = re.compile(r"(?i)^(?:\s*(?:\[(?:draft|wip)\]|\((?:draft|wip)\)|(?:draft|wip)\s*[:-])\s*)+")
_SKIP_CI = re.compile(r"(?i)\[\s*(?:(?:skip|no)[ _-]?(?:ci|actions)|(?:ci|actions)[ _-]?skip)\s*\]")


def inert(text: str, limit: int = 500) -> str:
    """`text` as one line of plain Markdown text, at most about `limit` code points of it, with no effect."""
    line = _one_line(text, limit, CUT)
    line = _SPECIAL.sub(r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;"))
    line = line.replace("@", f"@{ZERO_WIDTH}")
    line = line.replace("\\#", f"\\#{ZERO_WIDTH}").replace("\\!", f"\\!{ZERO_WIDTH}")
    line = _REFERENCE.sub(rf"\1{ZERO_WIDTH}", line)
    line = _GH.sub(rf"\1{ZERO_WIDTH}-", line)
    line = _URL.sub(rf"\1:{ZERO_WIDTH}", line)
    line = _WWW.sub(rf"\1{ZERO_WIDTH}.", line)
    return _START.sub(lambda match: f"{ZERO_WIDTH}{match[0]}", line)


def inert_title(text: str, limit: int = 120) -> str:
    """A title of one plain line: hosts render no Markdown there, but they read references, mentions and states."""
    line = _one_line(text, limit, "…")
    while True:
        before = line
        line = re.sub(r"[@](?=\w)|[#!](?=\d)", "", line)
        line = _SKIP_CI.sub(" ", _STATE_WORD.sub("", _GH.sub(r"\1 ", line)))
        line = " ".join(line.split())
        if line == before:  # what one step took out can leave a new word behind
            return line or NO_TITLE


def _one_line(text: str, limit: int, cut: str) -> str:
    """`text` on one line in at most `limit` code points, `cut` at its end where more was there."""
    text = text.strip()
    head = _BLANK.sub("", text[: limit * 4])
    line = " ".join("".join(" " if unicodedata.category(letter) in _UNSEEN else letter for letter in head).split())
    if len(line) <= limit and len(text) <= limit * 4:
        return line
    return line[: limit - len(cut)].rstrip() + cut
