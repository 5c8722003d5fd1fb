"""Reading untrusted JSON: a field of another type than expected counts as absent. Pure, never raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list; anything else in it, and anything that is no list, is left out."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def text(fields: Mapping[str, Any], key: str) -> str:
    """A string field, or ""; see `encodable`."""
    value = fields.get(key)
    return encodable(value) if isinstance(value, str) else ""


def encodable(value: str) -> str:
    """`value` with lone surrogates as U+FFFD, so that it can be encoded on either side."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def whole(fields: Mapping[str, Any], key: str) -> int:
    """A whole number >= 0, or 0."""
    value = fields.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def seconds(fields: Mapping[str, Any], key: str) -> float | None:
    """A duration in milliseconds as seconds, or None; one beyond a year is taken for nonsense."""
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 366 * 86_400_000:
        return None
    return value / 1000


def flag(fields: Mapping[str, Any], key: str) -> bool:
    """Whether the field is exactly true."""
    return fields.get(key) is True
