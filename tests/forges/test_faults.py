"""A host that fails at each write in each way: what is told is what happened, and doing it again is done once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from touchline.errors import ForgeAuthError, ForgeError, ForgeForbiddenError, ForgeUnavailable
from touchline.forge import Change, Draft, ForgeSettings, LocalForgeHost, RepositoryId
from touchline.git.repository import Repository
from touchline.testing.forges import BareBackdoor, make_hosted
from touchline.testing.forges.faults import FAULTS, Fault, FaultyServer
from touchline.testing.repositories import git
from touchline_forges.generic import GenericForge

TOKEN = "tok-4d17c0-of-the-url"
TOLD: dict[Fault, type[ForgeError] | None] = {
    "refused": ForgeUnavailable,
    "hang": ForgeUnavailable,
    "reset": ForgeUnavailable,
    "lost": None,
    "halfway": None,
    "401": ForgeAuthError,
    "403": ForgeForbiddenError,
    "503": ForgeUnavailable,
    "declined": ForgeForbiddenError,
    "full": ForgeUnavailable,
}
"""What a write that meets the fault raises; None where it took place, which is looked up."""


class Patient(LocalForgeHost):
    """Waits no time between two tries."""

    def sleep(self, seconds: float) -> None:
        """Nothing."""


@dataclass
class Scene:
    repo: Path
    server: FaultyServer
    door: BareBackdoor
    forge: GenericForge
    base: RepositoryId

    def commit(self, name: str) -> str:
        git(self.repo, "commit", "-q", "--allow-empty", "-m", name)
        return git(self.repo, "rev-parse", "HEAD")

    def change(self) -> Change:
        sha = self.commit("one")
        self.forge.push(self.base, sha, "topic")
        return self.forge.create_draft(Draft(self.base, "topic", "main", "Add one", "Text.\n", sha))

    def strike(self, kind: Fault) -> None:
        """Fail at the next push; a read, of three requests with its credential, goes before it."""
        before_push = self.server.count + 3
        self.server.fail(kind, before_push + (3 if kind in ("lost", "halfway") else 1))

    def tip(self) -> str:
        return git(self.door.hosted, "for-each-ref", "--format=%(objectname)", "refs/heads/topic")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    hosted = make_hosted(tmp_path / "srv" / "widget.git")
    git(tmp_path, "clone", "-q", str(hosted), str(tmp_path / "desk"))
    with FaultyServer(tmp_path / "srv", hosted, token=TOKEN) as server:
        address = f"{server.url}/widget.git"
        repo = tmp_path / "desk"
        git(repo, "remote", "set-url", "origin", address.replace("http://", f"http://me:{TOKEN}@"))
        forge = GenericForge(ForgeSettings(read_timeout_s=3, write_timeout_s=3), Patient(Repository.open(repo)))
        base = forge.identify(address)
        assert base is not None
        yield Scene(repo, server, BareBackdoor(hosted), forge, base)


def struck(scene: Scene, kind: Fault, write: Callable[[], Any]) -> bool:
    """Whether the write told that it took place; what it raised instead is of the right kind and tells no secret."""
    scene.strike(kind)
    wanted = TOLD[kind]
    if wanted is None:
        write()
        return True
    with pytest.raises(wanted) as caught:
        write()
    assert caught.value.fix
    assert TOKEN not in f"{caught.value}{caught.value.__dict__}"
    return False


@pytest.mark.parametrize("kind", FAULTS)
def test_push_that_meets_a_fault_is_told_as_it_went_and_can_be_made_again(scene: Scene, kind: Fault) -> None:
    scene.forge.push(scene.base, scene.commit("one"), "topic")
    before, sha = scene.tip(), scene.commit("two")
    went = struck(scene, kind, lambda: scene.forge.push(scene.base, sha, "topic", expected=before))
    assert scene.tip() == (sha if went else before)
    scene.server.heal()
    assert scene.forge.push(scene.base, sha, "topic", expected=scene.tip()).sha == sha == scene.tip()


@pytest.mark.parametrize("kind", [kind for kind in FAULTS if kind != "hang"])
def test_text_whose_writing_meets_a_fault_is_there_or_not_as_told(scene: Scene, kind: Fault) -> None:
    change = scene.change()
    went = struck(scene, kind, lambda: scene.forge.update(change, body="New.\n"))
    assert scene.door.changes()[0].body == ("New.\n" if went else "Text.\n")
    scene.server.heal()
    assert scene.forge.update(change, body="New.\n").body == "New.\n"
    (seen,) = scene.door.changes()
    assert (seen.state, seen.body) == ("draft", "New.\n")


@pytest.mark.parametrize("kind", ["lost", "halfway", "declined"])
def test_draft_and_comment_that_meet_a_fault_are_there_once_in_the_end(scene: Scene, kind: Fault) -> None:
    sha = scene.commit("one")
    scene.forge.push(scene.base, sha, "topic")
    draft = Draft(scene.base, "topic", "main", "Add one", "Text.\n", sha)
    went = struck(scene, kind, lambda: scene.forge.create_draft(draft))
    assert len(scene.door.changes()) == went
    scene.server.heal()
    change = scene.forge.create_draft(draft)
    went = struck(scene, kind, lambda: scene.forge.comment(change, "Done.", key="a"))
    assert scene.door.comments(1) == ["Done."] * went
    scene.server.heal()
    scene.forge.comment(change, "Done.", key="a")
    assert (len(scene.door.changes()), scene.door.comments(1)) == (1, ["Done."])
