"""What all scenarios of the forge kit share: isolation, a local repository, skipping by capability (spec page 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from touchline.forge import Change, Draft, Forge, ForgeCapability, ForgeHost, LocalForgeHost, RepositoryId
from touchline.git.repository import Repository
from touchline.testing.contract.base import Isolated
from touchline.testing.forges.backdoor import Ability, Backdoor
from touchline.testing.repositories import git

BRANCH, TARGET = "feature/one", "main"
_NEEDS, _ABILITIES = "touchline_forge_needs", "touchline_forge_abilities"

Test = TypeVar("Test", bound=Callable[..., Any])


def needs(*capabilities: ForgeCapability) -> Callable[[Test], Test]:
    """Skip the scenario for forges that do not declare all of these."""

    def mark(test: Test) -> Test:
        setattr(test, _NEEDS, capabilities)
        return test

    return mark


def host_can(*abilities: Ability) -> Callable[[Test], Test]:
    """Skip the scenario where the backdoor cannot do all of these."""

    def mark(test: Test) -> Test:
        setattr(test, _ABILITIES, abilities)
        return test

    return mark


@dataclass(slots=True)
class Desk:
    """A person's local repository with the host as a remote whose name says nothing."""

    folder: Path

    def commit(self, text: str, *, branch: str = BRANCH, base: str = "") -> str:
        """Make a commit on a branch (from `base`, or where the branch is); its full SHA."""
        if base or not git(self.folder, "branch", "--list", branch):
            git(self.folder, "checkout", "-q", "-B", branch, base or f"upstream/{TARGET}")
        else:
            git(self.folder, "checkout", "-q", branch)
        (self.folder / f"{text}.txt").write_text(f"{text}\n")
        git(self.folder, "add", f"{text}.txt")
        git(self.folder, "commit", "-q", "-m", f"Add {text}")
        return git(self.folder, "rev-parse", "HEAD")

    def refs(self) -> str:
        """Every ref of the local repository."""
        return git(self.folder, "for-each-ref")


class ForgeContractBase(Isolated):
    """Fixtures of the kit. A subclass gives the fixture `backdoor` and the method `make_forge`."""

    @pytest.fixture
    def backdoor(self) -> Backdoor:
        """The host behind the forge. To be given by the subclass."""
        pytest.fail("a contract class gives the fixture `backdoor`")

    def make_forge(self, backdoor: Backdoor, host: ForgeHost, token: str) -> Forge:
        """The forge under test, on that host, with that token ("" for none). To be given by the subclass."""
        pytest.fail("a contract class gives the method `make_forge`")

    @pytest.fixture
    def forge(self, backdoor: Backdoor, desk: Desk) -> Forge:
        """The forge under test."""
        return self.forge_on(backdoor, desk)

    def forge_on(self, backdoor: Backdoor, desk: Desk, *, token: str | None = None) -> Forge:
        """A forge that works on one desk; another desk is another machine."""
        host = LocalForgeHost(Repository.open(desk.folder))
        return self.make_forge(backdoor, host, backdoor.token if token is None else token)

    @pytest.fixture
    def desk(self, backdoor: Backdoor, tmp_path: Path) -> Desk:
        """A clone of the hosted repository."""
        return self.make_desk(backdoor, tmp_path / "desk")

    @pytest.fixture
    def other_desk(self, backdoor: Backdoor, tmp_path: Path) -> Desk:
        """A clone on another machine."""
        return self.make_desk(backdoor, tmp_path / "other-desk")

    def make_desk(self, backdoor: Backdoor, folder: Path) -> Desk:
        """A clone of the hosted repository in `folder`."""
        folder.mkdir()
        git(folder, "init", "-q", "-b", "unused")
        with (folder / ".git" / "config").open("a") as config:
            config.write(
                f'[user]\n\tname = Test\n\temail = test@example.invalid\n[remote "somewhere"]\n\turl = {backdoor.url}\n'
            )
        git(folder, "fetch", "-q", str(backdoor.hosted), f"+refs/heads/{TARGET}:refs/remotes/upstream/{TARGET}")
        git(folder, "checkout", "-q", "-b", TARGET, f"upstream/{TARGET}")
        return Desk(folder)

    @pytest.fixture
    def repo(self, forge: Forge, backdoor: Backdoor) -> RepositoryId:
        """The hosted repository by its identity."""
        repo = forge.identify(backdoor.url)
        assert repo is not None, f"{forge.name} does not identify {backdoor.url}"
        return repo

    @pytest.fixture
    def head(self, forge: Forge, desk: Desk, repo: RepositoryId) -> str:
        """A commit that was pushed to the source branch."""
        sha = desk.commit("one")
        forge.push(repo, sha, BRANCH)
        return sha

    @pytest.fixture
    def draft(self, repo: RepositoryId, head: str) -> Draft:
        """A draft to be opened for the pushed commit."""
        return Draft(repo, BRANCH, TARGET, "Add one", "What it does.\n", head)

    @pytest.fixture
    def change(self, forge: Forge, draft: Draft) -> Change:
        """The opened draft."""
        return forge.create_draft(draft)

    @pytest.fixture(autouse=True)
    def _declared(self, request: pytest.FixtureRequest, home: Path) -> None:
        # After `home`, which empties the environment that the fixtures of a subclass may add to.
        needed: tuple[ForgeCapability, ...] = getattr(request.function, _NEEDS, ())
        wanted: tuple[Ability, ...] = getattr(request.function, _ABILITIES, ())
        if needed:
            forge: Forge = request.getfixturevalue("forge")
            missing = [capability.value for capability in needed if capability not in forge.capabilities]
            if missing:
                pytest.skip(f"{forge.name} does not declare {', '.join(missing)}")
        if wanted:
            backdoor: Backdoor = request.getfixturevalue("backdoor")
            cannot = [ability for ability in wanted if ability not in backdoor.abilities]
            if cannot:
                pytest.skip(f"the host of this test cannot {', '.join(cannot)}")


def foreign_commit(backdoor: Backdoor, branch: str = BRANCH) -> str:
    """Somebody else's commit on top of a branch at the host, pushed to it; its SHA."""
    tip = git(backdoor.hosted, "rev-parse", f"refs/heads/{branch}")
    sha = loose_commit(backdoor, tip)
    git(backdoor.hosted, "update-ref", f"refs/heads/{branch}", sha)
    return sha


def loose_commit(backdoor: Backdoor, parent: str) -> str:
    """Somebody else's commit at the host that no branch has yet; its SHA."""
    return git(backdoor.hosted, "commit-tree", "-p", parent, "-m", "By someone else", f"{parent}^{{tree}}")


def tip(backdoor: Backdoor, branch: str = BRANCH) -> str:
    """The tip of a branch at the host, "" where there is none."""
    return git(backdoor.hosted, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
