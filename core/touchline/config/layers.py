"""Owns which value wins when several levels set the same key (spec page 8). Pure.

Mappings merge key by key, everything else is replaced as a whole; only `permissions.deny` adds up over all
levels. A key without a value (null) says nothing at its level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from touchline.config.keys import Path

DENY: Path = ("permissions", "deny")

_EXCLUSIVE: tuple[tuple[Path, frozenset[str]], ...] = ((("exerciser",), frozenset({"executor", "command"})),)
"""Keys of which a higher level's choice removes the other one of a lower level."""


class Level(StrEnum):
    """Where a value can come from, lowest first."""

    DEFAULT = "default"
    USER = "user file"
    REPOSITORY = "repository file"
    CONFIG = "--config"
    ENVIRONMENT = "environment"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one value came from; `place` is file:line:column, a variable's name, or ""."""

    level: Level
    place: str = ""

    def __str__(self) -> str:
        return f"{self.level} {self.place}" if self.place else str(self.level)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one level says. `where` names the place of a key's path."""

    level: Level
    value: dict[str, Any]
    where: Callable[[Path], str]

    def origin(self, path: Path) -> Origin:
        return Origin(self.level, self.where(path))


def without_nulls(value: Any) -> Any:
    """`value` without mapping keys that have no value."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return value


def merge(layers: Iterable[Layer]) -> tuple[dict[str, Any], dict[Path, Origin]]:
    """The merged value, and the origin of each leaf (a value that is no mapping); lowest layer first."""
    value: dict[str, Any] = {}
    origins: dict[Path, Origin] = {}
    for layer in layers:
        _into(value, layer.value, (), layer, origins)
    return value, origins


def _into(
    target: dict[str, Any], source: dict[str, Any], path: Path, layer: Layer, origins: dict[Path, Origin]
) -> None:
    for section, choices in _EXCLUSIVE:
        if path == section and (chosen := choices & source.keys()):
            for dropped in choices - chosen:
                target.pop(dropped, None)
                _forget((*path, dropped), origins)
    for key, new in source.items():
        here = (*path, key)
        old = target.get(key)
        if isinstance(new, dict):
            if not isinstance(old, dict):
                _forget(here, origins)
                old = target[key] = {}
            _into(old, new, here, layer, origins)
        elif here == DENY and isinstance(old, list) and isinstance(new, list):
            for index, rule in enumerate(new):
                if rule not in old:
                    origins[(*here, len(old))] = layer.origin((*here, index))
                    old.append(rule)
        else:
            _forget(here, origins)
            target[key] = list(new) if isinstance(new, list) else new
            origins[here] = layer.origin(here)
            if here == DENY and isinstance(new, list):
                origins.update({(*here, index): layer.origin((*here, index)) for index in range(len(new))})


def _forget(path: Path, origins: dict[Path, Origin]) -> None:
    for known in [known for known in origins if known[: len(path)] == path]:
        del origins[known]
