"""Finding the real CLIs that tests drive (spec page 2, "Contract kit and real CLIs")."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

FOLDER_VARIABLE = "TOUCHLINE_CLIS"
"""A folder that tests/clis/install.py filled; its node_modules/.bin comes before PATH."""


def find_cli(name: str) -> str:
    """The path of a CLI. Missing: the test is skipped on a desk, loudly, and fails in CI."""
    folder = os.environ.get(FOLDER_VARIABLE)
    places = [str(Path(folder) / "node_modules" / ".bin")] if folder else []
    found = shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", os.defpath)]))
    if found:
        return found
    fix = f"run `python tests/clis/install.py FOLDER`, then set {FOLDER_VARIABLE}=FOLDER"
    message = f"the CLI {name!r} is not installed: {fix}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message)
    pytest.skip(message)
