"""A project whose run ends with a status, its bare remote, and what must be printed; not a test by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from touchline.coach.terminal import EXIT_STATUS
from touchline.documents.ledger import Status
from touchline.testing.forges import BareBackdoor

BRANCH = "touchline/set-the-value"


@dataclass
class Scene:
    """A project with commands as judge and exerciser, its bare remote, and what a run of it must print."""

    project: Any
    remote: Path
    published: bool = True
    status: Status = "FAILED_RUN"
    values: dict[str, str] = field(default_factory=dict)

    @property
    def mode(self) -> tuple[str, ...]:
        return ("--no-ci",) if self.published else ("--no-pr",)

    def play(self, *turns: list[dict[str, Any]], **sections: Any) -> None:
        """Configure the player's turns, commit, and bring the target to the remote."""
        self.project.configure(
            {"player": list(turns)},
            reviewers=[{"name": "judge", "command": ["true"]}],
            exerciser={"command": ["true"]},
            tests={"command": ["grep", "-q", "VALUE = 3", "value.py"], "baseline": False},
            **sections,
        )
        self.project.git("push", "--quiet", "upstream", "HEAD:main")

    def ends(self, status: Status, *argv: str, env: Any = None, **values: str) -> Any:
        """Run; the block must be this status with these values, the rest `none`, and the body must tell the same."""
        ran = self.project.touchline("run", "--headless", *self.mode, *argv, env=env, timeout_s=120)
        self.prints(ran, status, **values)
        return ran

    def prints(self, ran: Any, status: Status, **values: str) -> None:
        self.status, self.values = status, values
        assert (ran.status, ran.out) == (EXIT_STATUS[status], block(status, **values)), ran.err
        if values.get("PR_STATE", "none") != "none":
            self.told_at_the_remote(status, values)

    def told_at_the_remote(self, status: str, values: dict[str, str]) -> None:
        (change,) = BareBackdoor(self.remote).changes()
        state = change.body.partition("<!-- touchline:state -->\n")[2].partition("<!-- touchline:state:end -->")[0]
        if status in ("INTERRUPTED", "FAILED_RUN"):
            assert state == "", "a run that will be continued leaves the text as it is"
            return
        assert f"- Status: **{status}**" in state
        assert f"- Last verified commit: `{values['HEAD_SHA']}`\n" in state
        assert f"- Turns used: {values['TURNS_USED']}\n" in state
        assert f"- Verification runs: {values['VERIFY_RUNS']}\n" in state

    def as_json(self, *argv: str, env: dict[str, str] | None = None) -> None:
        """The same as one object: of a run that ended by its ledger, of one that has none by starting it again."""
        for path in Path(os.environ["XDG_STATE_HOME"]).glob("player-coach/*/*/ledger.json"):
            ledger = json.loads(path.read_bytes())
            if ledger["terminal"]:
                ledger["terminal"]["reported"] = False
                path.write_text(json.dumps(ledger))
        ran = self.project.touchline("run", "--headless", "--json", *self.mode, *argv, env=env, timeout_s=120)
        rows = dict(line.split(": ", 1) for line in block(self.status, **self.values).splitlines())
        assert (ran.status, ran.out) == (EXIT_STATUS[self.status], json.dumps(rows) + "\n"), ran.err

    @property
    def head(self) -> str:
        """HEAD of the work tree."""
        found: str = self.project.git("rev-parse", "HEAD")
        return found.strip()

    def tip(self, branch: str = BRANCH) -> str:
        """The head of a branch at the remote."""
        done = subprocess.run(
            ["git", "rev-parse", branch], cwd=self.remote, check=True, timeout=30, capture_output=True
        )
        return done.stdout.decode().strip()

    def refs(self) -> list[str]:
        """Every ref of the remote."""
        argv = ["git", "for-each-ref", "--format=%(refname)"]
        return (
            subprocess.run(argv, cwd=self.remote, check=True, timeout=30, capture_output=True).stdout.decode().split()
        )

    def opened(self, **values: str) -> dict[str, str]:
        """The values of a run whose draft is open at the present head."""
        shown = {
            "PR_URL": f"{self.remote}#change-1",
            "PR_STATE": "draft",
            "BRANCH": f"{BRANCH} -> main",
            "HEAD_SHA": self.tip(),
            "REMOTE_HEAD_SHA": self.tip(),
            "REVIEWER": "judge",
        }
        return shown | values


def block(status: Status, **values: str) -> str:
    """The terminal block, written here by hand from the page."""
    shown = dict.fromkeys(["PR_URL", "PR_STATE", "BRANCH", "HEAD_SHA", "REMOTE_HEAD_SHA"], "none")
    shown |= {"TURNS_USED": "0 of 10", "VERIFY_RUNS": "0", "REVIEWER": "none"} | values
    return (
        f"STATUS: {status}\nPR_URL: {shown['PR_URL']}\nPR_STATE: {shown['PR_STATE']}\nBRANCH: {shown['BRANCH']}\n"
        f"HEAD_SHA: {shown['HEAD_SHA']}\nREMOTE_HEAD_SHA: {shown['REMOTE_HEAD_SHA']}\n"
        f"TURNS_USED: {shown['TURNS_USED']}\nVERIFY_RUNS: {shown['VERIFY_RUNS']}\nREVIEWER: {shown['REVIEWER']}\n"
    )


@dataclass(frozen=True)
class Stopped:
    """What a signalled run left."""

    status: int
    out: str
    err: str


def stopped(scene: Scene, number: signal.Signals, *argv: str, turn: int) -> Stopped:
    """Start a run, wait until its player hangs in that turn, send it the signal."""
    child = started(scene, *argv)
    try:
        until = time.monotonic() + 60
        while not playing(turn) and time.monotonic() < until:
            assert child.poll() is None, child.communicate()
            time.sleep(0.05)
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
    finally:
        end(child)
    return Stopped(child.returncode, out.decode(), err.decode())


def started(scene: Scene, *argv: str) -> subprocess.Popen[bytes]:
    """A run as a process of its own."""
    command = [sys.executable, "-m", "touchline", "run", "--headless", *scene.mode, *argv]
    return subprocess.Popen(
        command, cwd=scene.project.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.kill()
        child.communicate(timeout=30)


def playing(turn: int) -> bool:
    """Whether the player's session of that turn is open."""
    for path in Path(os.environ["XDG_STATE_HOME"]).glob("player-coach/*/*/events.jsonl"):
        for line in path.read_text().splitlines(keepends=True):
            if (
                line.endswith("\n")
                and (event := json.loads(line))["kind"] == "SessionStarted"
                and event["turn"] == turn
            ):
                return True
    return False
