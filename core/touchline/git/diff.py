"""What differs between two states: paths, renames, line counts, patch text (DESIGN.md, "not trusted").

A work tree is compared by writing it as a tree into a throw-away object folder and index outside the
repository, so that one set of tree-to-tree queries serves both cases and neither the index nor its flags can
hide a change. Attributes of the repository (`-diff`, `binary`) cannot blank out the patch: all is read as text,
and what really is binary is left out by name.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from touchline.errors import GitQueryError
from touchline.git.call import require
from touchline.git.isolation import Filters
from touchline.git.repository import Repository, is_full_hash
from touchline.git.trees import EXECUTABLE, FILE, LINK, SUBMODULE, TreeEntry, TreeState

_OPTIONS = (
    "-r",
    "-z",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--full-index",
    "--ignore-submodules=none",
    "--find-renames=50%",
    "-l2000",
)
_PATCH_OPTIONS = ("--text", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--no-indent-heuristic")
_WHOLE_BYTES = 32 * 1024 * 1024
"""A patch up to this length is read in one piece, whatever part of it is wanted."""
_SINGLE_PATCHES = 300
"""At most so many files are asked for by themselves when the whole is longer."""

KINDS = {"A": "added", "D": "deleted", "M": "modified", "T": "type-changed", "R": "renamed", "C": "copied"}


@dataclass(frozen=True, slots=True)
class Change:
    """One changed path. `old_path` is set for a rename; modes are git's, "000000" where a side has no file."""

    path: str
    kind: str
    old_mode: str
    new_mode: str
    old_path: str = ""


@dataclass(frozen=True, slots=True)
class LineCount:
    """Lines added and removed at one path."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Patch:
    """Patch text in bytes, at most as long as asked for, and the paths whose part is not in it (with reason)."""

    data: bytes
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The patch as text; bytes that are no UTF-8 become U+FFFD."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two commits or trees to compare, from `compare` or `compare_work_tree`."""

    repo: Repository
    base: str
    target: str
    _env: Mapping[str, str] = field(default_factory=dict, repr=False)

    def changes(self) -> tuple[Change, ...]:
        """Every changed path, a rename as one change, in git's order."""
        fields = iter(self._lines(self._tree_diff("--raw")))
        changes = []
        for meta in fields:
            old_mode, new_mode, _, _, status = meta.removeprefix(":").split(" ")
            kind = KINDS.get(status[:1])
            if kind is None:
                raise GitQueryError(f"`git diff-tree` gave the status {status!r}", fix="Report this as a bug.")
            first = next(fields)
            two = kind in ("renamed", "copied")
            changes.append(Change(next(fields) if two else first, kind, old_mode, new_mode, first if two else ""))
        return tuple(changes)

    def changed_paths(self) -> tuple[str, ...]:
        """The changed paths, sorted; a rename counts with both."""
        paths = {path for change in self.changes() for path in (change.path, change.old_path) if path}
        return tuple(sorted(paths))

    def renames(self) -> dict[str, str]:
        """Old path -> new path, where git takes the two files for one (at least half of the content kept)."""
        return {change.old_path: change.path for change in self.changes() if change.kind == "renamed"}

    def numstat(self) -> tuple[LineCount, ...]:
        """Lines added and removed for each changed path (the new path of a rename)."""
        fields = iter(self._lines(self._tree_diff("--numstat", "--text")))
        counts = []
        for entry in fields:
            added, removed, path = entry.split("\t", 2)
            if not path:
                next(fields)
                path = next(fields)
            counts.append(LineCount(path, int(added), int(removed)))
        return tuple(counts)

    def patch(self, *, max_bytes: int, only: Collection[str] | None = None) -> Patch:
        """The patch of all changes (of those at the paths `only`), whole files at a time, in git's order.

        What does not fit or is binary is named. Small files go first, so that a large one crowds nothing out.
        """
        changes = self.changes()
        args = ("diff-tree", *_OPTIONS, "--patch", *_PATCH_OPTIONS, self.base, self.target)
        done = self.repo.run(*args, max_output_bytes=max(max_bytes, _WHOLE_BYTES), extra_env=self._env)
        wanted = [change for change in changes if only is None or change.path in only or change.old_path in only]
        if not done.truncated:
            require(done, args)
            asked = set(wanted)  # tens of thousands, where a player vendors or generates code
            parts = [part for part in _by_change(changes, _sections(done.stdout)) if part[0] in asked]
            return _collect(parts, max_bytes, ())
        parts = []
        left_out = []
        for number, change in enumerate(wanted):
            part = self._single_patch(change, max_bytes) if number < _SINGLE_PATCHES else None
            if part is None:
                left_out.append((change.path, "too long"))
            else:
                parts.append((change, part))
        return _collect(parts, max_bytes, tuple(left_out))

    def _single_patch(self, change: Change, max_bytes: int) -> bytes | None:
        """The part of one change, None if it is too long or git does not show it by itself (file to folder)."""
        paths = [path for path in (change.old_path, change.path) if path]
        args = ("diff-tree", *_OPTIONS, "--patch", *_PATCH_OPTIONS, self.base, self.target, "--", *paths)
        done = self.repo.run(*args, max_output_bytes=max_bytes, extra_env=self._env)
        if done.truncated:
            return None
        require(done, args)
        return done.stdout if len(_sections(done.stdout)) == _section_count(change) else None

    def _tree_diff(self, *how: str) -> bytes:
        return self.repo.git("diff-tree", *_OPTIONS, *how, self.base, self.target, extra_env=self._env)

    @staticmethod
    def _lines(output: bytes) -> list[str]:
        return os.fsdecode(output).split("\0")[:-1]


def merge_base(repo: Repository, first: str, second: str) -> str:
    """The best common ancestor of two commits (full ids), "" if their histories are unrelated."""
    args = ("merge-base", first, second)
    done = repo.run(*args)
    require(done, args, ok=(0, 1))
    return done.stdout.decode("ascii", "replace").strip() if done.returncode == 0 else ""


def compare(repo: Repository, base: str, target: str) -> Comparison:
    """The comparison of two commits or trees, given by full ids; "" (an unborn branch) is the empty tree."""
    return Comparison(repo, _object_id(repo, base), _object_id(repo, target))


@contextlib.contextmanager
def compare_work_tree(
    repo: Repository, base: str, state: TreeState, *, filters: Filters = "off"
) -> Iterator[Comparison]:
    """The comparison of the commit or tree `base` (as in `compare`) with a snapshot of the work tree as it is now.

    Line endings are normalised as git would for a commit. With filters off, files of a filtered type (Git LFS)
    count as changed. The comparison can be used inside the `with` block only; nothing is left behind.
    """
    base = _object_id(repo, base)
    with tempfile.TemporaryDirectory(prefix="touchline-diff-") as name:
        yield Comparison(repo, base, *_write_tree(repo, base, state, Path(name), filters))


def _object_id(repo: Repository, name: str) -> str:
    if name and not is_full_hash(name):
        raise GitQueryError(f"{name!r} is no full object id", fix="Resolve the name to a commit first.")
    return name or repo.empty_tree


def _write_tree(
    repo: Repository, base: str, state: TreeState, folder: Path, filters: Filters
) -> tuple[str, dict[str, str]]:
    """The id of a tree that holds `state`, and the environment in which git finds it."""
    env = {
        "GIT_INDEX_FILE": str(folder / "index"),
        "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(str(repo.common_dir / "objects")),
    }
    (folder / "objects").mkdir()
    repo.git("read-tree", base, extra_env=env)
    listed = os.fsdecode(repo.git("ls-files", "-s", "-z", extra_env=env)).split("\0")[:-1]
    in_base = {}
    for record in listed:
        meta, _, path = record.partition("\t")
        in_base[path] = meta.split(" ")[:2]
    present = [path for path, entry in state.entries.items() if _may_differ(entry, in_base.get(path))]
    kept = {path for path, entry in state.entries.items() if entry.mode in (FILE, EXECUTABLE, LINK, SUBMODULE)}
    gone = in_base.keys() - kept - _left_out_of_checkout(repo)
    for option, paths in (("--force-remove", gone), ("--add", present)):
        if paths:
            asked = b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
            args = ("update-index", "--replace", option, "-z", "--stdin")
            repo.git(*args, stdin=asked, extra_env=env, filters=filters)
    tree = repo.git("write-tree", "--missing-ok", extra_env=env).decode("ascii").strip()
    return tree, env


def _may_differ(entry: TreeEntry, in_base: list[str] | None) -> bool:
    """Whether git has to look at a path: the same bytes as in the base need no second hash."""
    if entry.mode == SUBMODULE:
        return entry.digest != "unpopulated"
    return entry.mode in (FILE, EXECUTABLE, LINK) and in_base != [entry.mode, entry.blob]


def _left_out_of_checkout(repo: Repository) -> set[str]:
    """The paths that a sparse checkout leaves out on purpose; the flag alone, without sparse checkout, is none."""
    done = repo.run("config", "--type=bool", "--get", "core.sparseCheckout")
    if done.stdout.strip() != b"true":
        return set()
    records = os.fsdecode(repo.git("ls-files", "-t", "-z")).split("\0")[:-1]
    return {record[2:] for record in records if record.startswith("S ")}


def _quoted(place: str) -> str:
    """A folder as git's list of object folders takes it, whatever characters it has."""
    if ":" not in place and not place.startswith('"'):
        return place
    return '"' + place.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _sections(patch: bytes) -> list[bytes]:
    """The parts of a patch, one for each file: content lines never begin with `d`."""
    if not patch:
        return []
    first, *rest = patch.split(b"\ndiff --git ")
    parts = [first, *(b"diff --git " + part for part in rest)]
    return [*(part + b"\n" for part in parts[:-1]), parts[-1]]


def _by_change(changes: tuple[Change, ...], sections: list[bytes]) -> list[tuple[Change, bytes]]:
    """Each change with its part of the patch; a type change is shown as a removal and an addition."""
    counts = [_section_count(change) for change in changes]
    if sum(counts) != len(sections):
        raise GitQueryError("`git diff-tree` listed other files than it showed", fix="Report this as a bug.")
    parts = iter(sections)
    return [(change, b"".join(islice(parts, count))) for change, count in zip(changes, counts, strict=True)]


def _section_count(change: Change) -> int:
    return 2 if change.kind == "type-changed" else 1


def _collect(parts: list[tuple[Change, bytes]], max_bytes: int, left_out: tuple[tuple[str, str], ...]) -> Patch:
    kept: dict[int, bytes] = {}
    named = list(left_out)
    total = 0
    for number, (change, part) in sorted(enumerate(parts), key=lambda item: len(item[1][1])):
        if b"\0" in part:
            named.append((change.path, "binary"))
        elif total + len(part) > max_bytes:
            named.append((change.path, "too long"))
        else:
            kept[number] = part
            total += len(part)
    return Patch(b"".join(kept[number] for number in sorted(kept)), tuple(sorted(named)))
