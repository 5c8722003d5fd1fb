"""Owns what is kept of an error that is our own fault: a private log file, and one line that names it."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from touchline.errors import TouchlineError
from touchline.state import make_private_folder, state_root

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 6
_FOLDER = ".errors"
"""Beside the projects; no slug, so that it is never taken for one."""

_LIBRARIES = ("click", "pydantic", "pluggy", "stevedore", "GitPython", "ruamel.yaml")


def report(exc: BaseException, argv: Sequence[str]) -> str:
    """Keep `exc` in a log file (0600) in the state folder and return the line for a person.

    Never raises: where the state folder cannot be written, the line says how to see the traceback instead.
    """
    line = f"touchline: internal error, {type(exc).__name__}: this is a fault of touchline, not yours"
    try:
        path = _write(state_root(os.environ) / _FOLDER, _masked(_body(exc, argv), os.environ))
    except (OSError, TouchlineError):
        return f"{line}\n  Run it again with `touchline --debug ...` and report the traceback."
    return f"{line}\n  Report it with the log file {path}."


def _body(exc: BaseException, argv: Sequence[str]) -> str:
    versions = ", ".join(f"{name} {_version(name)}" for name in ("touchline", *_LIBRARIES))
    trace = "".join(traceback.format_exception(exc))
    return f"{versions}\nPython {sys.version}\n{platform.platform()}\narguments: {list(argv)!r}\n\n{trace}"


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _masked(text: str, environ: Mapping[str, str]) -> str:
    for name, value in environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, f"<{name}>")
    return text


def _write(folder: Path, text: str) -> Path:
    make_private_folder(folder)
    handle, name = tempfile.mkstemp(prefix="internal-error-", suffix=".log", dir=folder)  # mkstemp makes it 0600
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return Path(name)
