"""The branch of a published run: a fresh one from the fetched target, or the run's own (spec page 5, phase 0)."""

from __future__ import annotations

import re
from collections.abc import Callable

from touchline.coach.announce import plan_summary
from touchline.errors import GitError, UsageError
from touchline.git.diff import merge_base
from touchline.git.index import read_status
from touchline.git.quoting import quote_path
from touchline.git.refnames import is_branch_name
from touchline.git.repository import Repository
from touchline.state import slug

PREFIX = "touchline/"
NAME_MAX = 60
TRIES = 50

_TICKET = re.compile(r"\b[A-Z][A-Z0-9]{1,9}-[0-9]{1,7}\b")


def branch_name(plan: str) -> str:
    """A name for the branch of `plan`: its ticket id, where it names one, and its title. Pure."""
    title = plan_summary(plan)
    ticket = _TICKET.search(title) or _TICKET.search(plan[:2000])
    words = slug(_TICKET.sub(" ", title), max_length=NAME_MAX) or "change"
    return f"{PREFIX}{ticket[0]}-{words}" if ticket else f"{PREFIX}{words}"


def refuse_dirty(repo: Repository, *, allowed: bool) -> tuple[str, ...]:
    """The changed tracked files at the start. Raises UsageError naming them unless they were allowed."""
    dirty = read_status(repo).dirty_tracked
    if dirty and not allowed:
        shown = ", ".join(quote_path(path) for path in dirty[:10])
        raise UsageError(
            f"{len(dirty)} tracked files are changed: {shown}",
            fix="Commit or stash them; or start with --allow-dirty, and the run stops if a turn touches one of them.",
        )
    return dirty


def open_branch(repo: Repository, name: str, target_sha: str, *, at_host: Callable[[str], bool]) -> str:
    """Create and check out a branch at `target_sha`; a name that is taken here or at the host gets a number.

    Gives the name. Raises GitError when the work tree cannot be switched without losing something; nothing is
    changed then.
    """
    for number in range(1, TRIES):
        candidate = name if number == 1 else f"{name}-{number}"
        if not is_branch_name(repo, candidate):
            raise UsageError(f"{candidate!r} cannot name a branch", fix="Give the plan a heading in plain words.")
        taken = repo.run("show-ref", "--verify", "--quiet", f"refs/heads/{candidate}").returncode == 0
        if not taken and not at_host(candidate):
            argv = ("switch", "--quiet", "--no-track", "--create", candidate, target_sha)
            repo.git(*argv, filters="user", error=GitError)
            return candidate
    raise GitError(f"{TRIES} branches are called like {name!r}", fix="Remove the ones that you no longer need.")


def common_base(repo: Repository, target_sha: str, head: str) -> str:
    """The merge base of target and head. Raises GitError when they share no history."""
    base = merge_base(repo, target_sha, head)
    if not base:
        raise GitError(
            f"the branch at {head[:12]} and its target at {target_sha[:12]} share no history",
            fix="Name the target that the branch began from with --target.",
        )
    return base
