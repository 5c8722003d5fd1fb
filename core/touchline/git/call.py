"""One bounded git process: its environment, its ending, its error (spec page 1, "Git facts")."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from touchline.errors import GitError, GitQueryError, NotARepositoryError, ProcessError
from touchline.git.isolation import foreign_git_names
from touchline.process import Completed
from touchline.process import run as run_process
from touchline.process.cancel import Cancellation
from touchline.process.environment import clean_environment

OLDEST_GIT = (2, 39)
QUERY_TIMEOUT_S = 120.0
MAX_OUTPUT_BYTES = 256 * 1024 * 1024

# Up to the last "@" before the path: a password may hold one itself.
_CREDENTIALS = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s]*@")


def call_git(
    args: Collection[str],
    cwd: Path,
    added: Mapping[str, str],
    *,
    stdin: bytes = b"",
    timeout_s: float = QUERY_TIMEOUT_S,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    cancel: Cancellation | None = None,
) -> Completed:
    """One git call in `cwd` with `added` (see `isolation`) on top of the cleaned environment.

    Raises NotARepositoryError when the folder or git itself is gone.
    """
    around = dict(os.environ)  # decoded once: `os.environ` does it at each look
    environment = clean_environment(around, remove=foreign_git_names(around), add=added)
    try:
        return run_process(
            ["git", "--no-pager", *args],
            cwd=cwd,
            env=environment,
            stdin=stdin,
            timeout_s=timeout_s,
            max_output_bytes=max_output_bytes,
            cancel=cancel,
        )
    except ProcessError as error:
        if not cwd.is_dir():
            gone = f"the work tree {cwd} is gone"
            raise NotARepositoryError(gone, fix="Put the folder back, or start again in another one.") from error
        if shutil.which("git", path=environment.get("PATH", os.defpath)) is None:
            raise no_git() from error
        raise GitError(f"git cannot be started: {error.what}", fix=error.fix) from error


def redact(text: str) -> str:
    """`text` without user names and passwords in URLs."""
    return _CREDENTIALS.sub(r"\1***@", text)


def require(
    done: Completed, args: Collection[str], *, ok: Collection[int] = (0,), error: type[GitError] = GitQueryError
) -> None:
    """Raises `error` unless the call ended by itself, with a status in `ok` and complete output."""
    if done.returncode not in ok or done.ending != "exited" or done.truncated:
        raise query_failure(args, done, error=error)


def query_failure(args: Collection[str], done: Completed, *, error: type[GitError] = GitQueryError) -> GitError:
    """The error of a git call that failed: command, how it ended, git's own words."""
    words = redact(done.stderr.decode("utf-8", "replace").strip())[-2000:]
    if done.truncated:
        ended = "gave more output than its limit"
    elif done.ending != "exited":
        ended = f"did not finish within its limit of time ({done.ending})"
    else:
        ended = f"failed with status {done.returncode}"
    command = redact(" ".join(("git", *args)))[:500]
    what = f"`{command}` {ended}" + (f": {words}" if words else "")
    return error(what, fix="Run the command in the repository to see the cause.")


def no_git() -> NotARepositoryError:
    """The error of a machine without git."""
    needed = ".".join(map(str, OLDEST_GIT))
    return NotARepositoryError("git is not installed", fix=f"Install git {needed} or newer and put it on PATH.")
