"""Files that are only ever appended to, private to their owner, whole again after a torn write (spec page 1).

Everything here may raise OSError; `touchline.turn.record` decides what that means.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

_BLOCK = 64 * 1024


class AppendFile:
    """A file of mode 0600, opened at the first append. A failed append leaves nothing of itself behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        self._torn = False
        self.size = 0

    def open(self) -> int:
        """The descriptor; opens, and for a file that is new makes it private, whatever the umask."""
        if self._fd < 0:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(self.path, flags, 0o600)
            try:
                os.fchmod(fd, 0o600)
                self.size = self.repaired(fd)
            except OSError:
                os.close(fd)
                raise
            self._fd = fd
        return self._fd

    def repaired(self, fd: int) -> int:
        """The size of the file that was just opened, after any repair."""
        return os.fstat(fd).st_size

    def append(self, data: bytes) -> None:
        """Append all of `data`, or raise OSError and leave the file as it was."""
        if not data:
            return
        fd = self.open()
        if self._torn:
            os.ftruncate(fd, self.size)
            self._torn = False
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError:
            self._torn = len(rest) < len(data)
            raise
        self.size += len(data)

    def close(self) -> None:
        """Close the descriptor; an append that follows opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class LinesFile(AppendFile):
    """JSON lines; a torn last line of an earlier process is repaired before the first append."""

    def repaired(self, fd: int) -> int:
        """The size after a last line without newline was completed, if it is whole JSON, or cut off."""
        size = os.fstat(fd).st_size
        start = _line_start(fd, size)
        if start == size:
            return size
        if _is_json(os.pread(fd, size - start, start)):
            return size + os.write(fd, b"\n")
        os.ftruncate(fd, start)
        return start

    def newest_first(self) -> Iterator[bytes]:
        """The lines from the last to the first, read only as far as asked."""
        fd = self.open()
        end, first_line = self.size, b""
        while end > 0:
            start = max(end - _BLOCK, 0)
            first_line, *rest = (os.pread(fd, end - start, start) + first_line).split(b"\n")
            yield from reversed(rest)
            end = start
        yield first_line


def _line_start(fd: int, end: int) -> int:
    """The offset after the last newline before `end`."""
    while end > 0:
        start = max(end - _BLOCK, 0)
        at = os.pread(fd, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
