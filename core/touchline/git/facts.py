"""What git says about a turn's commits (spec page 1, "Git facts"): facts, against which claims are checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import GitQueryError
from touchline.git.call import require
from touchline.git.repository import Repository, as_repository, is_full_hash

_HEX = re.compile(r"[0-9a-f]{4,64}")
_NOT_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^-|^@$|^$|//|/$|\.$|\.lock$")


@dataclass(frozen=True, slots=True)
class GitTurnStatus:
    """Branch ("HEAD" when detached), full commit ("" when unborn), and whether the turn brought new commits."""

    branch: str
    commit: str
    has_new: bool


def git_turn_status(repo: Repository | Path | str, start_commit: str) -> GitTurnStatus:
    """The branch and commit now, compared with the commit at the start of the turn.

    `has_new` is true only if both commits are known and differ; an empty `start_commit` is unknown. Reads
    only. Raises GitQueryError when git cannot answer, which is never "nothing new".
    """
    repository = as_repository(repo)
    head = repository.head()
    start = start_commit.strip().lower()
    if start and not is_full_hash(start):
        resolved = resolve_commit(repository, start_commit.strip())
        if resolved is None:
            raise GitQueryError(
                f"the start of the turn, {start_commit!r}, names no commit of {repository.work_tree}",
                fix="Pass the full commit id that HEAD had when the turn began, or an empty text if unknown.",
            )
        start = resolved
    return GitTurnStatus(head.branch, head.commit, bool(start and head.commit and start != head.commit))


def resolve_commit(repo: Repository | Path | str, name: str) -> str | None:
    """The full id of the one commit that a claimed `name` means; None if it means none or several.

    Understood: a full or short object id in either case, and a branch or tag name. Not understood on purpose:
    git's revision syntax (`HEAD~2`, `:/text`, `@{1}`) and anything that looks like an option. An object id
    wins over a ref of the same spelling, because a ref can be made by the one who claims.
    """
    repository = as_repository(repo)
    lowered = name.lower()
    if _HEX.fullmatch(lowered) and len(lowered) <= repository.hash_length:
        objects = repository.git("rev-parse", f"--disambiguate={lowered}").split()
        commits = _peel(repository, [found.decode("ascii") for found in objects])
        if len(commits) > 1:
            return None
        if commits:
            return commits.pop()
    if _NOT_A_REF.search(name) or len(name) > 1000 or not _encodable(name):
        return None
    for ref in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/remotes/{name}"):
        args = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        done = repository.run(*args)
        found = done.stdout.decode("ascii", "replace").strip()
        if done.returncode == 0 and is_full_hash(found):
            return found
    return None


def is_ancestor(repo: Repository, ancestor: str, descendant: str) -> bool:
    """Whether `descendant` has `ancestor` in its history (a commit is its own ancestor); both full ids."""
    args = ("merge-base", "--is-ancestor", ancestor, descendant)
    done = repo.run(*args)
    require(done, args, ok=(0, 1))
    return done.returncode == 0


def _encodable(name: str) -> bool:
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _peel(repository: Repository, objects: list[str]) -> set[str]:
    """The commits that `objects` are or, as tags, point to."""
    if not objects:
        return set()
    asked = "".join(f"{found}^{{commit}}\n" for found in objects).encode("ascii")
    lines = repository.git("cat-file", "--batch-check", stdin=asked).decode("ascii", "replace").splitlines()
    return {line.split(" ")[0] for line in lines if line.split(" ")[1:2] == ["commit"]}
