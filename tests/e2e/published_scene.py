"""A published two-turn run against a smart-http host that can fail or be changed at any request; not a test by itself.

`Scene.truthful` holds what is true of every run, however it was disturbed: the block alone on stdout and every fact
of it observed, nothing forced or deleted at the host, one draft at most, the local work kept, no credential anywhere.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from touchline.testing.forges import BareBackdoor, make_hosted
from touchline.testing.forges.faults import FaultyServer

TOKEN = "tok-9c41e7-in-the-remotes-url"
BRANCH = "touchline/set-the-value"
EXITS = {"APPROVED_DRAFT_OPEN": 0, "APPROVED_READY_OPEN": 0, "FAILED_RUN": 1, "TURN_LIMIT_VERIFY": 3}
EXITS |= {"FAILED_PUBLISH": 5, "INTERRUPTED": 130}
TIMEOUT_S = 4


@dataclass
class Scene:
    """A project, its host and the way to look at both."""

    project: Any
    server: FaultyServer
    bare: Path
    door: BareBackdoor

    def run(self, *argv: str) -> Any:
        ran = self.project.touchline("run", "--headless", "--no-ci", *argv, timeout_s=120)
        self.truthful(ran)
        return ran

    @property
    def ledgers(self) -> list[dict[str, Any]]:
        """The ledgers of published runs."""
        places = Path(os.environ["XDG_STATE_HOME"]).glob("player-coach/*/*/ledger.json")
        return [json.loads(place.read_bytes()) for place in places]

    def records(self) -> list[dict[str, Any]]:
        """The change requests as the host holds them."""
        refs = at(self.bare, "for-each-ref", "--format=%(refname)", "refs/touchline/changes/").split()
        return [json.loads(at(self.bare, "show", f"{ref}:change.json")) for ref in refs]

    def history(self, ref: str) -> list[str]:
        """Every value that a ref of the host ever had, the oldest first."""
        done = subprocess.run(
            ["git", "reflog", "show", "--format=%H", ref], cwd=self.bare, capture_output=True, timeout=30
        )
        return done.stdout.decode().split()[::-1]

    def truthful(self, ran: Any, *, deleted: bool = False) -> None:
        """What holds after every run, whatever was done to it."""
        block = ran.block
        assert EXITS[block["STATUS"]] == ran.status, ran.err
        head = self.project.git("rev-parse", "HEAD").strip()
        assert self.project.git("status", "--porcelain") == "", ran.err
        changes = self.records()
        assert len(changes) <= 1
        assert all(self.door.comments(number + 1) == [] for number in range(len(changes)))
        for ref in at(self.bare, "for-each-ref", "--format=%(refname)").split():
            past = self.history(ref)
            for old, new in pairwise(past):
                assert at(self.bare, "merge-base", old, new).strip() == old, f"{ref} was forced"
        if block["PR_URL"] != "none":
            assert len(changes) == 1
            assert block["PR_URL"].endswith("/widget.git#change-1")
        assert block["BRANCH"] in ("none", f"{BRANCH} -> main")
        if block["STATUS"].startswith("APPROVED"):
            assert block["HEAD_SHA"] == block["REMOTE_HEAD_SHA"] == head
            assert changes[0]["body"].count(f"**{block['STATUS']}**") == 1
        for ledger in self.ledgers:
            if ledger["terminal"] and ledger["run"]["publishFailure"]:
                assert ledger["terminal"]["reason"] == ledger["run"]["publishFailure"], "the first cause is kept"
        self.secretless(ran)

    def secretless(self, ran: Any) -> None:
        """The credential stands in nothing that was said, kept or published."""
        assert TOKEN not in ran.out + ran.err
        for place in Path(os.environ["XDG_STATE_HOME"]).rglob("*"):
            if place.is_file():
                assert TOKEN.encode() not in place.read_bytes(), place
        for record in self.records():
            assert TOKEN not in json.dumps(record)


def at(bare: Path, *argv: str) -> str:
    done = subprocess.run(["git", *argv], cwd=bare, check=True, timeout=30, capture_output=True)
    return os.fsdecode(done.stdout)


@contextmanager
def opened(
    project: Any, folder: Path, player: list[Any], *, timeout_s: float = TIMEOUT_S, **sections: Any
) -> Iterator[Scene]:
    """A project with that script of its player, and its host, running; `timeout_s` bounds each call of git's."""
    bare = make_hosted(folder / "srv" / "widget.git")
    with FaultyServer(folder / "srv", bare, token=TOKEN) as server:
        host = server.url.removeprefix("http://")
        project.configure(
            {"player": player},
            reviewers=[{"name": "judge", "command": ["true"]}],
            exerciser={"command": ["true"]},
            tests={"command": ["grep", "-q", "VALUE = 3", "value.py"], "baseline": False},
            forge={host: {"read_timeout_s": timeout_s, "write_timeout_s": timeout_s}},
            **sections,
        )
        project.git("push", "--quiet", "--force", str(bare), "main")
        project.git("remote", "add", "upstream", f"http://me:{TOKEN}@{host}/widget.git")
        at(bare, "config", "core.logAllRefUpdates", "always")
        yield Scene(project, server, bare, BareBackdoor(bare))
