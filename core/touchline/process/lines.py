"""From bytes as they arrive to lines of text, in bounded memory and linear time (spec page 2). No I/O.

Lines end at a newline byte; a carriage return before it belongs to the ending. Bytes are gathered first and
decoded a whole line at a time, so a code point that is split over two reads comes out right and only what is
really invalid is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAX_LINE_BYTES = 16 * 1024 * 1024
HEAD_BYTES = 64 * 1024
"""How much of an oversized line is kept."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a child's output, without its ending.

    `size` counts the line's bytes. An `oversized` line was longer than allowed: `text` is only its head. A
    `late` line came after the child's end had been decided: to be recorded, never to be accepted.
    """

    text: str
    size: int
    oversized: bool = False
    late: bool = False


class LineSplitter:
    """Turns chunks into lines; a line over `max_line_bytes` is cut to its head and the rest is dropped."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max = max_line_bytes
        self._head = min(HEAD_BYTES, max_line_bytes)
        self._begun = bytearray()
        self._dropped = 0

    def feed(self, chunk: bytes, *, late: bool = False) -> Iterator[Line]:
        """The lines that `chunk` completes. To be read to the end before the next chunk is fed."""
        pieces = chunk.split(b"\n")
        last = pieces.pop()
        for piece in pieces:
            if self._begun or self._dropped or len(piece) > self._max:
                self._gather(piece)
                yield self._take(late)
            else:
                yield _line(piece, late)
        self._gather(last)

    def flush(self, *, late: bool = False) -> Iterator[Line]:
        """The last line when the stream ended without a newline."""
        if self._begun or self._dropped:
            yield self._take(late)

    def _gather(self, piece: bytes) -> None:
        if self._dropped:
            self._dropped += len(piece)
        elif len(self._begun) + len(piece) > self._max:
            self._dropped = len(self._begun) + len(piece) - self._head
            self._begun += piece[: self._head]
            del self._begun[self._head :]
        else:
            self._begun += piece

    def _take(self, late: bool) -> Line:
        # A new array each time: keeping a 16 MB one would be memory for nothing.
        begun, self._begun = self._begun, bytearray()
        dropped, self._dropped = self._dropped, 0
        if dropped:
            return Line(begun.decode("utf-8", "replace"), len(begun) + dropped, oversized=True, late=late)
        return _line(begun, late)


def _line(content: bytes | bytearray, late: bool) -> Line:
    if content.endswith(b"\r"):
        content = content[:-1]
    return Line(content.decode("utf-8", "replace"), len(content), False, late)
