"""Owns the text form of a key's path, such as `run.max_turns` or `reviewers[0].name`. Pure."""

from __future__ import annotations

import json
import re

Path = tuple[str | int, ...]
"""Keys of mappings and indexes of lists, outermost first."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_STEP = re.compile(r'\.?(?:(?P<plain>[^.\["\]]+)|(?P<quoted>"(?:[^"\\]|\\.)*")|\[(?P<index>[0-9]{1,6})\])')


def render(path: Path) -> str:
    """`path` as text; a key that is no plain word, such as a host name, is put in double quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if _PLAIN.fullmatch(step) else json.dumps(step, ensure_ascii=False)
            text += f".{name}" if text else name
    return text


def parse(text: str) -> Path:
    """The path that `render` wrote, or that a person typed. Raises ValueError for anything else."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        matched = _STEP.match(text, at)
        starts_with_dot = text[at] == "."
        needs_dot = matched is not None and matched["index"] is None and at > 0
        if matched is None or starts_with_dot != needs_dot:
            raise ValueError(f"{text!r} is no key")
        if matched["index"] is not None:
            steps.append(int(matched["index"]))
        else:
            steps.append(json.loads(matched["quoted"]) if matched["quoted"] else matched["plain"])
        at = matched.end()
    if not steps or isinstance(steps[0], int):
        raise ValueError(f"{text!r} is no key")
    return tuple(steps)
