"""A third party's distribution, as it lies in site-packages after an install: a package and its metadata."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

EXECUTOR = """
from touchline.api import Capability, Readiness, TurnEnded


class {name}:
    name = "{name}"
    api_version = {version}
    capabilities = frozenset({{Capability.RESUME}})

    def __init__(self, settings):
        self.settings = settings

    def check(self):
        return Readiness(installed=True, version="9")

    def run_turn(self, request, host):
        yield TurnEnded(text="")

    def settle_without_work(self, session_id, text, question):
        raise AssertionError("not called here")
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder that distributions are installed into; to be put on PYTHONPATH."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def install(site: Path) -> Callable[..., Path]:
    """install(distribution, version, {group: {name: value}}, {file: source}) writes it as an installer would."""

    def write(
        name: str, version: str, entry_points: Mapping[str, Mapping[str, str]], sources: Mapping[str, str]
    ) -> Path:
        metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = []
        for group, points in entry_points.items():
            lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items()), ""]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        for file, source in sources.items():
            path = site / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        return metadata

    return write


@pytest.fixture
def aider(install: Callable[..., Path]) -> str:
    """A working executor of a third party; its name."""
    install(
        "touchline-aider",
        "2.3",
        {"touchline.executors": {"aider": "aider_driver.executor:Aider"}},
        {"aider_driver/__init__.py": "", "aider_driver/executor.py": EXECUTOR.format(name="Aider", version=1)},
    )
    return "aider"


@pytest.fixture
def python(site: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python with `site` on its path, in a folder without a repository."""

    def run(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *args],
            env={**os.environ, "PYTHONPATH": str(site), **environ},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def listed(python: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., dict[str, dict[str, Any]]]:
    """The rows of `touchline plugins --json` by name."""

    def run(**environ: str) -> dict[str, dict[str, Any]]:
        done = python("-m", "touchline", "plugins", "--json", **environ)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        rows = json.loads(done.stdout)
        return {f"{row['name']} {row['distribution']}": row for row in rows}

    return run
