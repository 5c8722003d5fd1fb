"""Owns how much of a model's text a gate keeps (spec page 4). Pure."""

from __future__ import annotations

MAX_LINE_CHARS = 500
MAX_TEXT_CHARS = 2_000


def bounded(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """The text, cut to `limit` characters with the cut shown."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
