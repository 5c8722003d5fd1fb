"""Small git repositories for tests of plugins (spec page 8, "touchline.testing").

Every call has a timeout and ignores the user's own git configuration.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from git import Repo

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.invalid",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.invalid",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder`; its output without the final newline. Raises CalledProcessError."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **_ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.rstrip("\n")


def make_repository(folder: Path) -> Path:
    """A new repository in `folder` with one commit on `main` that holds README.md, and an author of its own."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Test")
    git(folder, "config", "user.email", "test@example.invalid")
    (folder / "README.md").write_text("# example\n")
    git(folder, "add", "README.md")
    git(folder, "commit", "-q", "-m", "Add a readme")
    return folder


def commit_ahead(folder: Path, message: str = "Add work") -> str:
    """A commit on top of HEAD that no branch holds yet; `git merge --ff-only <hash>` then makes it the new head.

    So a script can name the commit that a turn will make before the turn has begun.
    """
    return git(folder, "commit-tree", "-p", "HEAD", "-m", message, "HEAD^{tree}")


def oracle(folder: Path) -> Repo:
    """The repository as GitPython reads it: by code that shares nothing with touchline's git room."""
    from git import Repo

    return Repo(folder)


def head_of(folder: Path) -> str:
    """The full id of HEAD's commit, read by the oracle."""
    with oracle(folder) as repo:
        return repo.head.commit.hexsha
