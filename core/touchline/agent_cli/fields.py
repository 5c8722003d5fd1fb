"""Reading untrusted JSON: a field of another type than expected counts as absent. Pure, never raises."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_MOST_MS = 366 * 86_400_000
_YEAR_10000 = 253_402_300_800


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
    """The objects in a list; anything else in it, and anything that is no list, is left out."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """The strings in a list, each `encodable`."""
    return [encodable(entry) for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def text(fields: Mapping[str, Any], key: str) -> str:
    """A string field, or ""; see `encodable`."""
    value = fields.get(key)
    return encodable(value) if isinstance(value, str) else ""


def encodable(value: str) -> str:
    """`value` with lone surrogates as U+FFFD, so that it can be encoded."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


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
    value = fields.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return max(value, 0)
    return int(number(fields, key))


def seconds(fields: Mapping[str, Any], key: str) -> float | None:
    """A duration in whole milliseconds as seconds, or None; one beyond a year is taken for nonsense."""
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST_MS:
        return None
    return value / 1000


def flag(fields: Mapping[str, Any], key: str) -> bool:
    """Whether the field is exactly true."""
    return fields.get(key) is True


def iso_utc(epoch_s: float) -> str | None:
    """A Unix time after 1970 as ISO 8601 UTC in whole seconds; None for what is none."""
    if not 0 < epoch_s < _YEAR_10000:
        return None
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="seconds")
