"""Git's own folders of a work tree, which only a turn that commits may write (spec page 2, "codex").

A linked work tree has two: its own and the shared one (measured: both are needed). The `.git` file that names them is
part of the work, so it is believed only where the folder that it names points back at it.
"""

from __future__ import annotations

from pathlib import Path

MAX_POINTER_BYTES = 16 * 1024


def git_folders(cwd: Path) -> tuple[Path, ...]:
    """The folders of the work tree around `cwd`; empty where there is none that can be believed."""
    for folder in (cwd, *cwd.parents):
        entry = folder / ".git"
        if entry.is_symlink():
            return ()
        if entry.is_dir():
            return (entry,)
        if entry.is_file():
            return _linked(entry)
    return ()


def _linked(file: Path) -> tuple[Path, ...]:
    named = _pointer(file, "gitdir: ")
    if named is None:
        return ()
    back = _pointer(named / "gitdir", "")
    common = _pointer(named / "commondir", "")
    if back is None or common is None or back.resolve() != file.resolve():
        return ()
    own, shared = named.resolve(), common.resolve()
    return (shared, own) if own.parent == shared / "worktrees" else ()


def _pointer(file: Path, prefix: str) -> Path | None:
    """The path that a file of git's holds, taken from the file's own folder where it is relative."""
    try:
        with file.open("rb") as opened:
            words = opened.read(MAX_POINTER_BYTES).decode("utf-8")
    except (OSError, ValueError):
        return None
    if not words.startswith(prefix):
        return None
    path = words.removeprefix(prefix).rstrip("\r\n")
    return file.parent / path if path and "\0" not in path else None
