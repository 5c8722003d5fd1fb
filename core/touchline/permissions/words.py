"""What one word of a shell line is known to be before the line runs (spec page 8).

A part that only the running shell knows (a variable, a substitution) is kept as `HOLE`; nothing is guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from tree_sitter import Node

HOLE = "\0"
"""Stands in `Word.text` for a part that is unknown; a line that holds a NUL itself is refused before."""

MAX_BRACE_WORDS = 64

_GLOB = frozenset("*?[")
_NOT_PLAIN_WORD = frozenset("\n\t ;&|<>()`\"'$")
_SUBSTITUTION = re.compile(r"(?<!\\)(?:`|[$<>]\()")
_ANSI = re.compile(
    r"\\(?:(?P<oct>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<u>[0-9A-Fa-f]{1,4})|U(?P<U>[0-9A-Fa-f]{1,8})"
    r"|c(?P<ctrl>.)|(?P<one>.))",
    re.DOTALL,
)
_ANSI_ONE = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}


class UnknownShapeError(ValueError):
    """The line holds a structure that this parser does not know; the caller turns it into `Unparsable`."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `glob`: an unquoted pattern may become file names; `splits`: may become none or many words."""

    text: str
    glob: bool = False
    splits: bool = False

    @property
    def literal(self) -> str | None:
        """The exact word, or None if any part is unknown before the line runs."""
        return None if self.glob or self.splits or HOLE in self.text else self.text


UNKNOWN = Word(HOLE, splits=True)
"""Any number of words of any text."""

Chars = list[tuple[str, bool]]
"""Characters with whether each was quoted (or unknown)."""


@dataclass(slots=True)
class _Building:
    chars: Chars
    splits: bool = False

    def quoted(self, text: str) -> None:
        self.chars.extend((char, True) for char in text)

    def hole(self, *, splits: bool) -> None:
        self.chars.append((HOLE, True))
        self.splits = self.splits or splits


def read_words(node: Node) -> tuple[Word, ...]:
    """The words that one argument node stands for: one, or several after brace expansion."""
    building = _Building([])
    _collect(node, building)
    expanded = _expand_braces(building.chars)
    if expanded is None:
        return (UNKNOWN,)
    return tuple(_finish(chars, building.splits) for chars in expanded)


def read_word(node: Node) -> Word:
    """The one word of a place where no brace expansion happens (an assignment, a redirect target)."""
    building = _Building([])
    _collect(node, building)
    return _finish(building.chars, building.splits)


def _finish(chars: Chars, splits: bool) -> Word:
    glob = any(char in _GLOB and not quoted for char, quoted in chars)
    return Word("".join(char for char, _ in chars), glob=glob, splits=splits)


def _collect(node: Node, into: _Building) -> None:
    text = source(node)
    match node.type:
        case "word" | "variable_name" | "extglob_pattern":
            into.chars.extend(_plain(text))
        case "number" if not node.children:
            into.chars.extend(_plain(text))
        case "command_name" | "concatenation":
            _only_touching(node)
            for child in node.children:
                _collect(child, into)
        case "string":
            _collect_string(node, into)
        case "raw_string":
            into.quoted(text[1:-1])
        case "ansi_c_string":
            _collect_ansi(text[2:-1], into)
        case "simple_expansion" | "expansion" | "command_substitution":
            into.hole(splits=True)
        case "arithmetic_expansion" | "process_substitution" | "number":
            into.hole(splits=False)
        case "translated_string" | "brace_expression" | "array" | "subscript":
            into.hole(splits=True)
        case "$":
            into.chars.append(("$", False))
        case _:
            raise UnknownShapeError(f"a word holds {node.type!r}")


def _collect_string(node: Node, into: _Building) -> None:
    # Blanks next to an expansion are no nodes of their own in this grammar, so gaps are read from the source.
    position = node.start_byte + 1
    whole = node.text or b""
    for child in node.children[1:-1]:
        into.quoted(whole[position - node.start_byte : child.start_byte - node.start_byte].decode())
        position = child.end_byte
        if child.type in ("string_content", "$"):
            into.quoted(_unescape_double(source(child)))
        elif child.type in ("simple_expansion", "expansion", "command_substitution"):
            text = source(child)
            into.hole(splits="@" in text and child.type != "command_substitution")
        elif child.type == "arithmetic_expansion":
            into.hole(splits=False)
        else:
            raise UnknownShapeError(f"a string holds {child.type!r}")
    into.quoted(whole[position - node.start_byte : -1].decode())


def _collect_ansi(body: str, into: _Building) -> None:
    position = 0
    for match in _ANSI.finditer(body):
        into.quoted(body[position : match.start()])
        position = match.end()
        number = match["oct"] and int(match["oct"], 8) & 0xFF
        for group in ("hex", "u", "U"):
            number = int(match[group], 16) if match[group] else number
        if match["ctrl"]:
            number = ord(match["ctrl"].upper()) & 0x1F if match["ctrl"].isascii() else 0
        if match["one"]:
            into.quoted(_ANSI_ONE.get(match["one"], "\\" + match["one"]))
        elif isinstance(number, int) and 0 < number < 0x80:
            into.quoted(chr(number))
        else:
            into.hole(splits=False)  # NUL ends the string early; bytes above ASCII depend on the locale
    into.quoted(body[position:])


def _plain(text: str) -> Chars:
    chars: Chars = []
    escaped = False
    for char in text:
        if escaped:
            escaped = False
            if char != "\n":
                chars.append((char, True))
        elif char == "\\":
            escaped = True
        elif char in _NOT_PLAIN_WORD:
            raise UnknownShapeError(f"a word holds an unquoted {char!r}")
        else:
            chars.append((char, False))
    return chars


def _unescape_double(text: str) -> str:
    if _SUBSTITUTION.search(re.sub(r"\\\\", "", text).replace("<(", "").replace(">(", "")):
        raise UnknownShapeError("a string holds a substitution that was not read as one")
    return re.sub(r"\\([$`\"\\\n])", lambda found: "" if found[1] == "\n" else found[1], text)


def _only_touching(node: Node) -> None:
    for left, right in pairwise(node.children):
        if left.end_byte != right.start_byte:
            raise UnknownShapeError("a word with a gap in it")


def _expand_braces(chars: Chars) -> list[Chars] | None:
    """All words of `{a,b}` alternatives, or None where they are too many or a sequence (`{1..9}`)."""
    done: list[Chars] = []
    waiting = [chars]
    while waiting:
        current = waiting.pop()
        if len(done) + len(waiting) > MAX_BRACE_WORDS:
            return None
        found = _first_group(current)
        if found is None:
            done.append(current)
            continue
        start, commas, end = found
        if not commas:
            return None
        marks = [start, *commas, end]
        for left, right in pairwise(marks):
            waiting.append(current[:start] + current[left + 1 : right] + current[end + 1 :])
    return list(reversed(done))


def _first_group(chars: Chars) -> tuple[int, list[int], int] | None:
    """Start, comma places and end of the first brace group; no commas means a sequence."""
    for start, pair in enumerate(chars):
        if pair != ("{", False):
            continue
        depth, commas = 0, list[int]()
        for place in range(start, len(chars)):
            char, quoted = chars[place]
            if quoted:
                continue
            if char == "{":
                depth += 1
            elif char == "," and depth == 1:
                commas.append(place)
            elif char == "}":
                depth -= 1
                if depth == 0:
                    inside = "".join(char for char, _ in chars[start + 1 : place])
                    if commas or ".." in inside:
                        return start, commas, place
                    break
    return None


def source(node: Node) -> str:
    """The text of `node`."""
    return (node.text or b"").decode()


def names(text: str) -> frozenset[str]:
    """The blank-separated names in `text`, for the tables of this room."""
    return frozenset(text.split())
