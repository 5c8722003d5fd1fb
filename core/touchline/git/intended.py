"""The tree that a turn's commit will have, known and scanned before it is committed (spec page 5, "path by path").

It is made in an index of its own out of exact paths, so that nothing else, staged or not, gets into it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import GitError
from touchline.git.isolation import parse_config_list
from touchline.git.paths import RealFolders, check_relative
from touchline.git.repository import Repository, submodule_at
from touchline.git.trees import SUBMODULE, commit_modes


@dataclass(frozen=True, slots=True)
class Intended:
    """The tree that a commit will have. `left_out` are paths that git cannot commit as files, with the reason."""

    tree: str
    start: str
    left_out: tuple[tuple[str, str], ...] = ()


def intended_tree(repo: Repository, paths: Collection[str], *, start: str) -> Intended:
    """The tree of commit `start` ("" on an unborn branch) with each of `paths` as it lies in the work tree now.

    Exact paths: files, links, submodules, modes, deletions; a folder stands for itself only. The repository gets the
    objects, its index is not touched. Filters are the user's; raises GitError where only the repository defines one
    that a path needs, and for paths outside of the work tree.
    """
    with index_of(repo, start) as env:
        removed, added, left_out = _sorted_out(repo, paths, start)
        _refuse_foreign_filters(repo, added)
        for option, names in (("--force-remove", removed), ("--add", added)):
            if names:
                args = ("update-index", "--replace", option, "-z", "--stdin")
                repo.git(*args, stdin=_listed(names), extra_env=env, filters="user", error=GitError)
        return Intended(write_tree(repo, env), start, tuple(left_out))


@contextlib.contextmanager
def index_of(repo: Repository, tree: str) -> Iterator[dict[str, str]]:
    """The environment in which an index that holds `tree`, and nothing else, is git's."""
    with tempfile.TemporaryDirectory(prefix="touchline-index-") as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        repo.git("read-tree", tree or repo.empty_tree, extra_env=env, error=GitError)
        yield env


def write_tree(repo: Repository, env: Mapping[str, str]) -> str:
    """The tree that the index of `env` holds; raises GitError if it is not whole."""
    return repo.git("write-tree", extra_env=env, error=GitError).decode("ascii").strip()


def tree_of(repo: Repository, commit: str) -> str:
    """The tree of a commit; of "" the empty one."""
    if not commit:
        return repo.empty_tree
    return repo.git("rev-parse", f"{commit}^{{tree}}").decode("ascii").strip()


def _listed(paths: Collection[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))


def _sorted_out(
    repo: Repository, paths: Collection[str], start: str
) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Which of `paths` go, which come, and which can be neither, with the reason."""
    before = commit_modes(repo, start) if start else {}
    folders = RealFolders(repo.work_tree)
    declared: set[str] | None = None
    removed, added, left_out = [], [], []
    for path in sorted({check_relative(path).rstrip("/") for path in paths}):
        try:
            mode = repo.inside(path).lstat().st_mode if folders.holds(path) else 0
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            added.append(path)
        elif stat.S_ISDIR(mode) and os.path.lexists(repo.inside(path) / ".git"):
            declared = _declared_submodules(repo) if declared is None else declared
            usable = before.get(path) == SUBMODULE or path in declared
            inner = submodule_at(repo, path)
            if usable and inner is not None and inner.head().commit:
                added.append(path)
            else:
                left_out.append((path, "a repository of its own that is no submodule"))
        elif stat.S_ISDIR(mode) and before.get(path) == SUBMODULE:
            continue
        elif path in before:
            removed.append(path)
        elif mode:
            left_out.append((path, "a folder" if stat.S_ISDIR(mode) else "no file"))
    return removed, added, left_out


def _declared_submodules(repo: Repository) -> set[str]:
    """The paths that `.gitmodules` in the work tree names."""
    place = repo.work_tree / ".gitmodules"
    if place.is_symlink() or not place.is_file():
        return set()
    done = repo.run("config", "--no-includes", "-z", "--file", str(place), "--get-regexp", r"^submodule\..*\.path$")
    return {os.fsdecode(entry).partition("\n")[2] for entry in done.stdout.split(b"\0")[:-1]}


def _refuse_foreign_filters(repo: Repository, paths: Collection[str]) -> None:
    """Raises GitError if a path needs a filter that we do not run, since it would be committed in the wrong form."""
    config = parse_config_list(repo.git("config", "--list", "-z", "--show-scope"))
    defined: dict[bool, set[str]] = {True: set(), False: set()}
    for item in config:
        if item.section == "filter" and item.variable in ("clean", "process") and item.value:
            defined[item.scope in ("system", "global")].add(item.key.split(".", 1)[1].rpartition(".")[0])
    foreign = defined[False] - defined[True]
    if not foreign or not paths:
        return
    answer = repo.git("check-attr", "-z", "--stdin", "filter", stdin=_listed(paths))
    fields = os.fsdecode(answer).split("\0")[:-1]
    for path, value in zip(fields[0::3], fields[2::3], strict=True):
        if value in foreign:
            raise GitError(
                f"{path} goes through the git filter {value!r}, which only the repository's own configuration defines",
                fix=f"Define filter.{value} in your own configuration (git config --global), if you trust it.",
            )
