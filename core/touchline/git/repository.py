"""One git work tree and the only way to call git in it (spec page 1, "Git facts").

Every call is bounded, asks nothing, and runs no program that the repository names (see `isolation`). The
repository is named to git explicitly, so that `core.worktree`, a swapped `.git` file or our own environment
cannot point a call elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import GitError, GitQueryError, NotARepositoryError
from touchline.git.call import MAX_OUTPUT_BYTES, QUERY_TIMEOUT_S, call_git, query_failure, require
from touchline.git.call import OLDEST_GIT as OLDEST_GIT
from touchline.git.discovery import find_places
from touchline.git.isolation import (
    ConfigValue,
    Filters,
    isolated_additions,
    overrides,
    parse_config_list,
    ssh_command,
    transport_arguments,
)
from touchline.git.transport import conditional_settings, has_conditions, object_folder, transport_folder
from touchline.process import Completed
from touchline.process.cancel import Cancellation

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

MAX_NESTING = 20
"""Submodules inside submodules that are still followed."""

_EMPTY_TREE = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


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
        found = find_places(path)
        return cls(found.work_tree, found.git_dir, found.common_dir, found.hash_length)

    @property
    def null_id(self) -> str:
        """The object id that git writes for "none"."""
        return "0" * self.hash_length

    @property
    def empty_tree(self) -> str:
        """The object id of a tree without files; what an unborn branch is compared with."""
        return _EMPTY_TREE[self.hash_length]

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        timeout_s: float = QUERY_TIMEOUT_S,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
        filters: Filters = "off",
        network: bool = False,
        settings: Collection[tuple[str, str]] = (),
        extra_env: Mapping[str, str] | None = None,
        cancel: Cancellation | None = None,
    ) -> Completed:
        """One bounded git call; its exit status is a value. `args` begin with the git command.

        `settings` are git configuration for this call alone, stronger than any other; they never reach an argv.
        A call with `network` sees the repository's objects and none of its settings (see `transport`).
        Raises NotARepositoryError when the work tree or git itself is gone.
        """
        neutral: tuple[tuple[str, str], ...] = ()
        config: tuple[ConfigValue, ...] = ()
        if network or args[0] not in _CONTENT_FREE:
            config = self.configuration()
            neutral = overrides(config, filters=filters)
        with ExitStack() as stack:
            if network:
                try:
                    folder = stack.enter_context(transport_folder(self, args[0], config))
                except OSError as error:
                    raise GitError(
                        f"no folder for `git {args[0]}` can be made: {error}", fix="Make room in the temporary folder."
                    ) from error
                added = isolated_additions(
                    (*neutral, *self._conditional(config, folder), *settings),
                    git_dir=str(folder),
                    objects=object_folder(self),
                    ssh=ssh_command(config, os.environ),
                    network=True,
                )
            else:
                added = isolated_additions(
                    (*neutral, *settings), git_dir=str(self.git_dir), work_tree=str(self.work_tree)
                )
            return call_git(
                transport_arguments(args) if network else args,
                self.work_tree,
                {**added, **(extra_env or {})},
                stdin=stdin,
                timeout_s=timeout_s,
                max_output_bytes=max_output_bytes,
                cancel=cancel,
            )

    def configuration(self) -> tuple[ConfigValue, ...]:
        """Every setting in force here, with its scope. Raises GitQueryError where git refuses the configuration."""
        return parse_config_list(self.git("config", "--list", "-z", "--show-scope"))

    def _conditional(self, config: tuple[ConfigValue, ...], folder: Path) -> tuple[tuple[str, str], ...]:
        """What the user set for this repository alone, which a call in `folder` would not see by itself."""
        if not has_conditions(config):
            return ()
        args = ("config", "--list", "-z", "--show-scope")
        done = call_git(args, self.work_tree, isolated_additions((), git_dir=str(folder)))
        require(done, args)
        return conditional_settings(config, parse_config_list(done.stdout))

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
        """The current branch and commit. Raises GitQueryError if HEAD cannot be read."""
        at_once = self.run("rev-parse", "HEAD", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
        lines = os.fsdecode(at_once.stdout).removesuffix("\n").split("\n")
        if at_once.returncode == 0 and len(lines) == 3 and is_full_hash(lines[0]):
            return Head("HEAD" if lines[2] == "HEAD" else _branch_name(lines[2]), lines[0])
        # Unborn, broken, or another ref is called HEAD too, so that git does not say the name.
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


def submodule_at(repo: Repository, path: str, *, depth: int = 0) -> Repository | None:
    """The repository of the submodule at `path`, None if it is not populated or cannot be used.

    `depth` counts the submodules around this one; raises GitError where nesting has no sensible end.
    """
    if depth >= MAX_NESTING:
        raise GitError(f"submodules at {repo.work_tree} are nested too deep", fix="Remove the innermost ones.")
    place = repo.inside(path)
    try:
        inner = Repository.open(place)
    except NotARepositoryError:
        return None
    # Git looks upwards: without a repository of its own, the folder belongs to the one around it.
    return inner if inner.work_tree.resolve() == place.resolve() else None


def _branch_name(ref: str) -> str:
    return ref.removeprefix("refs/heads/") if ref else "HEAD"
