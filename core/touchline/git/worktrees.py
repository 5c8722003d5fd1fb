"""Throw-away worktrees at a commit (DESIGN.md, "throw-away worktree"; spec page 5, the debug step).

One is detached, checked out without hooks and filters, and removed at the end of its `with` block. What a kill
leaves behind is recognised by the reason of its lock, which git writes together with the worktree and which
names the process that made it; `remove_leftovers` takes away those whose process is gone. What git's files say
never chooses what is deleted: only a folder directly in the one that the caller names, or an entry in git's own
list that carries the mark. A worktree without that mark is the user's, and nothing is pruned.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import GitError, NotARepositoryError
from touchline.git.isolation import Filters
from touchline.git.repository import Repository, is_full_hash
from touchline.process import run as run_process
from touchline.state import make_private_folder

_MARK = re.compile(r"touchline throw-away (\d+) (\d+\.\d+)\s*")
CHECKOUT_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class ThrowawayWorktree:
    """A worktree for one purpose. `unpopulated` are its submodules, whose folders are empty."""

    repository: Repository
    commit: str
    unpopulated: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The root of its files."""
        return self.repository.work_tree


@contextlib.contextmanager
def throwaway_worktree(
    repo: Repository, commit: str, folder: Path, *, filters: Filters = "off"
) -> Iterator[ThrowawayWorktree]:
    """A detached worktree of `commit` (full id) at `folder`, removed at the end with everything in it.

    `folder` must lie in a private folder of the run and not exist, or be what a killed process of ours left.
    Raises GitError if it is anything else, and if git cannot check the commit out.
    """
    if not is_full_hash(commit):
        raise GitError(f"{commit!r} is no full commit id", fix="Resolve the name to a commit first.")
    place = folder.absolute()
    make_private_folder(place.parent)
    remove_leftovers(repo, place.parent)
    if place.exists() or place.is_symlink():
        raise GitError(f"{place} already exists", fix="Remove it, or name a folder that does not exist.")
    args = ("worktree", "add", "--detach", "--lock", "--reason", _own_mark(), "--", str(place), commit)
    try:
        repo.git(*args, timeout_s=CHECKOUT_TIMEOUT_S, filters=filters, error=GitError)
        yield _opened(repo, place, commit)
    finally:
        # Files first: as long as git's marked entry stands, a later start finds the rest.
        _remove(place)
        for admin in _admin_folders(repo):
            if _target(admin) == place and _mark_of(admin):
                _remove_admin(admin)


def remove_leftovers(repo: Repository, root: Path) -> tuple[Path, ...]:
    """Removes the throw-away worktrees directly in `root` whose process is gone; returns where they were."""
    removed = []
    for admin in _admin_folders(repo):
        mark = _mark_of(admin)
        if mark is None or _alive(*mark):
            continue
        place = _target(admin)
        if place is not None:
            if ".." in place.parts or place.parent.resolve() != root.resolve():
                continue
            _remove(place)
            removed.append(place)
        _remove_admin(admin)
    return tuple(removed)


def _opened(repo: Repository, place: Path, commit: str) -> ThrowawayWorktree:
    try:
        opened = Repository.open(place)
    except NotARepositoryError as error:
        raise GitError(f"the worktree just made at {place} cannot be opened: {error.what}", fix=error.fix) from error
    head = opened.head()
    if head.commit != commit or not head.detached:
        raise GitError(
            f"the worktree at {place} stands at {head.commit} ({head.branch}), not at {commit}",
            fix="Another process uses this folder; start again.",
        )
    records = os.fsdecode(repo.git("ls-tree", "-r", "-z", "--full-tree", commit)).split("\0")[:-1]
    submodules = tuple(record.partition("\t")[2] for record in records if record.startswith("160000 "))
    return ThrowawayWorktree(opened, commit, submodules)


def _own_mark() -> str:
    import psutil

    return f"touchline throw-away {os.getpid()} {psutil.Process().create_time():.2f}"


def _alive(pid: int, started: float) -> bool:
    """Whether the process that made the mark still runs; its start time tells it from a later one of that id."""
    import psutil

    try:
        return abs(psutil.Process(pid).create_time() - started) < 1.0
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _admin_folders(repo: Repository) -> list[Path]:
    try:
        return sorted((repo.common_dir / "worktrees").iterdir())
    except FileNotFoundError:
        return []


def _mark_of(admin: Path) -> tuple[int, float] | None:
    try:
        match = _MARK.fullmatch((admin / "locked").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return (int(match[1]), float(match[2])) if match else None


def _target(admin: Path) -> Path | None:
    """The folder of a worktree, None if git did not get as far as noting it."""
    try:
        noted = os.fsdecode((admin / "gitdir").read_bytes()).removesuffix("\n")
    except OSError:
        return None
    return Path(noted).parent if noted else None


def _remove_admin(admin: Path) -> None:
    _remove(admin)
    with contextlib.suppress(OSError):
        # Git, too, takes the list away with its last entry; the folder is not empty otherwise.
        admin.parent.rmdir()


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        raise GitError(f"{folder} was replaced by a link", fix="Look where it leads, then remove it yourself.")
    if not folder.exists():
        return
    try:
        if sys.version_info >= (3, 12):
            shutil.rmtree(folder, onexc=_make_writable)
        else:
            shutil.rmtree(folder, onerror=_make_writable)
    except RecursionError:
        # Nested deeper than Python can follow.
        run_process(["rm", "-rf", "--", str(folder)], cwd=folder.parent, timeout_s=CHECKOUT_TIMEOUT_S)


def _make_writable(function: Callable[..., object], name: str, problem: object) -> None:
    """Removes what a build left without write permission; gives the error if that does not help."""
    place = Path(name)
    for target in (place.parent, place):
        if not target.is_symlink() and target.is_dir():
            target.chmod(target.stat().st_mode | stat.S_IRWXU)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
