"""Owns where configuration files lie (spec page 8) and how one is read: bounded, and only if it is a real file."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from touchline.config.source import MAX_BYTES
from touchline.errors import ConfigError
from touchline.state import config_home

REPOSITORY_FILE = "touchline.yaml"


def user_file(environ: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/touchline/config.yaml`. Raises ConfigError where no home folder is known."""
    return config_home(environ) / "config.yaml"


def repository_root(start: Path) -> Path | None:
    """The nearest folder from `start` upwards that holds `.git`; asks no git."""
    start = start.resolve()
    return next((folder for folder in (start, *start.parents) if _is_repository(folder / ".git")), None)


def _is_repository(place: Path) -> bool:
    """A git folder, or the file that a linked worktree or submodule has; an empty folder is neither."""
    return place.is_file() or (place / "HEAD").exists()


def repository_file(start: Path) -> Path:
    """`touchline.yaml` at the repository's root, or in `start` where there is no repository; it need not exist."""
    return (repository_root(start) or start.resolve()) / REPOSITORY_FILE


def read_optional(path: Path) -> bytes | None:
    """The bytes of `path`, None if it does not exist. Raises ConfigError when it cannot be read."""
    try:
        return _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_required(path: Path) -> bytes:
    """The bytes of `path`. Raises ConfigError when it does not exist or cannot be read."""
    found = read_optional(path)
    if found is None:
        raise ConfigError(f"{path}: there is no such file", fix="Check the path, or run `touchline init`.")
    return found


def _read(path: Path) -> bytes:
    try:
        # Non-blocking: opening a FIFO that nobody writes to must not hang before it can be refused.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise ConfigError(f"{path}: cannot be read: {reason}", fix="Check its permissions.") from exc
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ConfigError(f"{path}: this is no regular file", fix="Name a file that holds YAML.")
    with os.fdopen(handle, "rb") as file:
        return file.read(MAX_BYTES + 1)
