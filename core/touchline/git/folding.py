"""Taking back what a player committed, so that the coach decides what is committed (DESIGN.md, "folding").

The branch goes back to the turn's own start, the work tree stays as it is (proved by its tree hash), the index
becomes that of the start, and the player's head stays reachable under `refs/touchline/kept/`. Only unpushed
commits on top of the start are taken back; everything else is reported as a value and left alone.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from touchline.errors import GitError, UsageError
from touchline.git.facts import is_ancestor
from touchline.git.index import SavedIndex, restore_index, save_index
from touchline.git.repository import Head, Repository, is_full_hash
from touchline.git.trees import SUBMODULE, changed_paths, commit_modes, snapshot, tracked_modes

KEPT_REFS = "refs/touchline/kept/"
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


class FoldKind(StrEnum):
    """What folding found. Only the first two leave a state in which a run can go on."""

    NOTHING = "nothing"
    """HEAD is where the turn began."""
    FOLDED = "folded"
    """The player's commits were taken back."""
    SWITCHED = "switched"
    """Another branch is checked out, or HEAD was detached or attached."""
    REWRITTEN = "rewritten"
    """The start of the turn is no longer part of the history."""
    PUSHED = "pushed"
    """A commit since the start is known to a remote: pushed by the player, or brought in from there."""
    UNFINISHED = "unfinished"
    """A merge, rebase or the like stands in the middle."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """Where a turn began: HEAD and the index. Taken before the player runs."""

    head: Head
    index: SavedIndex


@dataclass(frozen=True, slots=True)
class Folded:
    """The outcome: `reason` in words for every kind but `nothing`; `commits` oldest first.

    `kept_ref` names the player's head (folded, or detached and so on no branch) or the start that a rewritten
    history lost. `untracked` are files that only the player's commits had made tracked:
    they lie in the work tree as before and belong to the owned paths from now on.
    """

    kind: FoldKind
    reason: str = ""
    commits: tuple[str, ...] = ()
    kept_ref: str = ""
    untracked: tuple[str, ...] = ()


def mark_start(repo: Repository) -> TurnStart:
    """The start of a turn, for `fold`."""
    return TurnStart(repo.head(), save_index(repo))


def operation_in_progress(repo: Repository) -> str:
    """The git operation that stands in the middle ("merge", "rebase" ...), "" if none."""
    for name, operation in _OPERATIONS.items():
        if os.path.lexists(repo.git_dir / name):
            return operation
    return ""


def inspect(repo: Repository, start: TurnStart) -> Folded:
    """What `fold` would find, without changing anything; `folded` means that it would fold."""
    head = repo.head()
    if head.branch != start.head.branch:
        return Folded(FoldKind.SWITCHED, f"the turn began on {_name(start.head)} and ended on {_name(head)}")
    if head.commit == start.head.commit:
        return Folded(FoldKind.NOTHING)
    if not _continues(repo, start.head.commit, head.commit):
        now = head.commit[:12] or "no commit"
        return Folded(FoldKind.REWRITTEN, f"{now} does not contain {start.head.commit[:12]}, where the turn began")
    operation = operation_in_progress(repo)
    if operation:
        return Folded(FoldKind.UNFINISHED, f"a {operation} is in progress")
    since = [f"^{start.head.commit}"] if start.head.commit else []
    commits = _commits(repo, head.commit, *since)
    unknown_to_remotes = _commits(repo, head.commit, *since, "--not", "--remotes")
    if len(unknown_to_remotes) != len(commits):
        return Folded(FoldKind.PUSHED, "a commit of this turn is on a remote", commits)
    return Folded(FoldKind.FOLDED, f"{len(commits)} commit(s) of the player", commits)


def fold(repo: Repository, start: TurnStart, *, label: str, owned: Collection[str] = ()) -> Folded:
    """Takes back the player's commits since `start`, if that is safe.

    `label` (letters, digits, `-`, `_`) names the kept ref, e.g. run and turn. Raises GitError if git refuses,
    or if the work tree changed meanwhile; the branch is then as the player left it.
    """
    _check_label(label)
    found = inspect(repo, start)
    head = repo.head()
    if found.kind is FoldKind.REWRITTEN:
        return dataclasses.replace(found, kept_ref=keep(repo, start.head.commit, label=label))
    if found.kind is FoldKind.SWITCHED and head.detached:
        return dataclasses.replace(found, kept_ref=keep(repo, head.commit, label=label))
    if found.kind is not FoldKind.FOLDED:
        return found
    theirs = save_index(repo)
    in_commit = commit_modes(repo, head.commit)
    files = {*owned, *(path for path, mode in in_commit.items() if mode != SUBMODULE)}
    before = snapshot(repo, files)
    kept = keep(repo, head.commit, label=label)
    # The branch goes last: a run that is killed on the way folds once more and comes to the same end.
    try:
        restore_index(repo, start.index)
        tracked = tracked_modes(repo)
        # A submodule that only the player's commits had made one is an untracked repository again.
        loose = {path for path, entry in before.entries.items() if entry.mode == SUBMODULE and path not in tracked}
        after = snapshot(repo, files | (before.entries.keys() - loose), previous=before)
        if set(changed_paths(before, after)) - loose:
            raise GitError(
                f"the work tree {repo.work_tree} changed while the player's commits were taken back",
                fix=f"Stop what writes there and start again; the commits are kept as {kept}.",
            )
        _move(repo, head.commit, start.head.commit)
    except GitError:
        restore_index(repo, theirs)
        raise
    loose.update(path for path, mode in in_commit.items() if mode == SUBMODULE and repo.inside(path).is_dir())
    untracked = (after.entries.keys() | loose) - tracked.keys() - set(owned)
    return Folded(FoldKind.FOLDED, found.reason, found.commits, kept, tuple(sorted(untracked)))


def keep(repo: Repository, commit: str, *, label: str) -> str:
    """Makes `commit` reachable under `KEPT_REFS` for good; the ref, or "" if the commit does not exist any more."""
    _check_label(label)
    if not _exists(repo, commit):
        return ""
    ref = f"{KEPT_REFS}{label}/{commit}"
    repo.git("update-ref", "-m", "touchline: keep commits", ref, commit, error=GitError)
    return ref


def _check_label(label: str) -> None:
    if not _LABEL.fullmatch(label):
        raise UsageError(f"{label!r} cannot name a kept ref", fix="Use letters, digits, `-` and `_`.")


def _exists(repo: Repository, commit: str) -> bool:
    return is_full_hash(commit) and repo.run("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0


def _name(head: Head) -> str:
    return "a detached HEAD" if head.detached else f"branch {head.branch}"


def _continues(repo: Repository, start: str, now: str) -> bool:
    if not start:
        return True
    return bool(now) and _exists(repo, start) and is_ancestor(repo, start, now)


def _commits(repo: Repository, *selection: str) -> tuple[str, ...]:
    output = repo.git("rev-list", "--reverse", "--topo-order", *selection)
    return tuple(output.decode("ascii", "replace").split())


def _move(repo: Repository, old: str, new: str) -> None:
    """Moves HEAD (through its branch) from `old` to `new` if it still stands at `old`; "" is an unborn branch."""
    message = ("-m", "touchline: take back the player's commits")
    if new:
        repo.git("update-ref", *message, "HEAD", new, old or repo.null_id, error=GitError)
    else:
        repo.git("update-ref", *message, "-d", "HEAD", old, error=GitError)
