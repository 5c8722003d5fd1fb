"""Paths as text in documents: reversible for every byte sequence that a file name can be (spec page 3). Pure.

Python holds undecodable bytes of a path as lone surrogates, which no JSON document can carry. Such a path is
written the way git quotes it: in double quotes, with octal escapes.
"""

from __future__ import annotations

import os
import re

_ESCAPE = re.compile(rb'\\([0-7]{3}|["\\])')


def quote_path(path: str) -> str:
    """`path` itself where it is plain Unicode; otherwise quoted. `unquote_path` gives it back exactly."""
    if not path.startswith('"') and not any("\ud800" <= letter <= "\udfff" for letter in path):
        return path
    quoted = bytearray()
    for byte in os.fsencode(path):
        if byte in b'"\\':
            quoted += b"\\%c" % byte
        elif 0x20 <= byte < 0x7F:
            quoted.append(byte)
        else:
            quoted += b"\\%03o" % byte
    return f'"{quoted.decode("ascii")}"'


def unquote_path(text: str) -> str:
    """The path that `quote_path` was given; text that is not quoted is taken as it is."""
    if len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text

    def byte_of(match: re.Match[bytes]) -> bytes:
        escape = match[1]
        return bytes([int(escape, 8) & 0xFF]) if len(escape) == 3 else escape

    return os.fsdecode(_ESCAPE.sub(byte_of, text[1:-1].encode("utf-8", "surrogateescape")))
