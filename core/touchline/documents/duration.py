"""Owns the text form of a duration (spec page 5): whole seconds above zero, or a number with s, m or h."""

from __future__ import annotations

import re

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_FORM = re.compile(r"([0-9]{1,9})([smh]?)", re.ASCII)

EXPECTED = "a positive whole number of seconds, or one with s, m or h such as 90s, 30m, 6h"
"""What to tell a person whose duration was refused."""


def parse_duration(text: str) -> int:
    """Seconds (>= 1) of `text`; surrounding white space is ignored.

    Raises ValueError with `EXPECTED` for every other form; nothing is rounded, zero is refused.
    """
    matched = _FORM.fullmatch(text.strip())
    seconds = int(matched[1]) * _UNITS[matched[2]] if matched else 0
    if seconds <= 0:
        raise ValueError(f"expected {EXPECTED}")
    return seconds
