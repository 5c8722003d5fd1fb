"""Reading what a repository allows from the trusted base, never from the work being judged (DESIGN.md)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping

from touchline.git.repository import Repository
from touchline.secrets.allow import BASELINE, Allowances, parse_baseline, pragma_lines

GITLEAKS_CONFIG = ".gitleaks.toml"
MAX_BASELINE_BYTES = 16 * 1024 * 1024
_MAX_FILES = 500
_MAX_FILE_BYTES = 2 * 1024 * 1024


def read_allowances(repo: Repository, commit: str, *, patterns: Mapping[str, str] | None = None) -> Allowances:
    """The allowances at a trusted `commit` ("" has none), with the `patterns` of a trusted configuration."""
    if not commit:
        return Allowances(patterns=dict(patterns or {}))
    baseline = repo.run("cat-file", "blob", f"{commit}:{BASELINE}", max_output_bytes=MAX_BASELINE_BYTES)
    found = parse_baseline(baseline.stdout if baseline.returncode == 0 and not baseline.truncated else b"")
    notes = [*found.notes, *([f"{BASELINE} is too large: nothing in it counts"] if baseline.truncated else [])]
    args = ("grep", "-l", "-z", "-I", "-i", "-E", "pragma: ?(allow|white)list", commit)
    named = os.fsdecode(repo.run(*args).stdout).split("\0")[:-1]
    if len(named) > _MAX_FILES:
        notes.append(f"more than {_MAX_FILES} files carry a pragma: those of the first {_MAX_FILES} count")
    lines: set[str] = set()
    for name in named[:_MAX_FILES]:
        done = repo.run("cat-file", "blob", name, max_output_bytes=_MAX_FILE_BYTES)
        if done.returncode == 0 and not done.truncated:
            lines.update(pragma_lines(done.stdout.decode("utf-8", "replace")))
    return dataclasses.replace(found, lines=frozenset(lines), patterns=dict(patterns or {}), notes=tuple(notes))


def read_gitleaks_config(repo: Repository, commit: str) -> bytes:
    """The rules for gitleaks at a trusted `commit`, empty if there are none."""
    done = repo.run("cat-file", "blob", f"{commit}:{GITLEAKS_CONFIG}", max_output_bytes=_MAX_FILE_BYTES)
    return done.stdout if commit and done.returncode == 0 and not done.truncated else b""
