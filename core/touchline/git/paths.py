"""Which paths may be used inside a work tree: relative, inside it, not through a link (DESIGN.md, "not trusted")."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from touchline.errors import GitError


def check_relative(path: str) -> str:
    """`path` itself, if it names a place inside the work tree as git writes it: `a/b`, never `../b` or `/b`.

    Raises GitError for anything else, and for a path into a `.git` folder.
    """
    parts = path.rstrip("/").split("/")
    bad = not path.strip("/") or path.startswith("/") or "\0" in path
    if bad or any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise GitError(
            f"{path!r} is not a path inside the work tree",
            fix="Use a path relative to the root of the repository, with no `..` and not inside `.git`.",
        )
    return path


class RealFolders:
    """Tells whether all folders above a path are real folders; a link there would lead out of the work tree."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._known: dict[str, bool] = {"": True}

    def holds(self, path: str) -> bool:
        """Whether every parent of the relative `path` is a folder and no symlink."""
        return self._real(path.rpartition("/")[0])

    def _real(self, folder: str) -> bool:
        # Not recursive: a path can have more parts than Python has frames.
        unknown = []
        while folder not in self._known:
            unknown.append(folder)
            folder = folder.rpartition("/")[0]
        answer = self._known[folder]
        for below in reversed(unknown):
            answer = answer and _is_folder(f"{self._root}/{below}")
            self._known[below] = answer
        return answer


def _is_folder(place: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except OSError:
        return False
