"""The remotes that a repository names, as data (spec page 3: a project is known by its remote). Contacts nobody."""

from __future__ import annotations

import os

from touchline.git.repository import Repository

USUAL_NAME = "origin"


def remote_names(repo: Repository) -> tuple[str, ...]:
    """The configured remotes, sorted by name."""
    return tuple(sorted(os.fsdecode(repo.git("remote")).split("\n")[:-1]))


def remote_url(repo: Repository) -> str | None:
    """The fetch URL (`url.*.insteadOf` applied) of the remote that names the project; None without a remote.

    The usual name goes first, otherwise the first by name, so that the answer does not change with the branch.
    """
    names = remote_names(repo)
    if not names:
        return None
    name = USUAL_NAME if USUAL_NAME in names else names[0]
    done = repo.run("remote", "get-url", "--", name)
    url = os.fsdecode(done.stdout).split("\n", 1)[0]
    return url if done.returncode == 0 and url else None
