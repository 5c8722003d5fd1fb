"""How much work a benchmark does: the whole of it, or as little as shows that it still runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Scale:
    """What a benchmark is given: `quick` is for tests, `scratch` an empty folder of its own."""

    quick: bool
    scratch: Path

    def pick(self, whole: _T, *, quick: _T) -> _T:
        """The size to use."""
        return quick if self.quick else whole
