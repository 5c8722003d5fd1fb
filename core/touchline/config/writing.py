"""Owns how a configuration file reaches the disk (spec page 8): old or new, never half, and never over another."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from touchline.errors import ConfigError


def replace_file(path: Path, data: bytes) -> None:
    """Replace the file in one step and keep its mode; behind a link, what it points to is replaced.

    Raises ConfigError when it cannot be written.
    """
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        mode = _mode(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as exc:
        if temporary is not None:
            with suppress(FileNotFoundError):
                temporary.unlink()
        raise _cannot_write(path, exc) from exc


def create_file(path: Path, data: bytes) -> None:
    """Write a file that does not exist yet. Raises ConfigError when it does, or cannot be written."""
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as exc:
        raise ConfigError(
            f"{path}: the file exists and is left as it is", fix="Change it with `touchline config set KEY VALUE`."
        ) from exc
    except OSError as exc:
        raise _cannot_write(path, exc) from exc


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return 0o600


def _cannot_write(path: Path, exc: OSError) -> ConfigError:
    return ConfigError(f"{path}: cannot be written: {exc.strerror or exc}", fix="Check the folder's permissions.")
