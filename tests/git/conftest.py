"""Real repositories for the git room's tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Git = Callable[..., str]

ODD_NAMES = (
    "plain.txt",
    "with space.txt",
    "new\nline.txt",
    "tab\there.txt",
    'quote"d.txt',
    "single'quote.txt",
    "back\\slash.txt",
    "café.md",
    "日本語.txt",
    "latin-\udce9.txt",
    "-leading-dash",
    "--option=like",
    ":(glob)magic",
    "star*.txt",
    "[brackets].txt",
    " leading space",
    "trailing space ",
    "$(touch pwned)",
    "folder with space/ünder/deep.txt",
)


@pytest.fixture
def git() -> Git:
    """Plain git, as a user would run it: `git(folder, "status")` gives its output; fails on a failing command."""

    def run(folder: Path, *args: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *args],
            cwd=folder,
            input=stdin,
            capture_output=True,
            check=False,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    return run


@pytest.fixture
def odd_names() -> tuple[str, ...]:
    """File names that break naive parsing: blanks, newlines, quotes, tabs, non-ASCII, latin-1, option-like."""
    return ODD_NAMES


@pytest.fixture
def odd_repo(repo: Path, git: Git) -> Path:
    """A repository with every odd name committed."""
    for name in ODD_NAMES:
        write(repo / name, f"content of {name!r}\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "odd names")
    return repo


@pytest.fixture
def with_submodule(repo: Path, git: Git, tmp_path: Path) -> Path:
    """`repo` with a populated submodule at `lib/sub` that holds `inner.txt`."""
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "-q", "-b", "main")
    write(source / "inner.txt", "inner\n")
    git(source, "add", "inner.txt")
    git(source, "commit", "-q", "-m", "inner")
    git(repo, "submodule", "--quiet", "add", str(source), "lib/sub")
    git(repo, "commit", "-q", "-m", "Add a submodule")
    return repo


def write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8", errors="surrogateescape")
