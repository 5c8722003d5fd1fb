"""Reading `git status --porcelain=v2 -z` (spec page 5, "--no-pr"). Pure: bytes to a value."""

from __future__ import annotations

import os
from dataclasses import dataclass

from touchline.errors import GitQueryError


@dataclass(frozen=True, slots=True)
class Status:
    """Paths by what differs, each sorted; one path may be in several.

    staged: index against HEAD. unstaged: tracked, work tree against index. untracked: not in the index and not
    ignored, each file by itself (a nested repository as `folder/`). conflicted: unmerged. intended: marked by
    `git add -N`. modified_submodules: changed inside, whatever the index says.
    """

    staged: tuple[str, ...] = ()
    unstaged: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()
    intended: tuple[str, ...] = ()
    modified_submodules: tuple[str, ...] = ()

    @property
    def dirty_tracked(self) -> tuple[str, ...]:
        """Tracked files that are not as in HEAD: what a run must not mix with its own work."""
        return tuple(sorted({*self.staged, *self.unstaged, *self.conflicted, *self.modified_submodules}))

    @property
    def clean(self) -> bool:
        """Whether nothing at all differs from HEAD."""
        return not (self.dirty_tracked or self.untracked or self.intended)


_FIELDS_BEFORE_PATH = {"1": 8, "u": 10}


def parse_status(output: bytes) -> Status:
    """The status in `output`; renames must be off (`--no-renames`). Raises GitQueryError on an unknown record."""
    staged, unstaged, untracked, conflicted, intended = set(), set(), set(), set(), set()
    for record in os.fsdecode(output).split("\0")[:-1]:
        kind = record[:1]
        if kind == "?":
            untracked.add(record[2:])
            continue
        if kind in ("!", "#"):
            continue
        fields = record.split(" ", _FIELDS_BEFORE_PATH.get(kind, 0))
        if kind not in _FIELDS_BEFORE_PATH or len(fields) != _FIELDS_BEFORE_PATH[kind] + 1:
            raise GitQueryError(
                f"`git status` gave a record that touchline does not know: {record[:200]!r}",
                fix="Report this with the output of `git version`.",
            )
        codes, path = fields[1], fields[-1]
        if kind == "u":
            conflicted.add(path)
        elif codes == ".A":
            intended.add(path)
        else:
            if codes[0] != ".":
                staged.add(path)
            if codes[1] != ".":
                unstaged.add(path)
    return Status(*(tuple(sorted(paths)) for paths in (staged, unstaged, untracked, conflicted, intended)))
