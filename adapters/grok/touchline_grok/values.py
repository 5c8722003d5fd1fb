"""Reading JSON that is not trusted: a field of another type than expected counts as absent. Pure, never raises."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def parsed(line: str) -> Mapping[str, Any] | None:
    """The JSON object of a line, or None."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mapping(value: object) -> Mapping[str, Any]:
    """`value` if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list; whatever else it holds, and whatever is no list, is left out."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def text(fields: Mapping[str, Any], key: str) -> str:
    """A string field, or ""; what cannot be encoded becomes a question mark."""
    value = fields.get(key)
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def number(fields: Mapping[str, Any], key: str) -> float:
    """A finite number that is not negative, or 0."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        found = float(value)
    except OverflowError:
        return 0.0
    return found if math.isfinite(found) and found > 0 else 0.0


def whole(fields: Mapping[str, Any], key: str) -> int:
    """A whole number that is not negative, or 0; what is told as 3.0 is 3."""
    return int(number(fields, key))


def flag(fields: Mapping[str, Any], key: str) -> bool:
    """Whether the field is exactly true."""
    return fields.get(key) is True
