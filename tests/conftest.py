"""Fixtures for every test: an environment without the user's own configuration, and small repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import hypothesis
import pytest

# A loaded machine must not fail a property; what is slow is measured by the benchmarks.
hypothesis.settings.register_profile("touchline", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("touchline")

_KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "CI",
    "TOUCHLINE_CLIS",
    "TOUCHLINE_KILLS",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "COVERAGE_PROCESS_START",
)


@pytest.fixture(autouse=True)
def clean_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A HOME of this test alone; nothing of the user's environment or configuration leaks in or is written."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith(("PYTEST_", "TOX_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    (home / "gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n"
    )
    return home


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A git repository with one commit on `main` that holds README.md."""
    folder = tmp_path / "repo"
    folder.mkdir()
    for argv in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "start"]):
        subprocess.run(["git", *argv], cwd=folder, check=True, timeout=30)
    (folder / "README.md").write_text("# example\n")
    for argv in (["add", "README.md"], ["commit", "-q", "-m", "Add a readme"]):
        subprocess.run(["git", *argv], cwd=folder, check=True, timeout=30)
    return folder
