"""The custom rules of a `VERIFICATION.md` (spec page 5): its list items, by the heading under which they stand. Pure.

Under a heading that names the exerciser they are for the exerciser, under any other one for the judges. Text that is
no list item is explanation for people. Fenced code is skipped. The caller takes the file from where page 8 trusts it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_RULES = 100
MAX_RULE = 2000

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+(.*?))?[ \t]*#*[ \t]*")
_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_EXERCISER = re.compile(r"\b(?:exercis\w*|usage|use)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rules:
    """Rule texts, one line each, in the order of the file."""

    exerciser: tuple[str, ...] = ()
    review: tuple[str, ...] = ()


def verification_rules(text: str) -> Rules:
    """The rules in `text`; at most `MAX_RULES`, each cut to `MAX_RULE` characters."""
    items: list[tuple[bool, list[str]]] = []
    exerciser = in_item = False
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence or mark:
            fence = _fence_after(fence, mark[1] if mark else "")
            in_item = False
        elif heading := _HEADING.fullmatch(line):
            exerciser = bool(_EXERCISER.search(heading[1] or ""))
            in_item = False
        elif item := _ITEM.fullmatch(line):
            items.append((exerciser, [item[1]]))
            in_item = True
        elif not line.strip():
            in_item = False
        elif in_item:
            items[-1][1].append(line)
    rules = [(which, " ".join(" ".join(lines).split())[:MAX_RULE]) for which, lines in items[:MAX_RULES]]
    return Rules(
        tuple(dict.fromkeys(rule for which, rule in rules if which)),
        tuple(dict.fromkeys(rule for which, rule in rules if not which)),
    )


def _fence_after(fence: str, mark: str) -> str:
    """The fence that is open after a line with `mark`."""
    if not fence:
        return mark
    closes = mark[:1] == fence[0] and len(mark) >= len(fence)
    return "" if closes else fence
