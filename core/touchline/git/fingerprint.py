"""What a repository's own program code and settings look like, to see whether a turn changed them (DESIGN.md).

Covered: `.git/config` and `config.worktree` (as files and, with what they include, value by value), the hooks
folder and the one that `core.hooksPath` names, `info/` (attributes, exclude, grafts, sparse-checkout), object
alternates, replacement refs, index flags that hide changes, and the same configuration and hooks of submodules.
A fingerprint holds digests only: values may be secret. It can be taken when git itself refuses the
configuration; that is then a difference of its own.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import GitQueryError
from touchline.git.call import redact
from touchline.git.index import IndexFacts, index_facts
from touchline.git.isolation import ConfigValue, parse_config_list
from touchline.git.repository import Repository
from touchline.git.transport import steers_transport

_UNREADABLE = "readability of the configuration"
_MAX_FILES = 2000
_MAX_FILE_BYTES = 4 * 1024 * 1024
_MAX_DEPTH = 6
_INFO_FILES = ("info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout", "objects/info/alternates")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Name of a part ("hook pre-commit", "setting core.hookspath") -> digest. Plain texts, so it can be stored."""

    parts: Mapping[str, str]


def take_fingerprint(repo: Repository) -> Fingerprint:
    """The fingerprint now. Reads files and asks git three times; runs nothing of the repository."""
    parts: dict[str, str] = {}
    for folder in dict.fromkeys((repo.common_dir, repo.git_dir)):
        for name in ("config", "config.worktree", "commondir", "gitdir", *_INFO_FILES):
            _add_file(parts, f"file {_named(repo, folder)}{name}", folder / name)
    _add_file(parts, "file .git of the work tree", repo.work_tree / ".git")
    config = _settings(repo, parts)
    _add_folder(parts, "hook", repo.common_dir / "hooks")
    for item in config:
        if item.key == "core.hookspath" and item.scope != "command":
            chosen = repo.work_tree / Path(item.value).expanduser()
            _add_folder(parts, f"hook in {item.value}/", chosen)
    for folder in _submodule_folders(repo.common_dir / "modules"):
        name = folder.relative_to(repo.common_dir).as_posix()
        _add_file(parts, f"file .git/{name}/config", folder / "config")
        _add_folder(parts, f"hook of submodule {name.removeprefix('modules/')}", folder / "hooks")
    facts = index_facts(repo) if config else None
    for path in facts.submodules if facts is not None else ():
        # A submodule that was made in place keeps its git folder inside the work tree.
        own = repo.inside(path) / ".git"
        _add_file(parts, f"file {path}/.git", own)
        _add_file(parts, f"file {path}/.git/config", own / "config")
        _add_folder(parts, f"hook of submodule {path}", own / "hooks")
    _add_state(repo, parts, facts)
    return Fingerprint(dict(sorted(parts.items())))


def compare_fingerprints(before: Fingerprint, after: Fingerprint) -> tuple[str, ...]:
    """The differences in words, one sentence each, without any value; empty if there is none."""
    sentences = []
    for name in sorted(before.parts.keys() | after.parts.keys()):
        old, new = before.parts.get(name), after.parts.get(name)
        if old == new:
            continue
        happened = "was added" if old is None else "was removed" if new is None else "was changed"
        sentences.append(f"{name} {happened}")
    return tuple(sentences)


def transport_digest(fingerprint: Fingerprint) -> str:
    """One digest of all that steers where a push goes, through whom, and who gets a credential."""
    steering = (f"{name}\0{digest}" for name, digest in _steering(fingerprint).parts.items())
    return f"sha256:{_digest(chr(10).join(sorted(steering)))}"


def transport_changes(before: Fingerprint, after: Fingerprint) -> tuple[str, ...]:
    """Of the differences those that `transport_digest` tells apart, in words."""
    return compare_fingerprints(_steering(before), _steering(after))


def _steering(fingerprint: Fingerprint) -> Fingerprint:
    return Fingerprint({name: digest for name, digest in fingerprint.parts.items() if _steers(name)})


def _steers(part: str) -> bool:
    kind, _, name = part.partition(" ")
    return (kind == "setting" and steers_transport(name)) or part == _UNREADABLE


def _named(repo: Repository, folder: Path) -> str:
    return ".git/" if folder == repo.common_dir else "this worktree's "


def _settings(repo: Repository, parts: dict[str, str]) -> tuple[ConfigValue, ...]:
    """Adds each setting of the repository by name; included files count as what they set."""
    try:
        config = parse_config_list(repo.git("config", "--list", "-z", "--show-scope", "--includes"))
    except GitQueryError:
        parts[_UNREADABLE] = "unreadable"
        return ()
    values: dict[str, list[str]] = {}
    for item in config:
        if item.scope in ("local", "worktree"):
            # The key of a rewritten URL holds that URL, with whatever credential is in it.
            values.setdefault(redact(item.key), []).append(item.value)
    for key, found in values.items():
        parts[f"setting {key}"] = _digest("\0".join(found))
    return config


def _add_state(repo: Repository, parts: dict[str, str], facts: IndexFacts | None) -> None:
    try:
        hidden = (facts or index_facts(repo)).hidden
        replaced = os.fsdecode(repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/replace/"))
    except GitQueryError:
        parts["readability of the index and refs"] = "unreadable"
        return
    if hidden:
        parts["index flags that hide changes (assume-unchanged, skip-worktree)"] = _digest("\0".join(hidden))
    for line in replaced.splitlines():
        name, _, commit = line.rpartition(" ")
        parts[f"replacement ref {name}"] = commit


def _add_folder(parts: dict[str, str], name: str, folder: Path) -> None:
    """Adds each file below a folder; the folder itself may be a link."""
    if folder.is_symlink():
        parts[f"{name} folder, a link"] = _digest(os.readlink(folder))  # noqa: PTH115 (as written)
    for number, place in enumerate(_files(folder, _MAX_DEPTH)):
        if number >= _MAX_FILES:
            parts[f"{name} (more than {_MAX_FILES} files)"] = "not read"
            return
        _add_file(parts, f"{name} {place.relative_to(folder).as_posix()}", place)


def _files(folder: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        place = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            if depth:
                yield from _files(place, depth - 1)
        else:
            yield place


def _add_file(parts: dict[str, str], name: str, place: Path) -> None:
    """Adds mode, link target and content of a file; nothing if there is no file."""
    try:
        found = place.lstat()
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode):
        return
    total = hashlib.sha256(f"{stat.S_IFMT(found.st_mode)} {found.st_mode & 0o111}".encode("ascii"))
    if stat.S_ISLNK(found.st_mode):
        total.update(os.fsencode(os.readlink(place)))  # noqa: PTH115 (as written)
    total.update(_content(place))
    parts[name] = total.hexdigest()


def _content(place: Path) -> bytes:
    """The bytes of a regular file, through links; a pipe is never waited for, a huge file counts by its times."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return f"unreadable {error.errno}".encode("ascii")
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return b"no regular file"
        if found.st_size > _MAX_FILE_BYTES:
            return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}".encode("ascii")
        return file.read(_MAX_FILE_BYTES)


def _submodule_folders(modules: Path, depth: int = _MAX_DEPTH) -> Iterator[Path]:
    """The git folders below `.git/modules`; submodule names may have slashes, and submodules their own."""
    try:
        with os.scandir(modules) as found:
            names = sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        folder = modules / name
        if (folder / "HEAD").exists():
            yield folder
            yield from _submodule_folders(folder / "modules", depth - 1) if depth else ()
        elif depth:
            yield from _submodule_folders(folder, depth - 1)


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()
