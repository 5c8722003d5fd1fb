"""How long text is cut, and how a cut shows (spec page 1, "Text").

Counts are Unicode code points. A text that carries the truncation marker hides something, so it is never
enough to allow a permission: `is_truncated` is the question to ask first.
"""

from __future__ import annotations

from touchline.texts import QUESTION_CUT

QUESTION_TEXT_LIMIT = 8000
"""How much of a turn's text is handed on as a question; the whole is in the task's `render.log`."""

TRUNCATION_MARKER = "… [truncated]"
"""Stands where a text was cut."""


def truncate(text: str, limit: int) -> str:
    """The first `limit` code points."""
    return text[:limit] if limit > 0 else ""


def tail(text: str, limit: int) -> str:
    """The last `limit` code points."""
    return text[-limit:] if limit > 0 else ""


def truncate_marked(text: str, limit: int) -> str:
    """The first `limit` code points, followed by the marker only if something was cut."""
    cut = truncate(text, limit)
    return cut if len(cut) == len(text) else cut + TRUNCATION_MARKER


def is_truncated(text: str) -> bool:
    """Whether something was cut from `text` (or it pretends so); fail closed then."""
    return TRUNCATION_MARKER in text


def clamp_question(text: str) -> str:
    """`text` up to `QUESTION_TEXT_LIMIT`; beyond it cut, with a closing line that says where the rest is."""
    if len(text) <= QUESTION_TEXT_LIMIT:
        return text
    return truncate(text, QUESTION_TEXT_LIMIT) + QUESTION_CUT.format(limit=QUESTION_TEXT_LIMIT)


def head_tail(text: str, head: int, last: int) -> str:
    """The first `head` and the last `last` code points, with the marker between them if anything was cut."""
    head, last = max(head, 0), max(last, 0)
    if len(text) <= head + last:
        return text
    return truncate(text, head) + TRUNCATION_MARKER + tail(text, last)
