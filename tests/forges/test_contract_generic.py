"""The generic forge passes the forge contract over every transport."""

from __future__ import annotations

import pytest

from touchline.forge import Forge, ForgeHost, ForgeSettings, Secret
from touchline.testing import ForgeContract
from touchline.testing.forges import Backdoor, BareBackdoor
from touchline_forges.generic import GenericForge


class TestGenericOverFile(ForgeContract):
    @pytest.fixture
    def backdoor(self, file_host: BareBackdoor) -> Backdoor:
        return file_host

    def make_forge(self, backdoor: Backdoor, host: ForgeHost, token: str) -> Forge:
        return GenericForge(ForgeSettings(token=Secret(token)), host)


@pytest.mark.slow
class TestGenericOverSsh(ForgeContract):
    @pytest.fixture
    def backdoor(self, ssh_host: BareBackdoor) -> Backdoor:
        return ssh_host

    def make_forge(self, backdoor: Backdoor, host: ForgeHost, token: str) -> Forge:
        return GenericForge(ForgeSettings(), host)


class TestGenericOverHttp(ForgeContract):
    @pytest.fixture
    def backdoor(self, http_host: BareBackdoor) -> Backdoor:
        return http_host

    def make_forge(self, backdoor: Backdoor, host: ForgeHost, token: str) -> Forge:
        return GenericForge(ForgeSettings(token=Secret(token)), host)
