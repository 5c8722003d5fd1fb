"""The two sides of changed files as text, bounded, for what the coach notices (spec page 5).

Read from the object store and from the disk, never through filters, attributes or links. What is too much to look
into is left out by name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from touchline.git.repository import Repository

MAX_TEXT_BYTES = 1024 * 1024
MAX_ALL_BYTES = 24 * 1024 * 1024
MAX_FILES = 3000

_Objects = dict[str, tuple[str, int]]
"""Path -> object id and size."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Path -> text at the base, text now; "" where the file is not there. `left_out`: not looked into."""

    texts: dict[str, tuple[str, str]]
    left_out: tuple[str, ...] = ()


def read_sides(repo: Repository, base: str, paths: Iterable[str], *, target: str | None = None) -> Sides:
    """Both sides of `paths`: `base` and `target` are commits or trees (full ids; base "": nothing was there).

    `target` None is the work tree. Raises GitQueryError if git cannot tell.
    """
    wanted = sorted(paths)
    before = _objects(repo, base, wanted)
    after = _objects(repo, target, wanted) if target is not None else {}
    chosen, left_out, total = [], wanted[MAX_FILES:], 0
    for path in wanted[:MAX_FILES]:
        now = after.get(path, ("", 0))[1] if target is not None else _size(repo.inside(path))
        sizes = before.get(path, ("", 0))[1], now
        if max(sizes) > MAX_TEXT_BYTES or total + sum(sizes) > MAX_ALL_BYTES:
            left_out.append(path)
            continue
        total += sum(sizes)
        chosen.append(path)
    ids = {row[0] for objects in (before, after) for path in chosen if (row := objects.get(path))}
    blobs = _blobs(repo, sorted(ids))
    texts = {}
    for path in chosen:
        old = blobs.get(before.get(path, ("", 0))[0], b"")
        new = blobs.get(after.get(path, ("", 0))[0], b"") if target is not None else read_now(repo.inside(path))
        texts[path] = old.decode("utf-8", "replace"), new.decode("utf-8", "replace")
    return Sides(texts, tuple(sorted(left_out)))


def base_texts(repo: Repository, base: str, paths: Sequence[str]) -> dict[str, str]:
    """The texts of those of `paths` that `base` has."""
    objects = {path: row for path, row in _objects(repo, base, paths).items() if row[1] <= MAX_TEXT_BYTES}
    blobs = _blobs(repo, sorted({row[0] for row in objects.values()}))
    return {path: blobs[row[0]].decode("utf-8", "replace") for path, row in objects.items() if row[0] in blobs}


def read_now(place: Path) -> bytes:
    """The bytes of a regular file; nothing for what is none, and never through a link at its end."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_TEXT_BYTES)
    finally:
        os.close(descriptor)


def _size(place: Path) -> int:
    try:
        return place.lstat().st_size
    except OSError:
        return 0


def _objects(repo: Repository, tree: str, paths: Sequence[str]) -> _Objects:
    """Those of `paths` that are files in `tree`."""
    if not tree or not paths:
        return {}
    asked = set(paths)
    found: _Objects = {}
    for record in os.fsdecode(repo.git("ls-tree", "-r", "-z", "-l", "--full-tree", tree)).split("\0")[:-1]:
        meta, _, path = record.partition("\t")
        _mode, kind, oid, size = meta.split()
        if path in asked and kind == "blob":
            found[path] = oid, int(size)
    return found


def _blobs(repo: Repository, ids: Sequence[str]) -> dict[str, bytes]:
    """The contents of objects, in one call."""
    if not ids:
        return {}
    stdin = "".join(f"{oid}\n" for oid in ids).encode("ascii")
    data = repo.git("cat-file", "--batch", stdin=stdin)
    found: dict[str, bytes] = {}
    place = 0
    while place < len(data):
        end = data.index(b"\n", place)
        oid, *rest = data[place:end].decode("ascii", "replace").split(" ")
        place = end + 1
        if len(rest) == 2:
            size = int(rest[1])
            found[oid] = data[place : place + size]
            place += size + 1
    return found
