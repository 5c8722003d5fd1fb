"""Scenarios: credentials and refusals; typed, quick, and without a secret in sight (spec page 6, "Network")."""

from __future__ import annotations

import time
import traceback

import pytest

from touchline.errors import ForgeAuthError, ForgeBusy, ForgeError, ForgeForbiddenError, ForgeUnavailable
from touchline.forge import ByNumber, Draft, Forge, ForgeCapability, RepositoryId
from touchline.testing.forges.backdoor import Backdoor
from touchline.testing.forges.base import BRANCH, Desk, ForgeContractBase, host_can, needs

SECONDS = 15.0
WRONG = "wrong-token-4f2a"


class FailureScenarios(ForgeContractBase):
    """What a person is told when the host does not do as asked."""

    @host_can("credentials")
    @pytest.mark.parametrize("token", ["", WRONG], ids=["no credential", "wrong credential"])
    def test_missing_or_refused_credential_ends_in_seconds(
        self, backdoor: Backdoor, desk: Desk, repo: RepositoryId, token: str
    ) -> None:
        stranger = self.forge_on(backdoor, desk, token=token)
        began = time.monotonic()
        with pytest.raises(ForgeAuthError) as caught:
            stranger.preflight([ForgeCapability.PUSH], repo=repo)
        assert time.monotonic() - began < SECONDS
        assert caught.value.fix
        assert (caught.value.operation, caught.value.provider) == ("preflight", stranger.name)
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__dict__)
        assert WRONG not in told

    @host_can("credentials")
    @needs(ForgeCapability.PUSH)
    def test_refused_write_leaves_the_host_alone(self, backdoor: Backdoor, desk: Desk, repo: RepositoryId) -> None:
        stranger = self.forge_on(backdoor, desk, token=WRONG)
        with pytest.raises(ForgeAuthError):
            stranger.push(repo, desk.commit("one"), BRANCH)
        assert backdoor.changes() == []

    @host_can("refuse")
    @needs(ForgeCapability.INSPECT)
    @pytest.mark.parametrize(
        ("status", "error"),
        [(401, ForgeAuthError), (403, ForgeForbiddenError), (429, ForgeBusy), (503, ForgeUnavailable)],
    )
    def test_refusal_has_its_own_type(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, status: int, error: type[ForgeError]
    ) -> None:
        backdoor.refuse(status, times=20)
        with pytest.raises(error):
            forge.inspect(ByNumber(repo, 1))

    @host_can("refuse")
    @needs(ForgeCapability.DEFAULT_TARGET)
    def test_read_is_repeated_after_a_hiccup(self, forge: Forge, backdoor: Backdoor, repo: RepositoryId) -> None:
        backdoor.refuse(502, times=1)
        assert forge.default_target(repo) == "main"

    @host_can("refuse")
    @needs(ForgeCapability.INSPECT, ForgeCapability.CREATE_DRAFT)
    def test_failed_reading_is_never_taken_for_no_change(self, forge: Forge, backdoor: Backdoor, draft: Draft) -> None:
        forge.create_draft(draft)
        backdoor.refuse(503, times=40)
        with pytest.raises(ForgeUnavailable):
            forge.create_draft(draft)
        assert len(backdoor.changes()) == 1
