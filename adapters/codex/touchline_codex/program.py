"""Which program is started: Codex's native binary, not the node script that npm puts on PATH (spec page 2, "codex").

Killing the script would leave the binary and its tools behind (measured).
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

SCRIPT = "codex.js"

_PLATFORMS = {
    ("Linux", "x86_64"): ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    ("Linux", "aarch64"): ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
    ("Darwin", "x86_64"): ("codex-darwin-x64", "x86_64-apple-darwin"),
    ("Darwin", "arm64"): ("codex-darwin-arm64", "aarch64-apple-darwin"),
}


def native(command: Sequence[str], *, environ: Mapping[str, str]) -> list[str]:
    """`command` with npm's script replaced by the binary that it would start; otherwise as it is.

    A script whose binary is not where the package puts it stays: it knows best how to say so.
    """
    found = _located(command[0], environ)
    script = Path(os.path.realpath(found)) if found else None
    if script is None or script.name != SCRIPT:
        return list(command)
    binary = _binary(script.parent.parent)
    return [str(binary) if binary else command[0], *command[1:]]


def _located(name: str, environ: Mapping[str, str]) -> str:
    """Where a bare name is on PATH, absolute entries only; a path is what it is."""
    if "/" in name:
        return name
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = f"{folder}/{name}"
        if folder.startswith("/") and os.access(path, os.X_OK) and Path(path).is_file():
            return path
    return ""


def _binary(package: Path) -> Path | None:
    """The binary of this machine, in the platform's package next to `package` or inside it."""
    names = _PLATFORMS.get((platform.system(), platform.machine()))
    if names is None:
        return None
    name, triple = names
    roots = [folder / "node_modules" / "@openai" / name for folder in (package, *package.parents)]
    for root in (*roots, package.parent / name, package):
        binary = root / "vendor" / triple / "bin" / "codex"
        if os.access(binary, os.X_OK):
            return binary
    return None
