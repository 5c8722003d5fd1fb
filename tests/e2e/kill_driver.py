"""Runs touchline's command line and kills its own process at the n-th point; not a test by itself.

A point is every step boundary (before and after each `perform`), and inside every write of state: before each sync and
each rename, and after each rename. The points are found by counting calls, so a new step or write is covered by itself.
With KILL_EDGES=1 only step boundaries and the edges of each call of the forge are points (published runs).
`KILL_AT` is the number of the point (0: never), `KILL_LOG` gets one line for each point that was passed.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

KILL_AT = int(os.environ.pop("KILL_AT"))
ONLY_EDGES = os.environ.pop("KILL_EDGES", "") == "1"
LOG = os.open(os.environ.pop("KILL_LOG"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
MAIN = threading.main_thread()
passed = 0


def point(name: str) -> None:
    """One point passed; the process ends here if it is the chosen one."""
    global passed
    if threading.current_thread() is not MAIN:
        return
    passed += 1
    os.write(LOG, f"{passed} {name}\n".encode())
    if passed == KILL_AT:
        os.kill(os.getpid(), signal.SIGKILL)


def around(function: Callable[..., Any], name: str, *, after: bool) -> Callable[..., Any]:
    """`function` with a point before it, and one after it if wanted."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        point(f"before {name}")
        answer = function(*args, **kwargs)
        if after:
            point(f"after {name}")
        return answer

    return wrapped


if not ONLY_EDGES:
    os.fsync = around(os.fsync, "fsync", after=False)
    os.fdatasync = around(os.fdatasync, "fdatasync", after=False)
    os.replace = around(os.replace, "replace", after=True)
    os.rename = around(os.rename, "rename", after=True)

from touchline import cli  # noqa: E402
from touchline.coach import loop  # noqa: E402

if ONLY_EDGES:
    from touchline_forges.generic import GenericForge

    for operation in ("fetch_branch", "push", "create_draft", "inspect", "update"):
        setattr(GenericForge, operation, around(getattr(GenericForge, operation), operation, after=True))

loop.perform = around(loop.perform, "step", after=True)

sys.exit(cli.main())
