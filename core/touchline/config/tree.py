"""Owns the building of a tree of plain values from YAML events, within bounds (spec page 8). Pure.

Size, nesting and what aliases expand to are bounded, so that a hostile text gives an error and never a hang.
Tags, directives and other ways to make objects are refused; duplicate keys are errors. ruamel.yaml gives the
event stream; the tree is built here, because only so every value knows where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from touchline.errors import ConfigError

MAX_DEPTH = 32
MAX_VALUES = 20_000
"""Values in one document, counting each use of an alias in full."""

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})|0x[0-9a-fA-F]{1,15}|0o[0-7]{1,20}", re.ASCII)
_FLOAT = re.compile(r"[-+]?[0-9]{0,18}(?:\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,2})?|[-+]?[0-9]{1,18}[eE][-+]?[0-9]{1,2}")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

Style = Literal["plain", "single", "double", "block-text", "flow", "block", "alias"]
_SCALAR_STYLES: dict[str | None, Style] = {"'": "single", '"': "double", "|": "block-text", ">": "block-text"}


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a text: line and column counted from 1, `index` in characters from 0."""

    line: int
    column: int
    index: int = 0


@dataclass(slots=True)
class Node:
    """One value and where it stands; `end` is the index behind its last character."""

    mark: Mark
    style: Style
    value: Any = None
    """Scalars: the value. Lists: list of nodes. Mappings: dict of key -> (mark of the key, node)."""
    end: int = 0
    anchor: str | None = None
    size: int = 1
    depth: int = 1
    key_end: int = 0
    """Index behind the key that this is the value of; an empty value stands somewhere after it."""
    key: tuple[str, Mark, int] | None = None
    """The key that waits for its value, while a mapping is being built: name, place, index behind it."""
    merged: list[Node] = field(default_factory=list)


def build(text: str, name: str) -> Node | None:
    """The root of `text`, None for an empty one. Raises ConfigError with the place in `name`."""
    return _Builder(name).build(text)


def error_at(name: str, mark: Mark, what: str, fix: str) -> ConfigError:
    """A problem at one place of the file `name`."""
    return ConfigError(f"{name}:{mark.line}:{mark.column}: {what}", fix=fix)


class _Builder:
    """Builds the tree from ruamel's events; one instance for one text."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.anchors: dict[str, Node] = {}
        self.open: list[Node] = []
        self.root: Node | None = None
        self.documents = 0

    def build(self, text: str) -> Node | None:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        try:
            self._consume(YAML(typ="safe", pure=True).parse(text))
        except MarkedYAMLError as exc:
            mark = _mark(exc.problem_mark or exc.context_mark)
            reason = ", ".join(part.strip() for part in (exc.context, exc.problem) if part)
            raise self._error(mark, f"this is not YAML: {reason}", _advice(reason)) from exc
        except YAMLError as exc:  # a character that YAML forbids; its message would quote the text around it
            at = min(getattr(exc, "position", 0), len(text))
            mark = Mark(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
            raise self._error(mark, "a control character is not allowed", "Remove that character.") from exc
        return self.root

    def _consume(self, events: Iterable[Any]) -> None:
        from ruamel.yaml import events as kinds

        for event in events:
            mark = _mark(event.start_mark)
            if isinstance(event, kinds.DocumentStartEvent):
                self._start_document(event, mark)
            elif isinstance(event, kinds.ScalarEvent):
                self._scalar(event, mark)
            elif isinstance(event, kinds.AliasEvent):
                self._attach(self._aliased(event, mark), mark)
            elif isinstance(event, kinds.MappingStartEvent | kinds.SequenceStartEvent):
                self._start(event, mark, {} if isinstance(event, kinds.MappingStartEvent) else [])
            elif isinstance(event, kinds.MappingEndEvent | kinds.SequenceEndEvent):
                self._end(event)

    def _start_document(self, event: Any, mark: Mark) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self._error(mark, "a second document begins", "Keep one document in the file; remove `---`.")
        if event.version is not None or event.tags:
            raise self._error(mark, "a % directive is not read", "Remove the line that begins with `%`.")

    def _scalar(self, event: Any, mark: Mark) -> None:
        parent = self.open[-1] if self.open else None
        if parent is not None and isinstance(parent.value, dict) and parent.key is None:
            if not event.value:
                raise self._error(mark, "a key is empty", "Give the key a name.")
            plain = event.style is None and event.tag is None
            merge = event.value == "<<" and plain
            if event.value in parent.value and not merge:
                first = parent.value[event.value][0]
                raise self._error(
                    mark,
                    f"the key `{event.value}` is there twice, first in line {first.line}",
                    "Keep one of the two.",
                )
            parent.key = ("" if merge else event.value, mark, event.end_mark.index)
            return
        style = _SCALAR_STYLES.get(event.style, "plain")
        self._finished(Node(mark, style, self._resolved(event, mark), event.end_mark.index, event.anchor))

    def _resolved(self, event: Any, mark: Mark) -> Any:
        self._refuse_tag(event, mark, allowed=("!", "tag:yaml.org,2002:str"))
        text: str = event.value
        if event.style is not None or event.tag is not None:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            return int(text, 0)
        return float(text) if _FLOAT.fullmatch(text) else text

    def _start(self, event: Any, mark: Mark, value: Any) -> None:
        self._refuse_tag(event, mark, allowed=())
        parent = self.open[-1] if self.open else None
        if parent is not None and isinstance(parent.value, dict) and parent.key is None:
            raise self._error(mark, "a key is no text", "Write a plain name before the colon.")
        self.open.append(Node(mark, "flow" if event.flow_style else "block", value, anchor=event.anchor))
        if len(self.open) > MAX_DEPTH:
            raise self._too_deep(mark)

    def _end(self, event: Any) -> None:
        node = self.open.pop()
        if node.style == "flow":
            node.end = event.end_mark.index
        for source in node.merged:
            for key, entry in source.value.items():
                node.value.setdefault(key, entry)
        self._finished(node)

    def _finished(self, node: Node) -> None:
        if node.anchor is not None:
            self.anchors[node.anchor] = node
        self._attach(node, node.mark)

    def _aliased(self, event: Any, mark: Mark) -> Node:
        anchor = event.anchor
        parent = self.open[-1] if self.open else None
        if parent is not None and isinstance(parent.value, dict) and parent.key is None:
            raise self._error(mark, "a key is an alias", "Write a plain name before the colon.")
        if anchor not in self.anchors:
            inside = any(node.anchor == anchor for node in self.open)
            what = "stands inside itself" if inside else "is not defined above"
            raise self._error(mark, f"the alias `*{anchor}` {what}", f"Define `&{anchor}` before, or spell it out.")
        return replace(self.anchors[anchor], mark=mark, end=event.end_mark.index, style="alias", anchor=None)

    def _attach(self, node: Node, mark: Mark) -> None:
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        parent.size += node.size
        parent.end = max(parent.end, node.end)
        parent.depth = max(parent.depth, node.depth + 1)
        if parent.size > MAX_VALUES:
            raise self._error(
                mark,
                f"the file holds more than {MAX_VALUES} values once aliases are expanded",
                "Use fewer aliases.",
            )
        if parent.depth > MAX_DEPTH:
            raise self._too_deep(mark)
        if isinstance(parent.value, list):
            parent.value.append(node)
            return
        assert parent.key is not None
        (key, key_mark, node.key_end), parent.key = parent.key, None
        if key:
            parent.value[key] = (key_mark, node)
            return
        sources = node.value if isinstance(node.value, list) else [node]
        if not all(isinstance(source.value, dict) for source in sources):
            raise self._error(mark, "`<<` merges only mappings", "Name a mapping, or a list of mappings.")
        parent.merged.extend(sources)

    def _refuse_tag(self, event: Any, mark: Mark, *, allowed: tuple[str, ...]) -> None:
        tag = event.tag
        if tag is not None and str(tag) not in allowed:
            raise self._error(mark, f"the tag {tag} is not read", "Remove the word that begins with `!`.")

    def _too_deep(self, mark: Mark) -> ConfigError:
        return self._error(mark, f"more than {MAX_DEPTH} levels are nested", "Settings need no such depth.")

    def _error(self, mark: Mark, what: str, fix: str) -> ConfigError:
        return error_at(self.name, mark, what, fix)


def _mark(place: Any) -> Mark:
    return Mark(place.line + 1, place.column + 1, place.index) if place is not None else Mark(1, 1)


def _advice(reason: str) -> str:
    if "\\t" in reason:
        return "Indent with spaces; YAML forbids tabs."
    if "mapping values are not allowed" in reason:
        return "Put a text that holds `: ` in quotes, and check the indentation."
    return "Check quotes, brackets and indentation at that place."
