"""Scenarios: what a forge declares, which repository a URL names, what preflight says (spec page 6)."""

from __future__ import annotations

import time

import pytest

from touchline.errors import ForgeCapabilityError, ForgeError, ForgeNotFoundError
from touchline.executor import API_VERSION
from touchline.forge import Forge, ForgeCapability, ReportsChecks, RepositoryId
from touchline.testing.forges.backdoor import Backdoor
from touchline.testing.forges.base import TARGET, Desk, ForgeContractBase, foreign_commit, host_can, needs, tip
from touchline.testing.repositories import git


class BasicScenarios(ForgeContractBase):
    """Declarations, identity, preflight, branches."""

    def test_forge_declares_itself(self, forge: Forge) -> None:
        assert isinstance(forge, Forge)
        assert forge.name
        assert forge.api_version == API_VERSION
        assert forge.capabilities <= frozenset(ForgeCapability)
        assert forge.capabilities <= type(forge).capabilities, "an object can do nothing that its class does not name"

    def test_capability_to_report_checks_and_its_method_go_together(self, forge: Forge) -> None:
        assert (ForgeCapability.REPORT_CHECK not in forge.capabilities) or isinstance(forge, ReportsChecks)

    def test_hosted_repository_is_identified_whatever_the_end_of_its_url(
        self, forge: Forge, backdoor: Backdoor
    ) -> None:
        plain = backdoor.url.removesuffix("/").removesuffix(".git")
        ids = {forge.identify(plain + end) for end in ("", "/", ".git", ".git/")}
        assert len(ids) == 1
        assert None not in ids

    def test_what_is_no_url_of_a_repository_is_not_identified(self, forge: Forge) -> None:
        for text in ("", " ", "https://", "https://no-path.invalid", "https://host.invalid/"):
            assert forge.identify(text) is None, text

    def test_identify_contacts_nobody(self, forge: Forge) -> None:
        began = time.monotonic()
        for host in ("192.0.2.1", "no-such-host.invalid"):
            forge.identify(f"https://{host}/group/name.git")
            forge.identify(f"ssh://git@{host}:2222/group/name.git")
        assert time.monotonic() - began < 4

    def test_preflight_of_everything_declared_passes_and_changes_nothing(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId
    ) -> None:
        before = git(backdoor.hosted, "for-each-ref"), desk.refs()
        forge.preflight(forge.capabilities, repo=repo)
        assert (git(backdoor.hosted, "for-each-ref"), desk.refs()) == before

    def test_missing_capability_is_named_at_preflight(self, forge: Forge, repo: RepositoryId) -> None:
        for capability in frozenset(ForgeCapability) - forge.capabilities:
            with pytest.raises(ForgeCapabilityError, match=capability.value) as caught:
                forge.preflight([capability, *forge.capabilities], repo=repo)
            assert caught.value.operation == "preflight"
            assert caught.value.provider == forge.name

    def test_preflight_for_a_repository_without_a_remote_is_refused(self, forge: Forge, repo: RepositoryId) -> None:
        other = RepositoryId(repo.host, repo.path + "-other")
        with pytest.raises(ForgeError) as caught:
            forge.preflight([ForgeCapability.PUSH], repo=other)
        assert caught.value.operation == "preflight"

    def test_two_remotes_of_one_repository_are_ambiguous_unless_equal(
        self, backdoor: Backdoor, desk: Desk, repo: RepositoryId
    ) -> None:
        git(desk.folder, "remote", "add", "same", backdoor.url)
        self.forge_on(backdoor, desk).preflight([ForgeCapability.PUSH], repo=repo)
        git(desk.folder, "remote", "add", "spelled", backdoor.url.removesuffix(".git") + "/")
        with pytest.raises(ForgeError, match="somewhere") as caught:
            self.forge_on(backdoor, desk).preflight([ForgeCapability.PUSH], repo=repo)
        assert caught.value.operation == "preflight"

    def test_base_of_a_repository_that_is_no_fork_is_itself(self, forge: Forge, repo: RepositoryId) -> None:
        assert forge.base_repository(repo) == repo

    @needs(ForgeCapability.DEFAULT_TARGET)
    def test_default_target_follows_a_renamed_default_branch(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId
    ) -> None:
        assert forge.default_target(repo) == TARGET
        backdoor.set_default("trunk")
        assert forge.default_target(repo) == "trunk"

    @needs(ForgeCapability.FETCH)
    def test_tip_of_a_branch_is_brought_here_and_no_local_ref_moves(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId
    ) -> None:
        sha = foreign_commit(backdoor, TARGET)
        before = desk.refs()
        assert forge.fetch_branch(repo, TARGET) == sha
        assert git(desk.folder, "cat-file", "-t", sha) == "commit"
        assert desk.refs() == before

    @needs(ForgeCapability.FETCH)
    def test_branch_that_is_not_there_is_not_found(self, forge: Forge, repo: RepositoryId) -> None:
        with pytest.raises(ForgeNotFoundError, match="no-such-branch"):
            forge.fetch_branch(repo, "no-such-branch")

    @needs(ForgeCapability.PUSH)
    @host_can("lose-answers")
    def test_lost_answer_of_a_push_is_made_good_by_looking(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId
    ) -> None:
        sha = desk.commit("one")
        backdoor.lose_next_answer()
        assert forge.push(repo, sha, "feature/one").moved
        assert tip(backdoor) == sha
