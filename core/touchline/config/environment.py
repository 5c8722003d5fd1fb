"""Owns settings from environment variables (spec page 8): TOUCHLINE_CFG__SECTION__KEY, the value read as YAML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from touchline.config import keys, shape
from touchline.config.keys import Path
from touchline.config.layers import Layer, Level, without_nulls
from touchline.config.source import parse_value
from touchline.errors import ConfigError

PREFIX = "TOUCHLINE_CFG__"


def environment_layer(environ: Mapping[str, str], known: Iterable[Path]) -> Layer:
    """What the environment says.

    Names are folded to lower case; a name of the user's choice, such as an executor's, is matched without regard
    to case, '-' and '_' against the paths in `known`. An empty variable says nothing. Raises ConfigError.
    """
    known = list(known)
    value: dict[str, Any] = {}
    places: dict[Path, str] = {}
    for variable in sorted(name for name in environ if name.startswith(PREFIX)):
        path = _path(variable, known)
        parsed = without_nulls(parse_value(environ[variable], variable))
        if parsed is None:
            continue
        _put(value, path, parsed, variable)
        places[path] = variable

    def where(path: Path) -> str:
        for length in range(len(path), 0, -1):
            if path[:length] in places:
                return places[path[:length]]
        # A problem of a section as a whole: name the variables that make it up.
        return " ".join(name for place, name in places.items() if place[: len(path)] == path) or PREFIX

    return Layer(Level.ENVIRONMENT, value, where)


def _path(variable: str, known: list[Path]) -> Path:
    path: Path = ()
    for step in variable.removeprefix(PREFIX).split("__"):
        if not step:
            raise ConfigError(
                f"{variable}: two underscores must stand between names", fix=f"Write it like {PREFIX}RUN__MAX_TURNS."
            )
        path = (*path, _step(path, step, known))
    return path


def _step(path: Path, step: str, known: list[Path]) -> str:
    if not shape.has_free_keys(path):
        return step.lower()
    for other in known:
        if len(other) > len(path) and other[: len(path)] == path and _folded(str(other[len(path)])) == _folded(step):
            return str(other[len(path)])
    # Names of environment variables (below `env`) keep their case; all other names are lower-case.
    return step if path[-1:] in (("env",), ("env_from",)) else step.lower()


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def _put(target: dict[str, Any], path: Path, value: Any, variable: str) -> None:
    for depth, step in enumerate(path[:-1], start=1):
        target = target.setdefault(str(step), {})
        if not isinstance(target, dict):
            raise ConfigError(
                f"{variable}: another variable sets `{keys.render(path[:depth])}` as a whole",
                fix="Set either the whole section or its keys.",
            )
    last = str(path[-1])
    if isinstance(target.get(last), dict) and isinstance(value, dict):
        target[last].update(value)
    else:
        target[last] = value
