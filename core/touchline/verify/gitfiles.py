"""Git's own files that decide what programs run: kept before the verifiers, put back after each (DESIGN.md).

Configuration, `info/` and the hooks folder, as bytes, without asking git: a broken configuration would stop every
later git call. What does not belong there is moved into a folder of ours, never deleted.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from touchline.git.repository import Repository

MAX_BYTES = 4 * 1024 * 1024
_NAMES = ("config", "config.worktree", "info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout")

_LINK = -1
_File = tuple[bytes, int]
"""Content and permission bits; for a link its target and `_LINK`."""


class GitFiles:
    """The files of one repository at one moment; `displaced` takes what has to go."""

    def __init__(self, repo: Repository, displaced: Path) -> None:
        self._folders = tuple(dict.fromkeys((repo.common_dir, repo.git_dir)))
        self._hooks = repo.common_dir / "hooks"
        self._displaced = displaced
        self._kept = self._read()

    def put_back(self) -> tuple[str, ...]:
        """Makes the files what they were; gives the names of those that were not. Raises OSError."""
        now = self._read()
        changed = sorted(place for place in self._kept.keys() | now.keys() if self._kept.get(place) != now.get(place))
        for place in changed:
            self._move_away(place)
            kept = self._kept.get(place)
            if kept is not None:
                _write(place, *kept)
        return tuple(self._name(place) for place in changed)

    def _read(self) -> dict[Path, _File]:
        places = [folder / name for folder in self._folders for name in _NAMES]
        if self._hooks.is_dir() and not self._hooks.is_symlink():
            places += sorted(self._hooks.iterdir())
        found = {}
        for place in places:
            file = _content(place)
            if file is not None:
                found[place] = file
        return found

    def _move_away(self, place: Path) -> None:
        if os.path.lexists(place):
            self._displaced.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.move(place, Path(tempfile.mkdtemp(dir=self._displaced)) / place.name)

    def _name(self, place: Path) -> str:
        folder = next(folder for folder in reversed(self._folders) if place.is_relative_to(folder))
        return place.relative_to(folder).as_posix()


def _content(place: Path) -> _File | None:
    """A file or a link as it is; None for anything else (a folder, a very large file), which is left alone."""
    try:
        found = place.lstat()
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return os.fsencode(os.readlink(place)), _LINK  # noqa: PTH115 (a Path would normalise the target)
    if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
        return None
    return place.read_bytes(), stat.S_IMODE(found.st_mode)


def _write(place: Path, content: bytes, mode: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if mode == _LINK:
        place.symlink_to(os.fsdecode(content))
        return
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".touchline-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
    Path(name).replace(place)
