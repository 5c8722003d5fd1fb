"""Where two documents differ first, in the order in which they are written (spec page 7, "first difference"). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from touchline.documents.base import Document

ABSENT = "absent"
"""How a field or row is shown that only the other side has."""


class Differing(NamedTuple):
    """The place, such as `findings[F-2].severity` ("" for the whole), and the two JSON values there."""

    field: str
    then: Any
    now: Any


def differing(then: Any, now: Any, place: str = "") -> Differing | None:
    """The first difference of two values; documents are compared as the JSON that they are written as."""
    then, now = _plain(then), _plain(now)
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*then, *now]):
            inner = f"{place}.{key}" if place else str(key)
            found = differing(then.get(key, ABSENT), now.get(key, ABSENT), inner)
            if found is not None:
                return found
        return None
    if _is_list(then) and _is_list(now):
        for index in range(max(len(then), len(now))):
            one = then[index] if index < len(then) else ABSENT
            other = now[index] if index < len(now) else ABSENT
            found = differing(one, other, f"{place}[{_label(one, other, index)}]")
            if found is not None:
                return found
        return None
    same = then == now and type(then) is type(now)
    return None if same else Differing(place, then, now)


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, Document) else value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _label(one: Any, other: Any, index: int) -> str:
    """Rows with an id are named by it, as long as both sides have the same one there."""
    first, second = _id(one), _id(other)
    return first if first and second in (first, "") else str(index)


def _id(row: Any) -> str:
    found = _plain(row)
    return str(found["id"]) if isinstance(found, Mapping) and "id" in found else ""
