"""Saved contents of a hashed work tree, and putting them back (DESIGN.md, "tree hash": a verifier's changes).

`save` keeps what git could not give back: a content that lies in the repository's object store as it is on
disk is not copied. Copies are named by their SHA-256 and shared by all saves into one folder, so that a later
save costs only what changed. `restore` trusts neither source: each content must have the digest of the
snapshot. It never deletes: what stands in the way is moved into the same folder. A submodule, a socket or a
pipe cannot be put back, and is named.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from touchline.git.paths import check_relative
from touchline.git.repository import Repository
from touchline.git.trees import EXECUTABLE, FILE, LINK, TreeEntry, TreeState
from touchline.state import make_private_folder

MAX_SAVED_BYTES = 512 * 1024 * 1024
_BATCH_BYTES = 64 * 1024 * 1024
_EMPTY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Restoration:
    """What `restore` did. `moved` are places outside the work tree that hold what stood in the way."""

    restored: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    """Path and reason."""
    moved: tuple[Path, ...]


def save(repo: Repository, state: TreeState, folder: Path, *, max_bytes: int = MAX_SAVED_BYTES) -> tuple[str, ...]:
    """Copies into `folder` what `restore` will need for `state`; the paths that were left out, sorted.

    Left out is what `restore` cannot put back, what has changed since the snapshot, and, smallest files first,
    what does not fit into `max_bytes` in all.
    """
    store = folder / "objects"
    make_private_folder(store)
    known = _object_sizes(repo, {entry.blob for entry in state.entries.values() if entry.blob})
    left_out = []
    wanted: list[tuple[int, str, TreeEntry]] = []
    for path, entry in state.entries.items():
        if entry.mode not in (FILE, EXECUTABLE, LINK) or entry.digest == "unreadable":
            left_out.append(path)
        elif entry.blob not in known and entry.digest != _EMPTY and not (store / entry.digest).exists():
            wanted.append((_size(repo.inside(path)), path, entry))
    left = max_bytes - sum(found.stat().st_size for found in store.iterdir())
    for size, path, entry in sorted(wanted, key=lambda item: item[:2]):
        if (store / entry.digest).exists():
            continue
        if size > left or not _keep(repo.inside(path), entry, store / entry.digest):
            left_out.append(path)
        else:
            left -= size
    return tuple(sorted(left_out))


def restore(repo: Repository, before: TreeState, paths: Iterable[str], folder: Path) -> Restoration:
    """Puts each of `paths` back to its entry in `before`; a path without an entry is moved away.

    `folder` is the one given to `save`. Only the work tree is written, never the index.
    """
    restored: list[str] = []
    failed: list[tuple[str, str]] = []
    mover = _Mover(folder / "displaced")
    wanted: list[tuple[str, TreeEntry]] = []
    for path in dict.fromkeys(paths):
        check_relative(path)
        entry = before.entries.get(path)
        if entry is None:
            try:
                mover.move_away(repo.inside(path))
            except (OSError, RecursionError) as error:
                failed.append((path, str(error)))
            else:
                restored.append(path)
        elif entry.mode not in (FILE, EXECUTABLE, LINK):
            failed.append((path, "only files and links can be put back"))
        else:
            wanted.append((path, entry))
    for path, entry, content in _contents(repo, wanted, folder / "objects"):
        if content is None:
            failed.append((path, "its content is neither saved nor in the object store"))
            continue
        try:
            _put(repo.work_tree, path, entry, content, mover)
        except (OSError, RecursionError) as error:
            failed.append((path, str(error)))
        else:
            restored.append(path)
    return Restoration(tuple(restored), tuple(failed), tuple(mover.moved))


class _Mover:
    """Moves what stands in the way into a folder, under names that do not collide."""

    def __init__(self, folder: Path) -> None:
        self.moved: list[Path] = []
        self._folder = folder

    def move_away(self, place: Path) -> None:
        if not os.path.lexists(place):
            return
        make_private_folder(self._folder)
        target = Path(tempfile.mkdtemp(dir=self._folder)) / place.name
        shutil.move(place, target)
        self.moved.append(target)


def _size(place: Path) -> int:
    try:
        return place.lstat().st_size
    except OSError:
        return 0


def _keep(place: Path, entry: TreeEntry, target: Path) -> bool:
    """Copies the content at `place` if it still is that of `entry`."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix="incoming-")
    incoming = Path(name)
    content = hashlib.sha256()
    try:
        with os.fdopen(descriptor, "wb") as copy:
            for chunk in _chunks(place, entry):
                content.update(chunk)
                copy.write(chunk)
        if content.hexdigest() != entry.digest:
            return False
        incoming.replace(target)
        return True
    except OSError:
        return False
    finally:
        incoming.unlink(missing_ok=True)


def _chunks(place: Path, entry: TreeEntry) -> Iterator[bytes]:
    if entry.mode == LINK:
        yield os.fsencode(os.readlink(place))  # noqa: PTH115 (a Path would normalise the target)
        return
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as source:
        while chunk := source.read(1024 * 1024):
            yield chunk


def _object_sizes(repo: Repository, blobs: Iterable[str]) -> dict[str, int]:
    """Object id -> size, for those that are in the object store as blobs."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode("ascii")
    if not asked:
        return {}
    sizes = {}
    for line in repo.git("cat-file", "--batch-check", stdin=asked).decode("ascii", "replace").splitlines():
        name, kind, *rest = line.split(" ")
        if kind == "blob":
            sizes[name] = int(rest[0])
    return sizes


def _contents(
    repo: Repository, wanted: Sequence[tuple[str, TreeEntry]], store: Path
) -> Iterator[tuple[str, TreeEntry, bytes | None]]:
    """Each wanted path with its proved content, from the copies or from git's objects; None if neither has it."""
    from_git: list[tuple[str, TreeEntry]] = []
    for path, entry in wanted:
        saved = store / entry.digest
        content = b"" if entry.digest == _EMPTY else saved.read_bytes() if saved.is_file() else None
        if content is not None and hashlib.sha256(content).hexdigest() == entry.digest:
            yield path, entry, content
        else:
            from_git.append((path, entry))
    sizes = _object_sizes(repo, {entry.blob for _, entry in from_git if entry.blob})
    for batch in _batches(from_git, sizes):
        objects = _read_objects(repo, {entry.blob: sizes[entry.blob] for _, entry in batch if entry.blob in sizes})
        for path, entry in batch:
            content = objects.get(entry.blob)
            proved = content is not None and hashlib.sha256(content).hexdigest() == entry.digest
            yield path, entry, content if proved else None


def _batches(wanted: Iterable[tuple[str, TreeEntry]], sizes: dict[str, int]) -> Iterator[list[tuple[str, TreeEntry]]]:
    batch: list[tuple[str, TreeEntry]] = []
    total = 0
    for path, entry in wanted:
        batch.append((path, entry))
        total += sizes.get(entry.blob, 0)
        if total >= _BATCH_BYTES:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _read_objects(repo: Repository, sizes: dict[str, int]) -> dict[str, bytes]:
    if not sizes:
        return {}
    asked = "".join(f"{blob}\n" for blob in sizes).encode("ascii")
    limit = sum(sizes.values()) + 200 * len(sizes)
    output = repo.git("cat-file", "--batch", stdin=asked, max_output_bytes=limit)
    objects = {}
    position = 0
    while position < len(output):
        end = output.index(b"\n", position)
        name, kind, *rest = output[position:end].decode("ascii", "replace").split(" ")
        position = end + 1
        if kind == "blob":
            size = int(rest[0])
            objects[name] = output[position : position + size]
            position += size + 1
    return objects


def _put(root: Path, path: str, entry: TreeEntry, content: bytes, mover: _Mover) -> None:
    """Writes one file or link in one step, after clearing what stands in its way."""
    folder = root
    for part in path.split("/")[:-1]:
        folder = folder / part
        if not _is_real_folder(folder):
            mover.move_away(folder)
            folder.mkdir()
    place = root / path
    if _is_real_folder(place):
        mover.move_away(place)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".touchline-restore-")
    incoming = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as output:
            if entry.mode != LINK:
                output.write(content)
                os.fchmod(output.fileno(), entry.permissions)
        if entry.mode == LINK:
            incoming.unlink()
            incoming.symlink_to(os.fsdecode(content))
        incoming.replace(place)
    finally:
        incoming.unlink(missing_ok=True)


def _is_real_folder(place: Path) -> bool:
    try:
        return stat.S_ISDIR(place.lstat().st_mode)
    except OSError:
        return False
