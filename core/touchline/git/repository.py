"""One git work tree and the only way to call git in it (spec page 1, "Git facts").

Every call is bounded, asks nothing, and runs no program that the repository names (see `isolation`). The
repository is named to git explicitly, so that `core.worktree`, a swapped `.git` file or our own environment
cannot point a call elsewhere.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import GitError, GitQueryError, NotARepositoryError, ProcessError
from touchline.git.isolation import (
    Filters,
    foreign_git_names,
    isolated_additions,
    overrides,
    parse_config_list,
    ssh_command,
    transport_arguments,
)
from touchline.process import Completed
from touchline.process import run as run_process
from touchline.process.environment import clean_environment

OLDEST_GIT = (2, 39)
QUERY_TIMEOUT_S = 120.0
MAX_OUTPUT_BYTES = 256 * 1024 * 1024

_CONTENT_FREE = frozenset(
    {
        "cat-file",
        "check-ref-format",
        "config",
        "diff-tree",
        "for-each-ref",
        "ls-files",
        "ls-tree",
        "merge-base",
        "mktree",
        "rev-list",
        "rev-parse",
        "show-ref",
        "symbolic-ref",
        "update-ref",
    }
)
"""Commands that, as called here, look into no work-tree file and write no index, so that no filter is met."""

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_CREDENTIALS = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s@'\"]+@")
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Head:
    """Where HEAD stands. `branch` is "HEAD" when detached; `commit` is "" on an unborn branch."""

    branch: str
    commit: str

    @property
    def detached(self) -> bool:
        """Whether HEAD names a commit itself instead of a branch."""
        return self.branch == "HEAD"


@dataclass(frozen=True, slots=True)
class Repository:
    """A git work tree: its root, its own git folder and the one shared by all its worktrees (absolute paths)."""

    work_tree: Path
    git_dir: Path
    common_dir: Path
    hash_length: int = 40
    """Hex digits of an object id: 40 (SHA-1) or 64 (SHA-256)."""

    @classmethod
    def open(cls, path: Path | str) -> Repository:
        """The repository whose work tree holds `path`.

        Raises NotARepositoryError, with what to do, for a folder that is no work tree: no repository, a bare
        one, the inside of `.git`, an owner that git does not trust, git missing or too old.
        """
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
        return cls(work_tree, git_dir, common, 64 if facts[2:3] == ["sha256"] else 40)

    @property
    def null_id(self) -> str:
        """The object id that git writes for "none"."""
        return "0" * self.hash_length

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        timeout_s: float = QUERY_TIMEOUT_S,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
        filters: Filters = "off",
        network: bool = False,
        extra_env: Mapping[str, str] | None = None,
    ) -> Completed:
        """One bounded git call; its exit status is a value. `args` begin with the git command.

        Raises NotARepositoryError when the work tree or git itself is gone.
        """
        settings: tuple[tuple[str, str], ...] = ()
        ssh = ""
        if network or args[0] not in _CONTENT_FREE:
            listing = self.git("config", "--list", "-z", "--show-scope")
            config = parse_config_list(listing)
            settings = overrides(config, filters=filters)
            ssh = ssh_command(config, os.environ) if network else ""
        added = isolated_additions(
            settings, git_dir=str(self.git_dir), work_tree=str(self.work_tree), ssh=ssh, network=network
        )
        if extra_env:
            added.update(extra_env)
        sent = transport_arguments(args) if network else args
        return _call(sent, self.work_tree, added, stdin=stdin, timeout_s=timeout_s, max_output_bytes=max_output_bytes)

    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        ok: Collection[int] = (0,),
        timeout_s: float = QUERY_TIMEOUT_S,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
        filters: Filters = "off",
        network: bool = False,
        extra_env: Mapping[str, str] | None = None,
        error: type[GitError] = GitQueryError,
    ) -> bytes:
        """Standard output of a git call that ended with a status in `ok`, complete.

        Raises `error` with the command and git's own words on any other ending.
        """
        done = self.run(
            *args,
            stdin=stdin,
            timeout_s=timeout_s,
            max_output_bytes=max_output_bytes,
            filters=filters,
            network=network,
            extra_env=extra_env,
        )
        require(done, args, ok=ok, error=error)
        return done.stdout

    def head(self) -> Head:
        """The current branch and commit, read in two calls. Raises GitQueryError if HEAD cannot be read."""
        symbolic = self.run("symbolic-ref", "-q", "HEAD")
        require(symbolic, ("symbolic-ref", "-q", "HEAD"), ok=(0, 1))
        ref = os.fsdecode(symbolic.stdout).removesuffix("\n") if symbolic.returncode == 0 else ""
        args = ("rev-parse", "HEAD", "HEAD^{commit}")
        parsed = self.run(*args)
        first = os.fsdecode(parsed.stdout).partition("\n")[0]
        if parsed.returncode == 0 and is_full_hash(first):
            return Head(_branch_name(ref), first)
        if not ref or is_full_hash(first):
            raise query_failure(args, parsed)
        # "Unborn" and "broken" look alike to rev-parse; only the second one warns here.
        listed = self.run("for-each-ref", ref)
        if listed.returncode != 0 or listed.stdout or listed.stderr.strip():
            raise query_failure(("for-each-ref", ref), listed)
        return Head(_branch_name(ref), "")

    def inside(self, path: str) -> Path:
        """The absolute place of a path that git or `check_relative` gave."""
        return self.work_tree / path


def is_full_hash(text: str) -> bool:
    """Whether `text` is a complete object id in lower-case hex."""
    return _HASH.fullmatch(text) is not None


def as_repository(repo: Repository | Path | str) -> Repository:
    """`repo` itself, or the repository opened at that path."""
    return repo if isinstance(repo, Repository) else Repository.open(repo)


def submodule_at(repo: Repository, path: str) -> Repository | None:
    """The repository of the submodule at `path`, None if it is not populated or cannot be used."""
    place = repo.inside(path)
    try:
        inner = Repository.open(place)
    except NotARepositoryError:
        return None
    # Git looks upwards: without a repository of its own, the folder belongs to the one around it.
    return inner if inner.work_tree.resolve() == place.resolve() else None


def redact(text: str) -> str:
    """`text` without user names and passwords in URLs."""
    return _CREDENTIALS.sub(r"\1***@", text)


def require(
    done: Completed, args: Collection[str], *, ok: Collection[int] = (0,), error: type[GitError] = GitQueryError
) -> None:
    """Raises `error` unless the call ended by itself, with a status in `ok` and complete output."""
    if done.returncode not in ok or done.ending != "exited" or done.truncated:
        raise query_failure(args, done, error=error)


def query_failure(args: Collection[str], done: Completed, *, error: type[GitError] = GitQueryError) -> GitError:
    """The error of a git call that failed: command, how it ended, git's own words."""
    words = redact(done.stderr.decode("utf-8", "replace").strip())[-2000:]
    if done.truncated:
        ended = "gave more output than its limit"
    elif done.ending != "exited":
        ended = f"did not finish within its limit of time ({done.ending})"
    else:
        ended = f"failed with status {done.returncode}"
    command = redact(" ".join(("git", *args)))[:500]
    what = f"`{command}` {ended}" + (f": {words}" if words else "")
    return error(what, fix="Run the command in the repository to see the cause.")


def _branch_name(ref: str) -> str:
    return ref.removeprefix("refs/heads/") if ref else "HEAD"


def _call(
    args: Collection[str],
    cwd: Path,
    added: Mapping[str, str],
    *,
    stdin: bytes = b"",
    timeout_s: float = QUERY_TIMEOUT_S,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> Completed:
    environment = clean_environment(os.environ, remove=foreign_git_names(os.environ), add=added)
    try:
        return run_process(
            ["git", "--no-pager", *args],
            cwd=cwd,
            env=environment,
            stdin=stdin,
            timeout_s=timeout_s,
            max_output_bytes=max_output_bytes,
        )
    except ProcessError as error:
        if not cwd.is_dir():
            gone = f"the work tree {cwd} is gone"
            raise NotARepositoryError(gone, fix="Put the folder back, or start again in another one.") from error
        raise _no_git() from error


def _no_git() -> NotARepositoryError:
    needed = ".".join(map(str, OLDEST_GIT))
    return NotARepositoryError("git is not installed", fix=f"Install git {needed} or newer and put it on PATH.")


@functools.cache
def _require_git(search_path: str) -> None:
    """Once for each PATH: git is there and new enough."""
    if shutil.which("git", path=search_path) is None:
        raise _no_git()
    done = _call(("version",), Path("/"), isolated_additions(()))
    match = _VERSION.match(done.stdout)
    if match is None or (int(match[1]), int(match[2])) < OLDEST_GIT:
        needed = ".".join(map(str, OLDEST_GIT))
        found = done.stdout.decode("utf-8", "replace").strip() or "an unknown version"
        raise NotARepositoryError(f"git is too old: {found}", fix=f"Install git {needed} or newer.")


def _discover(folder: Path, *questions: str) -> str:
    """The answer of `git rev-parse`, without its last newline: a path may hold others."""
    done = _call(("rev-parse", *questions), folder, isolated_additions(()))
    if done.returncode == 0 and done.ending == "exited":
        return os.fsdecode(done.stdout).removesuffix("\n")
    words = redact(done.stderr.decode("utf-8", "replace").strip())
    if "dubious ownership" in words:
        raise NotARepositoryError(
            f"git does not trust the owner of {folder}: {words.partition(chr(10))[0]}",
            fix=f"If the repository is yours: git config --global --add safe.directory {folder}",
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
