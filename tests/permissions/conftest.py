from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from touchline.executor import PermissionAsked
from touchline.permissions.gate import real_path
from touchline.permissions.policy import Policy, Verdict, decide, make_policy

Judge = Callable[..., Verdict]


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work tree with a `.git`, a folder, a link to the outside and a link to git's folder."""
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("tree")))
    for name in (".git/hooks", "src", "build", "tests", ".github/workflows", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    (folder / "src" / "app.py").write_text("print(1)\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "out").symlink_to(folder.parent)
    (folder / "inner").symlink_to(".git")
    (folder / "tool").symlink_to("/usr/bin/env")
    return folder


@pytest.fixture(scope="session")
def judge(tree: Path) -> Judge:
    """The verdict on one shell line: `judge(line, profile="player", deny=..., ask=..., allow=...)`."""

    def ask(line: str, *, profile: str = "player", policy: Policy | None = None, **rules: list[str]) -> Verdict:
        chosen = policy or make_policy(profile, str(tree), rules=[rules])  # type: ignore[arg-type]
        asked = PermissionAsked("1", "bash", command=line, raw_tool="Bash")
        return decide(chosen, asked, cwd=str(tree), resolve=real_path)

    return ask
