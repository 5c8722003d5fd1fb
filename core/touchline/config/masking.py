"""Owns what of the settings is never shown, and what a secret in the wrong place looks like (spec page 8). Pure."""

from __future__ import annotations

import re
from typing import Any

from touchline.config.keys import Path

HIDDEN = "(hidden)"

_TOKEN = re.compile(
    r"""
    (?<![A-Za-z0-9_-])
    (?: sk-[A-Za-z0-9_-]{16,}
      | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
      | gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{16,}
      | xox[abeprs]-[A-Za-z0-9-]{10,}
      | (?:AKIA|ASIA)[A-Z0-9]{16}
      | AIza[A-Za-z0-9_-]{30,}
      | xai-[A-Za-z0-9]{20,}
      | eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+
    )
    """,
    re.VERBOSE | re.ASCII,
)
_URL_PASSWORD = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/\s@]+@")


def holds_secret(value: Any) -> bool:
    """Whether any text in `value` carries a provider's token or a URL with credentials."""
    if isinstance(value, dict):
        return any(holds_secret(one) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple):
        return any(holds_secret(one) for one in value)
    return isinstance(value, str) and (_TOKEN.search(value) or _URL_PASSWORD.search(value)) is not None


def shown(value: Any, path: Path = ()) -> Any:
    """`value` at `path` as it may be printed: values of `env` are hidden, tokens and URL credentials are cut out."""
    if len(path) == 4 and path[0] == "executors" and path[2] == "env":
        return HIDDEN
    if isinstance(value, dict):
        return {key: shown(one, (*path, key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [shown(one, (*path, index)) for index, one in enumerate(value)]
    if isinstance(value, str):
        return _URL_PASSWORD.sub(rf"\g<scheme>{HIDDEN}@", _TOKEN.sub(HIDDEN, value))
    return value
