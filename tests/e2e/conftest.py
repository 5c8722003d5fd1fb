"""Whole runs of the command line in its own process, on real git, with scripted players."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import published_scene

TESTS = """\
import sys, unittest
sys.path.insert(0, ".")
class T(unittest.TestCase):
    def test_value(self):
        from value import VALUE
        self.assertEqual(VALUE, 3)
"""


@dataclass(frozen=True)
class Ran:
    """What one call of touchline left: exit status, stdout, stderr."""

    status: int
    out: str
    err: str

    @property
    def block(self) -> dict[str, str]:
        """The terminal block; stdout must hold it alone."""
        rows = dict(line.split(": ", 1) for line in self.out.splitlines())
        assert list(rows) == [
            "STATUS",
            "PR_URL",
            "PR_STATE",
            "BRANCH",
            "HEAD_SHA",
            "REMOTE_HEAD_SHA",
            "TURNS_USED",
            "VERIFY_RUNS",
            "REVIEWER",
        ], self.out + self.err
        return rows


@dataclass(frozen=True)
class Project:
    """A repository whose test wants `value.py` to hold VALUE = 3, a plan, and a configured scripted player."""

    path: Path

    def git(self, *argv: str) -> str:
        done = subprocess.run(["git", *argv], cwd=self.path, check=True, timeout=30, capture_output=True)
        return os.fsdecode(done.stdout)

    def configure(self, script: Mapping[str, Any], **sections: Any) -> None:
        """Write the script of the player and the configuration of touchline, and commit both."""
        (self.path.parent / "script.json").write_text(json.dumps({"version": 1, **script}))
        settings = {
            "executors": {"play": {"driver": "scripted", "script": str(self.path.parent / "script.json")}},
            "run": {"executor": "play"},
            "tests": {"command": [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests", "-v"]},
            **sections,
        }
        (self.path / "touchline.yaml").write_text(json.dumps(settings))
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "Configure")

    def run(self, *argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 60) -> Ran:
        """`touchline run --no-pr --headless` with more arguments."""
        return self.touchline("run", "--no-pr", "--headless", *argv, env=env, timeout_s=timeout_s)

    def touchline(self, *argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 60) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "touchline", *argv],
            cwd=self.path,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    @property
    def folder(self) -> Path:
        """The only run folder there is."""
        (found,) = Path(os.environ["XDG_STATE_HOME"]).glob("player-coach/*/*/ledger.json")
        return found.parent

    @property
    def ledger(self) -> dict[str, Any]:
        """The ledger as it is on disk."""
        loaded: dict[str, Any] = json.loads((self.folder / "ledger.json").read_bytes())
        return loaded


def attempt(value: int) -> list[dict[str, Any]]:
    """One turn of a player that writes a value and declares the end."""
    return [
        {"write": {"path": "value.py", "content": f"VALUE = {value}\n"}},
        {"usage": {"input": 10, "output": 5}},
        {"finish": {"summary": f"set the value to {value}"}},
    ]


GOOD_JUDGE = {"judge": [[{"answer": {"issues": []}}]]}
GOOD_EXERCISER = {"exerciser": [[{"answer": {"status": "PASSED", "notes": "used it"}}]]}


@pytest.fixture
def attempt_of() -> Callable[[int], list[dict[str, Any]]]:
    return attempt


@pytest.fixture
def verifiers() -> dict[str, Any]:
    """A judge and an exerciser that find nothing."""
    return {**GOOD_JUDGE, **GOOD_EXERCISER}


def make_project(path: Path) -> Project:
    (path / "tests").mkdir(parents=True)
    (path / "docs/plans").mkdir(parents=True)
    (path / "tests/test_value.py").write_text(TESTS)
    (path / "docs/plans/value.md").write_text("# Set the value\n\n`value.py` holds `VALUE = 3`.\n")
    (path / ".gitignore").write_text("__pycache__/\n")
    made = Project(path)
    made.git("init", "--quiet", "--initial-branch=main")
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message", "Start")
    return made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path / "project")


@pytest.fixture
def remote(project: Project, tmp_path: Path) -> Path:
    """A bare repository that the project pushes to, as its remote `upstream`."""
    bare = tmp_path / "remote.git"
    project.git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    project.git("remote", "add", "upstream", str(bare))
    return bare


@pytest.fixture
def make_scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AbstractContextManager[Any]]:
    """Opens a `Scene` of `published_scene` in a folder and a state of its own: a project and a host to disturb."""

    def make(name: str, player: list[Any], **sections: Any) -> AbstractContextManager[Any]:
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        opened: AbstractContextManager[Any] = published_scene.opened(
            make_project(folder / "project"), folder, player, **sections
        )
        return opened

    return make
