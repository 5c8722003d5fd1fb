"""Output that is kept in memory, bounded whatever its size (spec page 2). No I/O."""

from __future__ import annotations


class Head:
    """Keeps the first `limit` bytes and counts all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Take a chunk, as much of it as there is room for."""
        self._total += len(chunk)
        room = self._limit - len(self._kept)
        if room > 0:
            self._kept += chunk[:room]

    def content(self) -> bytes:
        """What was kept."""
        return bytes(self._kept)

    @property
    def dropped(self) -> int:
        """How many bytes were not kept."""
        return self._total - len(self._kept)


class Tail:
    """Keeps the last `limit` bytes and counts all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Take a chunk; the oldest bytes make room."""
        self._total += len(chunk)
        self._kept += chunk[-self._limit :] if self._limit else b""
        # Cutting only at twice the limit keeps the cost per byte constant however small the chunks are.
        if len(self._kept) > 2 * self._limit:
            del self._kept[: -self._limit]

    def content(self) -> bytes:
        """What was kept."""
        return bytes(self._kept[-self._limit :]) if self._limit else b""

    @property
    def dropped(self) -> int:
        """How many bytes were not kept."""
        return max(0, self._total - self._limit)
