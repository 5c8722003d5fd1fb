"""Owns the reading of one YAML text into plain values with positions, whatever the text is (spec page 8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from touchline.config.keys import Path
from touchline.config.tree import Mark, Node, build, error_at
from touchline.errors import ConfigError

MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Parsed:
    """One document: its plain value, and for each key's path the mark of the key and the node of the value.

    `value` is {} for an empty document; a list's item has the same mark as its node.
    """

    name: str
    value: dict[str, Any]
    marks: dict[Path, Mark] = field(default_factory=dict)
    nodes: dict[Path, Node] = field(default_factory=dict)

    def where(self, path: Path) -> str:
        """`file:line:column` of the path, or of its nearest parent that stands in the text."""
        for length in range(len(path), -1, -1):
            if (mark := self.marks.get(path[:length])) is not None:
                return f"{self.name}:{mark.line}:{mark.column}"
        return self.name


def parse_document(data: bytes, name: str) -> Parsed:
    """The settings mapping in `data`; `name` is the file as a person knows it.

    Raises ConfigError with file, line and column for everything that is no plain YAML mapping.
    """
    node = build(decode(data, name), name)
    if node is None or node.value is None:
        return Parsed(name, {})
    if not isinstance(node.value, dict):
        raise error_at(name, node.mark, "expected a mapping of sections", "Begin with a section such as `run:`.")
    parsed = Parsed(name, {})
    parsed.value.update(_plain(node, (), parsed))
    return parsed


def parse_value(text: str, name: str) -> Any:
    """One YAML value, as in an environment variable called `name`. Raises ConfigError."""
    node = build(decode(text.encode("utf-8", "surrogateescape"), name), name)
    return None if node is None else _plain(node, (), Parsed(name, {}))


def decode(data: bytes, name: str) -> str:
    """The text of a file, without a byte order mark. Raises ConfigError for a big file or one that is not UTF-8."""
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{name}: the file is larger than {MAX_BYTES} bytes, which is more than is read",
            fix="Keep only settings in it.",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode("utf-8", "replace")
        mark = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise error_at(name, mark, "this is not UTF-8", "Save the file in the UTF-8 encoding.") from exc


def _plain(node: Node, path: Path, parsed: Parsed) -> Any:
    parsed.marks.setdefault(path, node.mark)
    parsed.nodes[path] = node
    if isinstance(node.value, dict):
        out = {}
        for key, (mark, child) in node.value.items():
            parsed.marks[(*path, key)] = mark
            out[key] = _plain(child, (*path, key), parsed)
        return out
    if isinstance(node.value, list):
        return [_plain(child, (*path, index), parsed) for index, child in enumerate(node.value)]
    return node.value
