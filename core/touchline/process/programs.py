"""Which program an argv names, and why one cannot be started, said so that a person can act (spec page 2)."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from touchline.errors import ProcessError


def find_program(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> str:
    """The absolute path of the program that `argv` names.

    A bare name is looked up on the child's PATH, absolute entries only: a relative entry would let the
    repository that we stand in choose the program. A name with a slash is taken relative to `cwd`.
    Raises ProcessError when there is no such program.
    """
    if not argv or not argv[0]:
        raise ProcessError("no program was named", fix="Give the command as a list that begins with a program.")
    if any("\0" in argument for argument in argv):
        raise ProcessError(
            f"{argv[0]!r} cannot be started: an argument holds a NUL byte", fix="Pass such content on stdin."
        )
    if not cwd.is_dir():
        raise ProcessError(
            f"{argv[0]} cannot be started in {cwd}: no such folder", fix="Check the path and that it still exists."
        )
    name = argv[0]
    if "/" in name:
        path = os.path.join(cwd, name)  # noqa: PTH118  (keeps "..", as the kernel does)
        if not os.path.isabs(path):  # noqa: PTH117
            path = os.path.abspath(path)  # noqa: PTH100
        if not os.path.exists(path):  # noqa: PTH110
            raise ProcessError(f"{path} cannot be started: there is no such file", fix="Check the configured command.")
        if not _is_program(path):
            raise _not_executable(path)
        return path
    refused = ""
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        if not folder.startswith("/"):
            continue
        path = f"{folder}/{name}"
        if _is_program(path):
            return path
        if not refused and os.path.isfile(path):  # noqa: PTH113
            refused = path
    if refused:
        raise _not_executable(refused)
    raise ProcessError(
        f"{name} cannot be started: there is no such program on PATH",
        fix="Install it, put it on PATH, or name its full path in the configuration.",
    )


def start_problem(program: str, number: int, *, cwd: Path) -> ProcessError:
    """Why the system refused to run an existing program, from its errno."""
    if number in (errno.ENOENT, errno.ENOTDIR):
        if not cwd.is_dir():
            return ProcessError(f"{program} cannot be started in {cwd}: no such folder", fix="Check the path.")
        return ProcessError(
            f"{program} cannot be started: the interpreter that it asks for is missing",
            fix="Look at its first line (#!) and install what is named there.",
        )
    if number == errno.ENOEXEC:
        return ProcessError(
            f"{program} cannot be started: it is no program for this system",
            fix="A script needs a first line such as #!/bin/sh; a binary must fit the machine.",
        )
    if number == errno.E2BIG:
        return ProcessError(
            f"{program} cannot be started: its arguments or its environment are too long",
            fix="Pass long content on stdin or in a file.",
        )
    if number in (errno.EACCES, errno.EPERM):
        return ProcessError(
            f"{program} cannot be started in {cwd}: permission denied",
            fix="Check the permissions of the program, its folders and the working folder.",
        )
    return ProcessError(
        f"{program} cannot be started: {os.strerror(number)}", fix="Free what the system is short of and try again."
    )


def illegal_environment(program: str) -> ProcessError:
    """The system cannot express the environment. Names no value: it may be a secret."""
    return ProcessError(
        f"{program} cannot be started: an environment variable has an illegal name or holds a NUL byte",
        fix="Check the env section of the configuration.",
    )


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and not os.path.isdir(path)  # noqa: PTH112


def _not_executable(path: str) -> ProcessError:
    return ProcessError(f"{path} cannot be started: it is not executable", fix=f"chmod +x {path}")
