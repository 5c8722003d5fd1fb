from __future__ import annotations

import subprocess
from pathlib import Path

from touchline.git.remotes import remote_names, remote_url
from touchline.git.repository import Repository


def git(folder: Path, *argv: str) -> None:
    subprocess.run(["git", *argv], cwd=folder, check=True, timeout=30)


def test_a_repository_without_a_remote_has_no_url(repo: Path) -> None:
    assert remote_names(Repository.open(repo)) == ()
    assert remote_url(Repository.open(repo)) is None


def test_the_usual_remote_goes_first_then_the_first_by_name(repo: Path) -> None:
    git(repo, "remote", "add", "zeta", "https://host.example/z/r.git")
    git(repo, "remote", "add", "alpha", "https://host.example/a/r.git")
    assert remote_url(Repository.open(repo)) == "https://host.example/a/r.git"
    git(repo, "remote", "add", "origin", "git@host.example:o/r.git")
    assert remote_url(Repository.open(repo)) == "git@host.example:o/r.git"


def test_rewritten_urls_are_given_as_git_would_use_them(repo: Path) -> None:
    git(repo, "remote", "add", "origin", "gh:o/r")
    git(repo, "config", "url.https://host.example/.insteadOf", "gh:")
    assert remote_url(Repository.open(repo)) == "https://host.example/o/r"
