"""The state of a work tree as one value, and what changed between two (DESIGN.md, "tree hash"; spec page 5).

Hashed are the tracked files and the owned paths (what the player added), as they lie on disk: no filter, no
line-ending conversion, symlinks as links, a submodule by its HEAD and its own tracked files. The index only
names the paths: its stat data and flags (assume-unchanged, skip-worktree) are the player's to set and are not
believed. Nothing is written into the repository.

A later snapshot takes over the digests of an earlier one for files whose size, times, inode and device are
unchanged. The change time cannot be set by a program; a file whose change time is not clearly older than the
moment at which it was hashed is hashed again, since a second write in the same clock tick would not show.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from touchline.errors import GitError
from touchline.git.paths import RealFolders, check_relative
from touchline.git.repository import Repository, as_repository, submodule_at
from touchline.git.untracked import IgnoreRules, ignore_rules, untracked

__all__ = [
    "IgnoreRules",
    "TreeEntry",
    "TreeState",
    "changed_paths",
    "commit_modes",
    "ignore_rules",
    "snapshot",
    "tracked_modes",
    "untracked",
]

_CHUNK_BYTES = 1024 * 1024
_FINE_TICK_NS = 100_000_000
_COARSE_TICK_NS = 2_500_000_000
_ATTEMPTS = 3

FILE, EXECUTABLE, LINK, SUBMODULE, OTHER = "100644", "100755", "120000", "160000", "other"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What lies at one path: git's mode (or "other" for a socket, pipe or device) and a SHA-256 of the content.

    `blob` is the id that git would give the same bytes, "" where that has no meaning. Two entries are equal if
    mode and digest are.
    """

    mode: str
    digest: str
    blob: str = field(default="", compare=False)
    permissions: int = field(default=0o644, compare=False)
    """The permission bits of a file, for putting it back."""


@dataclass(frozen=True, slots=True)
class StatData:
    """What `lstat` tells about a file, as far as a change of content must change it."""

    size: int
    mtime_ns: int
    mode: int
    ctime_ns: int
    inode: int
    device: int


def proves_unchanged(now: StatData, then: StatData, *, hashed_at_ns: int) -> bool:
    """Whether a file that was hashed at a moment, under the stat data `then`, must still have that content.

    Equal stat data prove nothing if the file was written in the clock tick in which it was hashed.
    """
    # File systems with whole seconds, or two, need more distance.
    tick_ns = _COARSE_TICK_NS if then.ctime_ns % 1_000_000_000 == 0 else _FINE_TICK_NS
    return now == then and then.ctime_ns + tick_ns < hashed_at_ns


@dataclass(frozen=True, slots=True)
class _Seen:
    """The stat data under which a digest was taken, and when."""

    stat: StatData
    taken_ns: int
    entry: TreeEntry


@dataclass(frozen=True, slots=True)
class TreeState:
    """Path -> entry of everything hashed that is on disk; a deleted file has no entry."""

    entries: Mapping[str, TreeEntry]
    _seen: Mapping[str, _Seen] = field(default_factory=dict, compare=False, repr=False)
    _nested: Mapping[str, TreeState] = field(default_factory=dict, compare=False, repr=False)

    @property
    def digest(self) -> str:
        """The tree hash: the same text for the same paths, modes and contents, on any machine."""
        total = hashlib.sha256(b"touchline tree 1\0")
        for path in sorted(self.entries, key=os.fsencode):
            entry = self.entries[path]
            total.update(os.fsencode(path) + b"\0" + f"{entry.mode} {entry.digest}".encode("ascii") + b"\0")
        return total.hexdigest()


def snapshot(
    repo: Repository | Path | str, owned: Iterable[str] = (), *, previous: TreeState | None = None
) -> TreeState:
    """The state now of the tracked files and of `owned` paths; an owned folder stands for the files in it.

    `previous`, any earlier snapshot of the same work tree, only makes it faster. Raises GitError for an owned
    path that is not inside the work tree, and when a file keeps changing while it is read.
    """
    return _snapshot(as_repository(repo), owned, previous, 0)


def _snapshot(repository: Repository, owned: Iterable[str], previous: TreeState | None, depth: int) -> TreeState:
    modes = tracked_modes(repository)
    for path in owned:
        check_relative(path)
        name = path.rstrip("/")
        if modes.get(name) != SUBMODULE:
            modes[name] = ""
    reader = _Reader(repository, previous, depth)
    for path, index_mode in modes.items():
        reader.read(path, index_mode)
    return TreeState(reader.entries, reader.seen, reader.nested)


def tracked_modes(repo: Repository) -> dict[str, str]:
    """Path -> git's mode, for everything in the index."""
    return _modes(repo.git("ls-files", "-s", "-z"))


def commit_modes(repo: Repository, commit: str) -> dict[str, str]:
    """Path -> git's mode, for everything in a commit (full id)."""
    return _modes(repo.git("ls-tree", "-r", "-z", "--full-tree", commit))


def _modes(listing: bytes) -> dict[str, str]:
    records = (record.partition("\t") for record in os.fsdecode(listing).split("\0")[:-1])
    return {path: meta[:6] for meta, _, path in records}


def changed_paths(before: TreeState, after: TreeState) -> tuple[str, ...]:
    """The paths whose presence, mode or content differs, sorted."""
    paths = before.entries.keys() | after.entries.keys()
    return tuple(sorted(path for path in paths if before.entries.get(path) != after.entries.get(path)))


class _Reader:
    """Collects the entries of one snapshot."""

    def __init__(self, repository: Repository, previous: TreeState | None, depth: int) -> None:
        self.entries: dict[str, TreeEntry] = {}
        self.seen: dict[str, _Seen] = {}
        self.nested: dict[str, TreeState] = {}
        self._repository = repository
        self._previous = previous
        self._depth = depth
        self._folders = RealFolders(repository.work_tree)
        self._root = str(repository.work_tree)
        self._new_blob = hashlib.sha256 if repository.hash_length == 64 else hashlib.sha1

    def read(self, path: str, index_mode: str) -> None:
        """Adds what lies at `path`, if anything does."""
        if not self._folders.holds(path):
            return
        place = f"{self._root}/{path}"
        try:
            found = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            return
        if stat.S_ISREG(found.st_mode):
            self._file(path, place, found)
        elif stat.S_ISLNK(found.st_mode):
            # As written: a Path would normalise the target.
            target = os.fsencode(os.readlink(place))  # noqa: PTH115
            self.entries[path] = TreeEntry(LINK, hashlib.sha256(target).hexdigest(), self._blob(target))
        elif not stat.S_ISDIR(found.st_mode):
            kind = str(stat.S_IFMT(found.st_mode)).encode("ascii")
            self.entries[path] = TreeEntry(OTHER, hashlib.sha256(kind).hexdigest())
        elif index_mode == SUBMODULE:
            self._submodule(path)
        elif not index_mode:
            self._folder(path, place)
        # A folder where a tracked file was: the file is deleted.

    def _file(self, path: str, place: str, found: os.stat_result) -> None:
        earlier = self._previous._seen.get(path) if self._previous else None
        if earlier and proves_unchanged(_stat_data(found), earlier.stat, hashed_at_ns=earlier.taken_ns):
            self.seen[path], self.entries[path] = earlier, earlier.entry
            return
        for _ in range(_ATTEMPTS):
            try:
                seen = self._hash(place)
            except PermissionError:
                self.entries[path] = TreeEntry(OTHER, "unreadable")
                return
            except FileNotFoundError:
                return
            except OSError as error:
                # A link or a folder took the file's place since it was looked at.
                if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
                    raise GitError(f"{place} cannot be read: {error.strerror}", fix="Repair the disk.") from error
                seen = None
            if seen is not None:
                self.seen[path], self.entries[path] = seen, seen.entry
                return
        raise GitError(
            f"{place} keeps changing while it is read",
            fix="Stop the program that writes to it, then start again.",
        )

    def _hash(self, place: str) -> _Seen | None:
        """The digests of a regular file, None if it did not hold still."""
        taken_ns = time.time_ns()
        # Never follow a link or wait for a pipe that was put there since lstat.
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                return None
            content = hashlib.sha256()
            blob = self._new_blob(b"blob %d\0" % before.st_size)
            while chunk := os.read(descriptor, _CHUNK_BYTES):
                content.update(chunk)
                blob.update(chunk)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if _stat_data(before) != _stat_data(after):
            return None
        mode = EXECUTABLE if before.st_mode & stat.S_IXUSR else FILE
        permissions = stat.S_IMODE(before.st_mode) & 0o777
        entry = TreeEntry(mode, content.hexdigest(), blob.hexdigest(), permissions)
        return _Seen(_stat_data(before), taken_ns, entry)

    def _submodule(self, path: str) -> None:
        """A submodule counts by its HEAD and its own tracked files; without a repository, by the files there."""
        inner = submodule_at(self._repository, path, depth=self._depth)
        if inner is None:
            self.entries[path] = TreeEntry(SUBMODULE, "unpopulated")
            self._folder(path, f"{self._root}/{path}")
            return
        earlier = self._previous._nested.get(path) if self._previous else None
        state = _snapshot(inner, (), earlier, self._depth + 1)
        self.nested[path] = state
        total = hashlib.sha256(f"{inner.head().commit} {state.digest}".encode("ascii"))
        self.entries[path] = TreeEntry(SUBMODULE, total.hexdigest())

    def _folder(self, path: str, place: str) -> None:
        """Adds the files below an owned folder."""
        waiting = [(path, place)]
        while waiting:
            above, folder = waiting.pop()
            with os.scandir(folder) as found:
                entries = [entry for entry in found if entry.name != ".git"]
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((f"{above}/{entry.name}", entry.path))
                else:
                    self.read(f"{above}/{entry.name}", "")

    def _blob(self, content: bytes) -> str:
        return self._new_blob(b"blob %d\0" % len(content) + content).hexdigest()


def _stat_data(found: os.stat_result) -> StatData:
    return StatData(found.st_size, found.st_mtime_ns, found.st_mode, found.st_ctime_ns, found.st_ino, found.st_dev)
