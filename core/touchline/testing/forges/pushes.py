"""Scenarios: a push moves one branch forward or nothing at all (spec page 6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.errors import ForgeConflict, ForgeError
from touchline.forge import Forge, ForgeCapability, RepositoryId
from touchline.testing.forges.backdoor import Backdoor
from touchline.testing.forges.base import BRANCH, Desk, ForgeContractBase, foreign_commit, needs, tip
from touchline.testing.repositories import git


class PushScenarios(ForgeContractBase):
    """Exact, never by force, observed afterwards."""

    @needs(ForgeCapability.PUSH)
    def test_push_moves_one_branch_and_nothing_else(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId
    ) -> None:
        sha = desk.commit("one")
        desk.commit("two", branch="other")
        git(desk.folder, "tag", "-a", "-m", "v1", "v1", sha)
        git(desk.folder, "config", "push.followTags", "true")
        before = set(git(backdoor.hosted, "for-each-ref").splitlines())
        assert forge.push(repo, sha, BRANCH).moved
        after = set(git(backdoor.hosted, "for-each-ref").splitlines())
        assert after - before == {f"{sha} commit\trefs/heads/{BRANCH}"}
        assert before <= after

    @needs(ForgeCapability.PUSH)
    def test_push_of_what_is_there_already_moves_nothing(self, forge: Forge, repo: RepositoryId, head: str) -> None:
        pushed = forge.push(repo, head, BRANCH)
        assert (pushed.sha, pushed.moved) == (head, False)

    @needs(ForgeCapability.PUSH)
    def test_push_goes_forward(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, head: str
    ) -> None:
        second = desk.commit("two")
        assert forge.push(repo, second, BRANCH, expected=head).sha == second
        assert tip(backdoor) == second

    @needs(ForgeCapability.PUSH)
    def test_commit_of_somebody_else_is_never_overwritten(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, head: str
    ) -> None:
        theirs = foreign_commit(backdoor)
        for expected in (None, head):
            with pytest.raises(ForgeConflict) as caught:
                forge.push(repo, desk.commit(f"mine-{expected}"), BRANCH, expected=expected)
            assert tip(backdoor) == theirs
            assert caught.value.observed.head_sha == theirs
            assert caught.value.operation == "push"

    @needs(ForgeCapability.PUSH)
    def test_rewritten_history_is_not_pushed(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, head: str
    ) -> None:
        git(desk.folder, "config", f"branch.{BRANCH}.pushForce", "true")
        git(desk.folder, "config", "remote.somewhere.push", f"+refs/heads/{BRANCH}")
        git(desk.folder, "commit", "-q", "--amend", "-m", "Rewritten")
        with pytest.raises(ForgeConflict):
            forge.push(repo, git(desk.folder, "rev-parse", "HEAD"), BRANCH)
        assert tip(backdoor) == head

    @needs(ForgeCapability.PUSH)
    def test_branch_that_must_not_exist_yet_and_does_is_left_alone(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, head: str
    ) -> None:
        with pytest.raises(ForgeConflict):
            forge.push(repo, desk.commit("two"), BRANCH, expected="")
        assert tip(backdoor) == head

    @needs(ForgeCapability.PUSH)
    def test_branch_that_was_deleted_meanwhile_is_not_made_again(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, head: str
    ) -> None:
        git(backdoor.hosted, "update-ref", "-d", f"refs/heads/{BRANCH}")
        with pytest.raises(ForgeConflict):
            forge.push(repo, desk.commit("two"), BRANCH, expected=head)
        assert tip(backdoor) == ""

    @needs(ForgeCapability.PUSH)
    def test_settings_that_are_written_after_the_preflight_redirect_no_push(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, tmp_path: Path
    ) -> None:
        forge.preflight([ForgeCapability.PUSH], repo=repo)
        git(desk.folder, "config", f"url.{tmp_path}/nowhere.insteadOf", backdoor.url)
        git(desk.folder, "config", f"remote.{backdoor.url}.url", f"{tmp_path}/nowhere")
        git(desk.folder, "config", "remote.somewhere.pushurl", f"{tmp_path}/nowhere")
        sha = desk.commit("one")
        assert forge.push(repo, sha, BRANCH).sha == sha == tip(backdoor)

    @needs(ForgeCapability.PUSH)
    def test_only_an_exact_commit_is_pushed(self, forge: Forge, backdoor: Backdoor, repo: RepositoryId) -> None:
        for sha in ("HEAD", "main", "0123abc", "--force", ""):
            with pytest.raises(ForgeError):
                forge.push(repo, sha, BRANCH)
        assert tip(backdoor) == ""
