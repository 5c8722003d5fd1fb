"""Makes the golden trajectories: real runs of the command line with scripted players, kept as data. Not a test.

    python tests/replay/make_golden.py [NAME ...]

What a run left is kept in tests/replay/golden/NAME/. Paths of this machine are replaced by others of the same length,
so that nothing that was cut to a length is cut elsewhere. Make them anew only when a rule was meant to change, and
look at the difference that `touchline replay` names first.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).with_name("golden")
KEPT = ("ledger.json", "steps.jsonl", "events.jsonl", "reports", "starts", "raw")
WAIT_S = 60.0

VALUE_TEST = """\
import sys, unittest
sys.path.insert(0, ".")
class ValueTest(unittest.TestCase):
    def test_value(self):
        from value import VALUE
        self.assertEqual(VALUE, 3)
"""
BROKEN_TEST = """\
import unittest
class OldTest(unittest.TestCase):
    def test_old(self):
        self.assertEqual("what it was", "what it should be")
"""
Steps = list[dict[str, Any]]


class Stage:
    """A repository with a plan, its configuration, and the command line to run in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / "project"
        self.script = root / "script.json"
        self.published = False
        home = root / "home"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_CONFIG_HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "Golden",
            "GIT_AUTHOR_EMAIL": "golden@example.invalid",
            "GIT_COMMITTER_NAME": "Golden",
            "GIT_COMMITTER_EMAIL": "golden@example.invalid",
        }
        home.mkdir()
        self.write("docs/plans/value.md", "# Set the value\n\n`value.py` holds `VALUE = 3`.\n")
        self.write("tests/test_value.py", VALUE_TEST)
        self.write("value.py", "VALUE = 0\n")
        self.write(".gitignore", "__pycache__/\n")

    def write(self, name: str, content: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def git(self, *argv: str) -> None:
        subprocess.run(["git", *argv], cwd=self.path, env=self.environ, check=True, timeout=30, capture_output=True)

    def commit(self, **sections: Any) -> None:
        """The configuration, and everything so far, as the first commit."""
        settings = {
            "executors": {"play": {"driver": "scripted", "script": str(self.script)}},
            "run": {"executor": "play"},
            "tests": {"command": ["python3", "-B", "-m", "unittest", "discover", "-s", "tests", "-v"]},
            **sections,
        }
        self.write("touchline.yaml", json.dumps(settings))
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Start")

    def play(self, player: list[Any], judge: list[Steps] | None = None) -> None:
        """What the player and the judge do from now on; the exerciser finds nothing."""
        parts = {
            "player": player,
            "judge": judge or [judged()],
            "exerciser": [[{"answer": {"status": "PASSED", "notes": "used it"}}]],
        }
        self.script.write_text(json.dumps({"version": 1, **parts}), encoding="utf-8")

    def run(self, *argv: str, expect: int) -> None:
        done = self.begin(*argv)
        output, _ = done.communicate(timeout=WAIT_S)
        if done.returncode != expect:
            raise SystemExit(f"expected exit status {expect}, got {done.returncode}:\n{output}")

    def begin(self, *argv: str) -> subprocess.Popen[str]:
        local = () if self.published else ("--no-pr",)
        return subprocess.Popen(
            [sys.executable, "-m", "touchline", "run", "--headless", *local, *argv],
            cwd=self.path,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def folder(self) -> Path:
        (found,) = (self.root / "state").glob("player-coach/*/*/ledger.json")
        return found.parent

    def wait_for(self, name: str, text: str) -> None:
        """Wait until a file of the run folder holds a text."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            found = list((self.root / "state").glob(f"player-coach/*/*/{name}"))
            if found and text in found[0].read_text(encoding="utf-8"):
                return
            time.sleep(0.05)
        raise SystemExit(f"{name} never held {text!r}")


def attempt(value: int, *more: dict[str, Any]) -> Steps:
    """One turn of a player that writes a value and declares the end."""
    return [
        {"write": {"path": "value.py", "content": f"VALUE = {value}\n"}},
        *more,
        {"usage": {"input": 10, "output": 5}},
        {"finish": {"summary": f"set the value to {value}"}},
    ]


def judged(*issues: dict[str, Any], rechecks: list[dict[str, Any]] | None = None) -> Steps:
    return [{"answer": {"issues": list(issues), "rechecks": rechecks or []}}]


def issue(mechanism: str, class_: str, severity: int, path: str, **more: Any) -> dict[str, Any]:
    words = mechanism.replace("-", " ")
    return {
        "title": words.capitalize(),
        "severity": severity,
        "class": class_,
        "description": f"{words} in {path}",
        "rootCause": f"nobody thought of {words}",
        "mechanism": mechanism,
        "path": path,
        "line": 1,
        **more,
    }


def approved(stage: Stage) -> None:
    """Approved at once."""
    stage.commit()
    stage.play([attempt(3)])
    stage.run(expect=0)


def quarantine(stage: Stage) -> None:
    """A wrong attempt, feedback, a right one; beside it a test that failed before the change."""
    stage.write("tests/test_old.py", BROKEN_TEST)
    stage.commit()
    stage.play(
        [attempt(1), attempt(3)],
        [
            judged(issue("unchecked-input", "correctness", 7, "value.py")),
            judged(issue("odd-name", "style", 3, "value.py")),
        ],
    )
    stage.run(expect=0)


def coverage(stage: Stage) -> None:
    """Remarks about missing tests that breed their own successors until the caps end them."""
    stage.commit()
    first = issue("no-test-of-zero", "coverage", 6, "value.py")
    second = issue("no-test-of-the-helper", "coverage", 6, "tests/test_more.py")
    third = issue("no-test-of-limits", "coverage", 7, "docs/plans/value.md")
    more = [{"write": {"path": "tests/test_more.py", "content": VALUE_TEST}}]
    stage.play(
        [attempt(3), attempt(3, *more), attempt(3, {"write": {"path": "other.py", "content": "OTHER = 1\n"}})],
        [
            judged(first),
            judged(second, issue("wrong-unit", "correctness", 8, "value.py")),
            judged(third, second),
        ],
    )
    stage.run(expect=0)


def interrupted(stage: Stage) -> None:
    """Stopped in a turn, a model error, killed while verifying, and continued each time."""
    pause = stage.root / "pause"
    command = f"while test -e {pause}; do sleep 0.1; done; exec python3 -B -m unittest discover -s tests -v"
    stage.commit(tests={"command": ["sh", "-c", command], "baseline": False})
    stage.play([[{"say": "I begin."}, {"hang": 600}]])
    process = stage.begin()
    stage.wait_for("events.jsonl", "I begin.")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WAIT_S)
    stage.play(
        [{"steps": attempt(3), "resumed": [[{"fail": {"kind": "model-error", "reason": "overloaded"}}], attempt(3)]}]
    )
    pause.touch()
    process = stage.begin()
    stage.wait_for("steps.jsonl", '"Verify"')
    stage.wait_for("ledger.json", '"verifyRun": 1')
    process.kill()
    process.communicate(timeout=WAIT_S)
    pause.unlink()
    stage.run(expect=0)


def two_runs(stage: Stage) -> None:
    """A run that used up its turns, and a second one on the same change."""
    stage.commit()
    stage.play([attempt(1)], [judged(issue("unchecked-input", "correctness", 7, "value.py"))])
    stage.run("--max-turns", "1", expect=3)
    stage.play([attempt(3)])
    stage.run("--max-turns", "2", "--severity", "6", expect=0)


def rerun(stage: Stage) -> None:
    """A judge that is killed four times: reruns until they are spent, feedback, a rerun, and an approval."""
    calls = stage.root / "calls"
    command = f"echo >> {calls}; test $(wc -l < {calls}) -gt 4 || kill -9 $$"
    judge = {"name": "judge", "command": ["sh", "-c", command]}
    stage.commit(reviewers=[judge], tests={"command": ["true"], "baseline": False})
    stage.play([attempt(1), attempt(3)])
    stage.run("--max-turns", "2", expect=0)


def published(stage: Stage) -> None:
    """Two turns on a branch of their own: feedback, a delta that approves for now, and the full audit."""
    stage.published = True
    stage.commit()
    bare = stage.root / "remote.git"
    stage.git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    stage.git("remote", "add", "upstream", str(bare))
    stage.git("push", "--quiet", "upstream", "main")
    stage.play([attempt(1), attempt(3)])
    stage.run("--no-ci", expect=0)


RUNS: Mapping[str, Callable[[Stage], None]] = {
    "approved": approved,
    "quarantine": quarantine,
    "coverage": coverage,
    "interrupted": interrupted,
    "two-runs": two_runs,
    "rerun": rerun,
    "published": published,
}


def make(name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        root = Path(folder).resolve()
        stage = Stage(root)
        RUNS[name](stage)
        target = GOLDEN / name
        shutil.rmtree(target, ignore_errors=True)
        for source in sorted(stage.folder.rglob("*")):
            inside = source.relative_to(stage.folder)
            if source.is_file() and inside.parts[0] in KEPT:
                keep(source, target / inside, root)


def keep(source: Path, target: Path, root: Path) -> None:
    content = source.read_bytes()
    for place in (str(root), str(root / "home")):
        content = content.replace(place.encode(), _stand_in(place).encode())
    for place in {tempfile.gettempdir(), sys.prefix, sys.base_prefix, str(Path.home()), str(GOLDEN.parents[2])}:
        if place != "/" and f"{place}/".encode() in content:
            raise SystemExit(f"{source} names a path of this machine: {place}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _stand_in(place: str) -> str:
    """Another path of the same length."""
    return "/golden".ljust(len(place), "_")[: len(place)]


if __name__ == "__main__":
    for chosen in sys.argv[1:] or RUNS:
        make(chosen)
