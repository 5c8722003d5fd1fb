"""The CLIs that tests drive are pinned to exact versions, in one file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def test_versions_are_exact() -> None:
    pinned = json.loads((FOLDER / "package.json").read_text())["dependencies"]
    assert pinned
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in pinned.values())


@pytest.mark.parametrize("arguments", [[], ["one", "two"]])
def test_installer_without_exactly_one_folder_says_how_to_use_it(arguments: list[str]) -> None:
    argv = [sys.executable, str(FOLDER / "install.py"), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "usage:" in done.stderr


@pytest.mark.parametrize(("environment", "status"), [({}, 0), ({"CI": "true"}, 1)])
def test_installer_without_npm_says_so_installs_nothing_and_fails_only_ci(
    tmp_path: Path, environment: dict[str, str], status: int
) -> None:
    argv = [sys.executable, str(FOLDER / "install.py"), str(tmp_path / "clis")]
    place = {"PATH": str(tmp_path), **environment}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=place)
    assert done.returncode == status
    assert "npm is not installed" in done.stderr
    assert not (tmp_path / "clis").exists()
