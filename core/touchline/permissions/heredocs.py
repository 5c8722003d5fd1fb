"""Where here-documents end, checked against the raw text (spec page 8, "unknown structure").

A body that ends later than bash ends it would hide commands in data. So the lines are counted a second time
here, independently of the grammar, and every disagreement makes the line unparsable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from touchline.permissions.words import UnknownShapeError, source

_START = re.compile(r"(?P<quote>['\"]?)(?P<name>[\w .+-]+)(?P=quote)|\\(?P<escaped>[\w.+-]+)", re.ASCII)
_LIVE = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$\()")
_DATA = frozenset({"string", "string_content", "raw_string", "ansi_c_string", "comment", "heredoc_body"})


def check_heredocs(root: Node, line: str) -> None:
    """Raise `UnknownShapeError` unless each body in `line` ends just where bash ends it."""
    text = line.encode()
    rows: set[int] = set()
    for node in _find(root, "heredoc_redirect"):
        start = next(child for child in node.children if child.type == "heredoc_start")
        row = start.start_point[0]
        if row in rows:
            raise UnknownShapeError("two here-documents begin on one line")
        rows.add(row)
        match = _START.fullmatch(source(start))
        if match is None:
            raise UnknownShapeError("a here-document has an unusual delimiter")
        name = match["name"] or match["escaped"]
        break_at = text.find(b"\n", start.end_byte)
        _line_really_ends(root, node, text, break_at)
        last = _closing_row(text, break_at, name, tabs=any(child.type == "<<-" for child in node.children))
        ends = [child for child in node.children if child.type == "heredoc_end"]
        if len(ends) != 1 or ends[0].start_point[0] != last:
            raise UnknownShapeError("the end of a here-document is not certain")
        if not match["quote"] and not match["escaped"]:
            _nothing_hidden(node)


def _line_really_ends(root: Node, node: Node, text: bytes, break_at: int) -> None:
    if break_at < 0 or text[break_at - 1 : break_at] == b"\\":
        raise UnknownShapeError("a here-document has no body")
    holder = root.descendant_for_byte_range(break_at, break_at + 1)
    while holder is not None and not holder.start_byte <= node.start_byte < holder.end_byte:
        if holder.type in _DATA and holder.start_byte < break_at:
            raise UnknownShapeError("a text goes on over the line where a here-document begins")
        holder = holder.parent


def _closing_row(text: bytes, break_at: int, name: str, *, tabs: bool) -> int:
    row = text.count(b"\n", 0, break_at)
    for offset, one in enumerate(text[break_at + 1 :].split(b"\n"), start=1):
        if (one.lstrip(b"\t") if tabs else one) == name.encode():
            return row + offset
    raise UnknownShapeError("a here-document is never closed")


def _nothing_hidden(node: Node) -> None:
    for body in _find(node, "heredoc_body"):
        pieces = [source(child) for child in body.children if child.type == "heredoc_content"]
        for piece in pieces if body.children else [source(body)]:
            if _LIVE.search(piece):
                raise UnknownShapeError("a here-document holds a substitution that was not read as one")


def _find(node: Node, kind: str) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type == kind:
            yield current
        waiting.extend(current.children)
