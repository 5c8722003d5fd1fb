"""The example of write-an-executor.md as a stranger would use it: built, installed elsewhere, under its contract."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs/example-executor"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the example was installed, apart from touchline."""
    source = tmp_path_factory.mktemp("example") / "source"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "dist", "build"))
    target = source.parent / "site"
    argv = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*argv, "--disable-pip-version-check", "--target", str(target), str(source)],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return target


def environment(installed: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(installed), "PATH": f"{installed / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def test_it_is_found_by_its_entry_point(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "touchline", "plugins", "--json"],
        env=environment(installed),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert "touchline-pebble" in json.dumps(json.loads(done.stdout))


@pytest.mark.slow
def test_it_passes_its_contract(installed: Path) -> None:
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        "/dev/null",
        "--rootdir",
        str(EXAMPLE),
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*argv, str(EXAMPLE / "tests")],
        cwd=installed,
        env=environment(installed),
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()[-4000:]
    assert " passed" in done.stdout.decode()


@pytest.mark.slow
def test_it_can_be_rehearsed(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "touchline", "rehearse", "--executor", "pebble"],
        cwd=tmp_path,
        env=environment(installed),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert done.stdout.decode().count("\nok ") == 8
