"""The forge contract: one suite that every forge passes (spec page 6, "Tests").

A plugin author's whole test file:

    class TestMyForge(ForgeContract):
        @pytest.fixture
        def backdoor(self, tmp_path):
            with MyFakeHost(tmp_path) as host:
                yield host

        def make_forge(self, backdoor, host, token):
            return MyForge(ForgeSettings(token=Secret(token), api_url=backdoor.api_url), host)

`backdoor` reaches the host's state without the forge under test (`Backdoor`); what the host of the tests cannot do is
left out of its `abilities`. What a forge can do is declared once, on the forge; scenarios for what it does not declare
are skipped. Overriding a scenario without `xfail(reason=...)` fails.
"""

from __future__ import annotations

from touchline.testing.executors import overridden
from touchline.testing.forges.backdoor import Ability, Backdoor, SeenChange
from touchline.testing.forges.bare import BareBackdoor, make_hosted
from touchline.testing.forges.basics import BasicScenarios
from touchline.testing.forges.changes import ChangeScenarios
from touchline.testing.forges.checks import CheckScenarios
from touchline.testing.forges.comments import CommentScenarios
from touchline.testing.forges.failures import FailureScenarios
from touchline.testing.forges.pushes import PushScenarios
from touchline.testing.forges.races import RaceScenarios
from touchline.testing.forges.servers import GitHttpServer, write_ssh_program

FORGE_SUITE_VERSION = 1
"""Rises when a released suite becomes stricter."""

__all__ = [
    "FORGE_SUITE_VERSION",
    "Ability",
    "Backdoor",
    "BareBackdoor",
    "ForgeContract",
    "GitHttpServer",
    "SeenChange",
    "make_hosted",
    "write_ssh_program",
]


class ForgeContract(
    BasicScenarios, PushScenarios, ChangeScenarios, CommentScenarios, RaceScenarios, CheckScenarios, FailureScenarios
):
    """All scenarios. Subclass it, give `backdoor` and `make_forge`, run pytest."""

    def test_suite_is_unchanged(self) -> None:
        changed = overridden(type(self), ForgeContract)
        assert changed == [], f"overridden without xfail(reason=...): {', '.join(changed)}"
