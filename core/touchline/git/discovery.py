"""Finding the work tree around a folder, and saying what to do where there is none (spec page 1, "Git facts")."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import NotARepositoryError
from touchline.git.call import OLDEST_GIT, call_git, no_git, redact
from touchline.git.isolation import isolated_additions

_VERSION = re.compile(rb"git version (\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Places:
    """Where a repository lies, absolute, and how long its object ids are in hex digits."""

    work_tree: Path
    git_dir: Path
    common_dir: Path
    hash_length: int


def find_places(path: Path | str) -> Places:
    """The repository whose work tree holds `path`; raises NotARepositoryError with what to do."""
    folder = Path(path).absolute()
    if not folder.is_dir():
        raise NotARepositoryError(f"{folder} is not a folder", fix="Name the folder of a git repository.")
    _require_git(os.environ.get("PATH", os.defpath))
    facts = _discover(folder, "--is-bare-repository", "--is-inside-work-tree", "--show-object-format").split()
    if facts[1:2] != ["true"]:
        raise _no_work_tree(folder, bare=facts[:1] == ["true"])
    work_tree = Path(_discover(folder, "--show-toplevel"))
    git_dir = Path(_discover(folder, "--absolute-git-dir"))
    common = Path(_discover(folder, "--path-format=absolute", "--git-common-dir"))
    return Places(work_tree, git_dir, common, 64 if facts[2:3] == ["sha256"] else 40)


@functools.cache
def _require_git(search_path: str) -> None:
    """Once for each PATH: git is there and new enough."""
    if shutil.which("git", path=search_path) is None:
        raise no_git()
    done = call_git(("version",), Path("/"), isolated_additions(()))
    match = _VERSION.match(done.stdout)
    if match is None or (int(match[1]), int(match[2])) < OLDEST_GIT:
        needed = ".".join(map(str, OLDEST_GIT))
        found = done.stdout.decode("utf-8", "replace").strip() or "an unknown version"
        raise NotARepositoryError(f"git is too old: {found}", fix=f"Install git {needed} or newer.")


def _discover(folder: Path, *questions: str) -> str:
    """The answer of `git rev-parse`, without its last newline: a path may hold others."""
    done = call_git(("rev-parse", *questions), folder, isolated_additions(()))
    if done.returncode == 0 and done.ending == "exited":
        return os.fsdecode(done.stdout).removesuffix("\n")
    words = redact(done.stderr.decode("utf-8", "replace").strip())
    if "dubious ownership" in words:
        raise NotARepositoryError(
            f"git does not trust the owner of {folder}: {words.partition(chr(10))[0]}",
            fix=f"If the repository is yours: git config --global --add safe.directory {shlex.quote(str(folder))}",
        )
    if "bare repository" in words or "must be run in a work tree" in words:
        raise _no_work_tree(folder, bare=True)
    if "not a git repository: " in words:
        # A linked worktree or submodule whose `.git` file names a place that is gone, e.g. after a move.
        raise NotARepositoryError(
            f"{folder} points to a git folder that is not there: {words}",
            fix="After moving a repository, run `git worktree repair` in its main work tree.",
        )
    if "not a git repository" in words:
        raise NotARepositoryError(
            f"{folder} is not in a git repository", fix="Run `git init` there, or name a folder of a repository."
        )
    raise NotARepositoryError(f"git cannot read {folder}: {words}", fix="Repair the repository, then start again.")


def _no_work_tree(folder: Path, *, bare: bool) -> NotARepositoryError:
    if bare:
        return NotARepositoryError(
            f"{folder} is a bare repository: it has no files to work on",
            fix="Clone it, or add a work tree with `git worktree add`, and name that folder.",
        )
    return NotARepositoryError(
        f"{folder} is inside a .git folder", fix="Name the folder that holds the files of the repository."
    )
