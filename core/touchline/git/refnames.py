"""Whether a text can name a branch: git's own answer (spec page 5, "checked with git check-ref-format")."""

from __future__ import annotations

import os

from touchline.git.repository import Repository

MAX_BRANCH_BYTES = 200
"""Each part is a file name, and tools add to it."""


def is_branch_name(repo: Repository, name: str) -> bool:
    """Whether git accepts `name` as a branch; never one that looks like an option, HEAD, or a commit id."""
    if not name or name.startswith("-") or name == "HEAD" or "\0" in name:
        return False
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:
        return False
    if length > MAX_BRANCH_BYTES:
        return False
    if len(name) == repo.hash_length and all(letter in "0123456789abcdef" for letter in name):
        return False
    return repo.run("check-ref-format", f"refs/heads/{name}").returncode == 0
