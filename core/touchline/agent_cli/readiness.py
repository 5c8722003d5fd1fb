"""Whether the installed version of an agent CLI is one that its driver knows. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchline.executor import Readiness

ONLY_LOOPBACK: Mapping[str, str] = {
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
}
"""For a rehearsal: the user's configuration may name other addresses, and nothing but this machine can be reached."""


def judge_version(told: str, *, command: str, oldest: tuple[int, int, int], name: str, update: str) -> Readiness:
    """What `command --version` told, against the oldest version that was driven; a `problem` if it will not do.

    `name` is the driver's, `update` the command that brings a newer version.
    """
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", told)
    if found is None:
        return Readiness(
            installed=True,
            problem=f"`{command} --version` gave no version: {told.strip()[:200]!r}",
            fix=f"reinstall it, or set executors.{name}.command",
        )
    if tuple(int(part) for part in found.groups()) < oldest:
        needed = ".".join(map(str, oldest))
        return Readiness(True, found[0], problem=f"too old, {needed} is needed", fix=update)
    return Readiness(True, found[0])
