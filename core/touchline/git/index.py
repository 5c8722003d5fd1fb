"""The index: what is staged, intent-to-add entries, and putting it back (spec page 5, "--no-pr").

Writers here change only the index, never a file of the work tree. An `index.lock` of another git process is
waited for; one that stays is named with its age and never removed, because it may guard a half-written index.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from touchline.errors import GitError
from touchline.git.call import query_failure
from touchline.git.isolation import Filters
from touchline.git.paths import check_relative
from touchline.git.repository import Repository, submodule_at
from touchline.git.status import Status, parse_status
from touchline.process import Completed

_T = TypeVar("_T")

LOCK_WAIT_S = 5.0
_STALE_AFTER_S = 60.0


@dataclass(frozen=True, slots=True)
class StagedEntry:
    """One difference between index and HEAD; `mode` and `blob` are the index side, "" for a staged deletion."""

    path: str
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """The bytes of an index file and the file's time, on which git's own staleness check depends.

    `content` is None where there was no index file.
    """

    content: bytes | None
    mtime_ns: int


def read_status(repo: Repository, *, filters: Filters = "off") -> Status:
    """What differs between HEAD, index and work tree; ignored files are left out.

    With filters off, a file of a filtered type (Git LFS) counts as unstaged when its stat data are not those
    of the index. Flags in the index can hide a change from git: see `hidden_paths` and `trees.snapshot`.
    """
    return _status(repo, filters, 0)


def _status(repo: Repository, filters: Filters, depth: int) -> Status:
    options = ("--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
    status = parse_status(repo.git("status", *options, filters=filters))
    unstaged = _really_changed(repo, status.unstaged, filters) if status.unstaged else ()
    # Git would look into submodules under their own configuration; each is asked with its programs off.
    modified = [path for path in submodule_paths(repo) if _modified_inside(repo, path, filters, depth)]
    return dataclasses.replace(status, unstaged=unstaged, modified_submodules=tuple(modified))


def submodule_paths(repo: Repository) -> tuple[str, ...]:
    """The submodules that the index holds, populated or not."""
    return index_facts(repo).submodules


def hidden_paths(repo: Repository) -> tuple[str, ...]:
    """Tracked paths whose changes git is told not to see (assume-unchanged or skip-worktree)."""
    return index_facts(repo).hidden


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """See `submodule_paths` and `hidden_paths`; read in one call."""

    submodules: tuple[str, ...]
    hidden: tuple[str, ...]


def index_facts(repo: Repository) -> IndexFacts:
    """Both kinds of paths that the index treats in a way of their own."""
    submodules, hidden = [], []
    for record in os.fsdecode(repo.git("ls-files", "-s", "-v", "-z")).split("\0")[:-1]:
        meta, _, path = record.partition("\t")
        if meta[2:].startswith("160000 "):
            submodules.append(path)
        if meta[0].islower() or meta[0] == "S":
            hidden.append(path)
    return IndexFacts(tuple(submodules), tuple(hidden))


def staged_set(repo: Repository) -> frozenset[StagedEntry]:
    """The staged differences to HEAD, with what is staged; intent-to-add entries hold no content and are none."""
    return frozenset(
        StagedEntry(path, "" if mode == "000000" else mode, "" if mode == "000000" else blob)
        for path, (mode, blob) in _cached(repo, "--ita-invisible-in-index").items()
    )


def intended_paths(repo: Repository) -> frozenset[str]:
    """The intent-to-add entries of the index, also of files that were deleted since."""
    visible = _cached(repo, "--ita-visible-in-index").keys()
    return frozenset(visible - _cached(repo, "--ita-invisible-in-index").keys())


def intend_to_add(repo: Repository, paths: Iterable[str]) -> tuple[str, ...]:
    """Marks those of `paths` that are untracked and not ignored with `git add -N`; returns the marked ones.

    Exact paths only: a folder, a nested repository, a tracked or an ignored path is left alone. Idempotent.
    """
    # A final `/` is how git lists a nested repository: it would be added as a submodule.
    wanted = {check_relative(path) for path in paths if not path.endswith("/")}
    listed = os.fsdecode(repo.git("ls-files", "-z", "--others", "--exclude-standard")).split("\0")[:-1]
    marked = tuple(sorted(wanted.intersection(listed)))
    if marked:
        asked = b"".join(os.fsencode(path) + b"\0" for path in marked)
        write_index(repo, "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=asked)
    return marked


def remove_intent_to_add(repo: Repository, paths: Iterable[str]) -> tuple[str, ...]:
    """Takes the intent-to-add entries at `paths` out of the index; returns those that were there.

    Nothing else changes: files stay as they are, and a path that meanwhile was really staged stays staged.
    """
    present = tuple(sorted(intended_paths(repo).intersection(paths)))
    if present:
        asked = b"".join(os.fsencode(path) + b"\0" for path in present)
        write_index(repo, "update-index", "--force-remove", "-z", "--stdin", stdin=asked)
    return present


def restore_staged(repo: Repository, before: frozenset[StagedEntry]) -> tuple[str, ...]:
    """Makes the staged set that of `before` (taken at the same HEAD); returns the paths whose entry changed."""
    now = staged_set(repo)
    if now == before:
        return ()
    wanted = {entry.path: (entry.mode, entry.blob) for entry in before}
    changed = {entry.path for entry in now ^ before}
    from_head = _head_entries(repo)
    lines = []
    for path in sorted(changed):
        mode, blob = wanted.get(path) or from_head.get(path, ("", ""))
        lines.append(os.fsencode(f"{mode or '0'} {blob or repo.null_id}\t{path}") + b"\0")
    write_index(repo, "update-index", "-z", "--index-info", stdin=b"".join(lines))
    return tuple(sorted(changed))


def save_index(repo: Repository) -> SavedIndex:
    """The index as it is, for `restore_index`."""
    place = repo.git_dir / "index"
    try:
        with place.open("rb") as file:
            return SavedIndex(file.read(), os.fstat(file.fileno()).st_mtime_ns)
    except FileNotFoundError:
        return SavedIndex(None, 0)


def restore_index(repo: Repository, saved: SavedIndex) -> None:
    """Puts a saved index back in one step, under git's own lock."""
    _retried(repo, lambda: _write_saved(repo, saved))


def write_index(repo: Repository, *args: str, stdin: bytes = b"") -> bytes:
    """Output of a git command that writes the index; waits for another process's lock.

    Raises GitError when the lock stays or git refuses.
    """
    done = _retried(repo, lambda: _unlocked(repo.run(*args, stdin=stdin)))
    if done.returncode != 0 or done.ending != "exited":
        raise query_failure(args, done, error=GitError)
    return done.stdout


class _LockHeld(Exception):
    """The index is locked by somebody else at this moment."""


def _unlocked(done: Completed) -> Completed:
    if done.returncode not in (0, None) and b"index.lock': File exists" in done.stderr:
        raise _LockHeld
    return done


def _retried(repo: Repository, attempt: Callable[[], _T]) -> _T:
    deadline = time.monotonic() + LOCK_WAIT_S
    pause_s = 0.05
    while True:
        try:
            return attempt()
        except _LockHeld:
            if time.monotonic() + pause_s > deadline:
                raise _lock_error(repo.git_dir / "index.lock") from None
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 1.0)


def _lock_error(lock: Path) -> GitError:
    try:
        age_s = time.time() - lock.stat().st_mtime
    except FileNotFoundError:
        age_s = 0.0
    if age_s > _STALE_AFTER_S:
        return GitError(
            f"{lock} has been there for {age_s / 60:.0f} minutes; a git process that was killed seems to have left it",
            fix=f"If no git process runs in this repository, remove the file yourself: rm '{lock}'",
        )
    return GitError(
        f"another git process holds {lock} and did not let go within {LOCK_WAIT_S:.0f} seconds",
        fix="Wait for it to end (an editor or another agent may use the repository), then start again.",
    )


def _write_saved(repo: Repository, saved: SavedIndex) -> None:
    index, lock = repo.git_dir / "index", repo.git_dir / "index.lock"
    try:
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        raise _LockHeld from None
    replaced = False
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(saved.content or b"")
        if saved.content is None:
            index.unlink(missing_ok=True)
        else:
            # Git takes an entry as clean only if it is older than the index file: the time belongs to the content.
            os.utime(lock, ns=(saved.mtime_ns, saved.mtime_ns))
            lock.replace(index)
            replaced = True
    finally:
        # After the replacement a lock of this name is somebody else's.
        if not replaced:
            lock.unlink(missing_ok=True)


def _really_changed(repo: Repository, paths: tuple[str, ...], filters: Filters) -> tuple[str, ...]:
    """Those of `paths` whose content differs: `git status` names a file for its size alone (line endings)."""
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    named = set(os.fsdecode(repo.git("diff", *options, filters=filters)).split("\0"))
    return tuple(path for path in paths if path in named)


def _modified_inside(repo: Repository, path: str, filters: Filters, depth: int) -> bool:
    inner = submodule_at(repo, path, depth=depth)
    return inner is not None and bool(_status(inner, filters, depth + 1).dirty_tracked)


def _base(repo: Repository) -> str:
    return repo.head().commit or repo.empty_tree


def _cached(repo: Repository, intent: str) -> dict[str, tuple[str, str]]:
    """Path -> mode and blob of the index side, for each difference between index and HEAD."""
    options = ("--cached", "--raw", "-z", "--no-renames", "--full-index", "--ignore-submodules=none")
    output = repo.git("diff-index", *options, intent, _base(repo))
    fields = os.fsdecode(output).split("\0")[:-1]
    result = {}
    for meta, path in zip(fields[0::2], fields[1::2], strict=True):
        _, mode, _, blob, _ = meta.split(" ")
        result[path] = (mode, blob)
    return result


def _head_entries(repo: Repository) -> dict[str, tuple[str, str]]:
    records = os.fsdecode(repo.git("ls-tree", "-r", "-z", "--full-tree", _base(repo))).split("\0")[:-1]
    result = {}
    for record in records:
        meta, _, path = record.partition("\t")
        mode, _, blob = meta.split(" ")
        result[path] = (mode, blob)
    return result
