"""What others do between two remote calls of a published run is noticed, told, and never overwritten or lost.

With TOUCHLINE_KILLS=all each action comes before every request of a two-turn run from the first push on, so that some
fall into the midst of a push; without it a few requests of a run of one turn.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from touchline.testing.repositories import git

EVERYTHING = os.environ.get("TOUCHLINE_KILLS") == "all"
CHUNKS = 4
BRANCH = "touchline/set-the-value"
WORDS = "Please keep these words of a person."


class Foreigner:
    """Somebody else with a hand in the hosted repository; acts once, right before one request is answered."""

    def __init__(self, scene: Any, action: str, at: int) -> None:
        self.scene, self.action, self.at = scene, action, at
        self.did = False
        self.sha = ""
        git(scene.bare, "branch", "other", "main")
        scene.server.before = self.act

    def act(self, number: int) -> None:
        if number == self.at:
            there = git(self.scene.bare, "branch", "--list", BRANCH) != ""
            opened = bool(self.scene.door.changes())
            if opened if self.action in ("close", "retarget", "edit", "ready") else there:
                self.did = True
                ACTIONS[self.action](self)

    def commit(self, *parents: str) -> str:
        tree = git(self.scene.bare, "rev-parse", f"{parents[-1]}^{{tree}}")
        options = [part for parent in parents for part in ("-p", parent)]
        return git(self.scene.bare, "commit-tree", *options, "-m", "By somebody else", tree)

    def push(self) -> None:
        self.sha = self.commit(BRANCH)
        git(self.scene.bare, "update-ref", f"refs/heads/{BRANCH}", self.sha)

    def merge(self) -> None:
        git(self.scene.bare, "update-ref", "refs/heads/main", self.commit("main", BRANCH))

    def delete(self) -> None:
        git(self.scene.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")

    def edit(self) -> None:
        self.scene.door.edit(1, body=f"{WORDS}\n\n{self.scene.door.changes()[0].body}")


ACTIONS: dict[str, Callable[[Foreigner], None]] = {
    "push": Foreigner.push,
    "merge": Foreigner.merge,
    "delete": Foreigner.delete,
    "edit": Foreigner.edit,
    "close": lambda one: one.scene.door.set_state(1, "closed"),
    "ready": lambda one: one.scene.door.set_state(1, "ready"),
    "retarget": lambda one: one.scene.door.edit(1, target="other"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "at"),
    [("push", 47), ("close", 43), ("retarget", 33), ("edit", 45), ("delete", 29)],
)
@pytest.mark.skipif(EVERYTHING, reason="every request is met below")
def test_what_somebody_else_does_is_noticed(make_scene: Any, attempt_of: Any, action: str, at: int) -> None:
    with make_scene("scene", [attempt_of(3)]) as scene:
        assert meet(scene, action, at), "the change is there"


@pytest.mark.slow
@pytest.mark.skipif(not EVERYTHING, reason="TOUCHLINE_KILLS=all meets every request with every action")
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("action", ACTIONS)
def test_whatever_somebody_else_does_whenever_is_noticed(
    make_scene: Any, attempt_of: Any, action: str, chunk: int
) -> None:
    with make_scene("undisturbed", [attempt_of(1), attempt_of(3)]) as scene:
        assert scene.run().block["STATUS"] == "APPROVED_DRAFT_OPEN"
        requests = scene.server.requests
    first = requests.index("POST /widget.git/git-receive-pack") + 1
    met = [
        meet(scene, action, at)
        for at in range(first + 1 + chunk, len(requests) + 1, CHUNKS)
        for scene in opened(make_scene, attempt_of, f"{action}-{at}")
    ]
    assert any(met)


def opened(make_scene: Any, attempt_of: Any, name: str) -> Any:
    with make_scene(name, [attempt_of(1), attempt_of(3)]) as scene:
        yield scene


def meet(scene: Any, action: str, at: int) -> bool:
    """One run with one action of somebody else before request `at`; gives whether there was anything to act on."""
    other = Foreigner(scene, action, at)
    ran = scene.run()
    where = f"{action} before request {at}: {ran.err[-3000:]}"
    block, changes = ran.block, scene.door.changes()
    tip = git(scene.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/{BRANCH}")
    if not other.did:
        assert block["STATUS"] == "APPROVED_DRAFT_OPEN", where
        return False
    noticed = {
        "push": (tip == other.sha, block["REMOTE_HEAD_SHA"] == other.sha),
        "delete": (tip == "", block["REMOTE_HEAD_SHA"] == "none"),
        "close": (changes[0].state == "closed" if changes else False, block["PR_STATE"] == "closed"),
        "merge": (True, block["PR_STATE"] in ("merged", "none")),
        "retarget": (changes[0].target == "other" if changes else False, "goes to other now" in ran.err),
        "edit": (changes[0].body.startswith(WORDS) if changes else False, True),
        "ready": (changes[0].state == "ready" if changes else False, True),
    }
    assert noticed[action] == (True, True), where
    if action == "edit":
        assert block["STATUS"] == "APPROVED_DRAFT_OPEN", where
    elif action == "ready":
        assert block["STATUS"] in ("APPROVED_READY_OPEN", "FAILED_PUBLISH"), where
        assert block["PR_STATE"] == "ready", where
    else:
        assert block["STATUS"] == "FAILED_PUBLISH", where
        if action in ("push", "retarget", "delete") and changes:
            body = changes[0].body
            assert "**FAILED_PUBLISH**" in body, where
            assert "**APPROVED" not in body, where
    return True


@pytest.mark.slow
def test_the_next_run_goes_on_with_the_draft_and_names_a_commit_that_no_turn_made(
    make_scene: Any, attempt_of: Any
) -> None:
    with make_scene("scene", [attempt_of(1)]) as scene:
        assert scene.run("--max-turns", "1").block["STATUS"] == "TURN_LIMIT_VERIFY"
        (scene.project.path / "value.py").write_text("VALUE = 3\n")
        scene.project.git("commit", "--quiet", "--all", "--message", "By hand")
        by_hand = scene.project.git("rev-parse", "HEAD").strip()
        script = scene.project.path.parent / "script.json"
        script.write_text('{"version": 1, "player": [[{"finish": {"summary": "nothing is left to do"}}]]}')
        ran = scene.run()
        assert ran.block["STATUS"] == "APPROVED_DRAFT_OPEN", ran.err
        (change,) = scene.door.changes()
        assert by_hand in change.body
        (ledger,) = scene.ledgers
        first = ledger["turns"][0]["headSha"]
        assert ledger["interruptions"] == [f"commit {by_hand} of the branch was made by no turn of touchline"]
        assert first not in "".join(ledger["interruptions"])
        assert git(scene.bare, "rev-parse", BRANCH) == by_hand
