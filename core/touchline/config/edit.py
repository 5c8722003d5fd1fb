"""Owns how a configuration text is changed (spec page 8): one key, everything else left as a person wrote it. Pure.

Comments, order, quotes, anchors and white space stay, because only the text of that one value is exchanged, at
the place that ruamel.yaml's events give. The result is read again: if anything but the wanted key would change
its value, the change is refused.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator
from typing import Any

from touchline.config import keys
from touchline.config.keys import Path
from touchline.config.source import Parsed, decode, parse_document
from touchline.config.tree import Node
from touchline.errors import ConfigError

_BOM = b"\xef\xbb\xbf"
_NEVER_WRAP = 1 << 20


def with_value(data: bytes, path: Path, value: Any, name: str) -> bytes:
    """The file `data` with `value` at `path`; `name` is the file as a person knows it.

    Raises ConfigError when the text cannot be read, or when the change would reach further than that key.
    """
    parsed = parse_document(data, name)
    wanted = _put(copy.deepcopy(parsed.value), path, value, name)
    text = decode(data, name)
    newline = "\r\n" if "\r\n" in text else "\n"
    for candidate in _candidates(text, parsed, path, value, newline):
        encoded = (_BOM if data.startswith(_BOM) else b"") + candidate.encode()
        if _reads_as(encoded, wanted, name):
            return encoded
    raise ConfigError(
        f"{parsed.where(path)}: {keys.render(path)} cannot be set alone, its text is shared (an alias or a merge)",
        fix="Change it in an editor.",
    )


def _put(root: dict[str, Any], path: Path, value: Any, name: str) -> dict[str, Any]:
    at: Any = root
    for depth, step in enumerate(path, start=1):
        in_mapping = isinstance(at, dict) and isinstance(step, str)
        if not in_mapping and not (isinstance(at, list) and isinstance(step, int) and step < len(at)):
            raise ConfigError(
                f"{name}: there is no {keys.render(path[:depth])} to change",
                fix="Set the whole value above it, for instance with '[a, b]'.",
            )
        if depth == len(path):
            at[step] = value
        elif in_mapping and at.get(step) is None:
            at[step] = {}
            at = at[step]
        else:
            at = at[step]
    return root


def _candidates(text: str, parsed: Parsed, path: Path, value: Any, newline: str) -> Iterator[str]:
    """Texts that might be the wanted one, the gentlest change first."""
    if (node := parsed.nodes.get(path)) is not None:
        yield from _replaced(text, node, value)
    length = max(length for length in range(len(path)) if not length or path[:length] in parsed.nodes)
    above, below = path[:length], path[length:]
    for step in reversed(below[1:]):
        value = {step: value}
    addition = {below[0]: value}
    node = parsed.nodes.get(above)
    if node is None or (not above and node.style == "block"):
        yield _appended(text, addition, newline)
    elif node.value is None:
        yield from _filled(text, node, parsed.marks[above].column + 1, addition, newline)
        yield from _replaced(text, node, addition)
    elif node.style == "flow" and isinstance(node.value, dict):
        yield _into_flow(text, node, addition)
    elif node.style == "block" and isinstance(node.value, dict):
        yield from _into_block(text, node, addition, newline)


def _replaced(text: str, node: Node, value: Any) -> Iterator[str]:
    start, end = node.mark.index, node.end
    if start == end:  # an empty value has no place of its own: put it right behind the colon
        start = end = text.find(":", node.key_end) + 1
    new = _inline(value, node.style)
    if node.anchor is not None:
        yield f"{text[:start]}&{node.anchor} {new}{text[end:]}"
    if node.style == "block" and (head := text[:start].rstrip()).endswith(":"):
        yield f"{head} {new}{text[end:]}"
    space = " " if start == end else ""
    broken = text[start:end].endswith("\n")
    yield f"{text[:start]}{space}{new}{text[end - 1 :] if broken else text[end:]}"


def _appended(text: str, addition: dict[Any, Any], newline: str) -> str:
    body = text.rstrip()
    gap = newline * 2 if body else ""
    return f"{body}{gap}{_block(addition, 0, newline)}{newline}"


def _filled(text: str, node: Node, indent: int, addition: dict[Any, Any], newline: str) -> Iterator[str]:
    """Below the line of a section that is empty but for comments."""
    line_end = text.find("\n", node.key_end)
    if line_end < 0:
        yield f"{text}{newline}{' ' * indent}{_block(addition, indent, newline)}{newline}"
    else:
        line_end += 1
        yield f"{text[:line_end]}{' ' * indent}{_block(addition, indent, newline)}{newline}{text[line_end:]}"


def _into_flow(text: str, node: Node, addition: dict[Any, Any]) -> str:
    inside = text.index("{", node.mark.index) + 1
    comma = ", " if node.value else ""
    return f"{text[:inside]}{_dumped(addition, flow=True).strip()[1:-1]}{comma}{text[inside:]}"


def _into_block(text: str, node: Node, addition: dict[Any, Any], newline: str) -> Iterator[str]:
    """Before the section's first key: behind the last one there may be comments that belong to what follows."""
    own = [mark for mark, _ in node.value.values() if node.mark.index <= mark.index < node.end]
    if own:
        first = min(own, key=lambda mark: mark.index)
        indent = first.column - 1
        new = _block(addition, indent, newline)
        yield f"{text[: first.index]}{new}{newline}{' ' * indent}{text[first.index :]}"


def _block(value: dict[Any, Any], indent: int, newline: str) -> str:
    """`value` as lines of YAML without the last line break; all but the first line are indented."""
    lines = _dumped(value, flow=False).rstrip("\n").split("\n")
    return f"{newline}{' ' * indent}".join(lines)


def _inline(value: Any, style: str) -> str:
    """`value` as YAML on one line, quoted as the old value was."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

    quoting = {"single": SingleQuotedScalarString, "double": DoubleQuotedScalarString}
    if isinstance(value, str) and style in quoting and "\n" not in value:
        value = quoting[style](value)
    if isinstance(value, dict):
        return _dumped(value, flow=True).strip()
    return _dumped([value], flow=True).strip()[1:-1]


def _dumped(value: Any, *, flow: bool) -> str:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.width = _NEVER_WRAP
    yaml.default_flow_style = flow
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(value, out)
    return out.getvalue()


def _reads_as(data: bytes, wanted: dict[str, Any], name: str) -> bool:
    try:
        return parse_document(data, name).value == wanted
    except ConfigError:
        return False
