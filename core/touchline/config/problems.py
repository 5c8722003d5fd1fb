"""Owns how an invalid setting is told (spec page 8): where, which key, what was expected, the nearest key.

The value itself is never repeated: it may be a secret in the wrong place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from touchline.config import keys, shape
from touchline.config.keys import Path
from touchline.errors import ConfigError

_MOST = 10

_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping (lines of `key: value`)",
    "float_type": "a number",
    "int_type": "a whole number",
    "model_type": "a mapping (lines of `key: value`)",
    "string_type": "text (put it in quotes)",
    "tuple_type": "a list",
}

_BOUNDS = {"greater_than_equal": "at least {ge}", "greater_than": "more than {gt}", "less_than_equal": "at most {le}"}


def config_error(error: ValidationError, where: Callable[[Path], str]) -> ConfigError:
    """One error for all problems in `error`; `where` names the place of a key's path, such as file:line:column."""
    found = error.errors(include_url=False, include_input=False)
    lines = [_line(one, where) for one in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"... and {len(found) - _MOST} more")
    return ConfigError("\n".join(lines), fix="`touchline schema config` lists every key and what it takes.")


def _line(one: Mapping[str, Any], where: Callable[[Path], str]) -> str:
    path: Path = tuple(one["loc"])
    if path and path[-1] == "[key]":
        path = path[:-1]
    return f"{where(path)}: {keys.render(path) or 'settings'}: {_what(one, path)}"


def _what(one: Mapping[str, Any], path: Path) -> str:
    kind, context = str(one["type"]), one.get("ctx", {})
    if kind == "extra_forbidden":
        return unknown_key(path)
    if kind == "missing":
        return f"expected the key `{path[-1]}`"
    if kind == "literal_error":
        return f"expected {context['expected']}"
    if kind in _BOUNDS:
        return f"expected {_BOUNDS[kind].format(**context)}"
    if kind == "value_error":
        return str(context["error"])
    return f"expected {_EXPECTED[kind]}" if kind in _EXPECTED else str(one["msg"])


def unknown_key(path: Path) -> str:
    """What to say about a key that does not exist: the nearest valid one, or all of them."""
    valid = shape.valid_keys(path[:-1])
    near = shape.nearest(str(path[-1]), valid)
    if near is not None:
        return f"unknown key; did you mean `{near}`?"
    return f"unknown key; expected {_either(valid)}" if valid else "unknown key; nothing can stand below this key"


def _either(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
