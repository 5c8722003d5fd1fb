"""The executor contract: one suite that every driver passes (spec page 2, "Contract kit and real CLIs").

A plugin author's whole test file:

    class TestMyExecutor(ExecutorContract):
        @pytest.fixture
        def executor(self, model):
            return MyExecutor(ExecutorSettings(command=(find_cli("my-cli"),), env={"BASE_URL": model.url}))

`model` is a `ScriptedModel`; a driver whose CLI speaks another API gives that fixture too, as a `ModelDouble`. What a
driver can do is declared once, on the driver; scenarios for what it does not declare are skipped, and an ability that
shows up undeclared fails. Overriding a scenario without `xfail(reason=...)` fails.
"""

from __future__ import annotations

from touchline.testing.contract.base import requires
from touchline.testing.contract.endings import EndingScenarios
from touchline.testing.contract.faults import FaultScenarios
from touchline.testing.contract.processes import ProcessScenarios

SUITE_VERSION = 1
"""Rises when a released suite becomes stricter."""

__all__ = ["SUITE_VERSION", "ExecutorContract", "requires"]


class ExecutorContract(EndingScenarios, FaultScenarios, ProcessScenarios):
    """All scenarios. Subclass it, give `executor`, run pytest."""

    def test_suite_is_unchanged(self) -> None:
        changed = [name for name in sorted(_scenarios()) if _overridden(type(self), name)]
        assert changed == [], f"overridden without xfail(reason=...): {', '.join(changed)}"


def _scenarios() -> set[str]:
    return {name for name in dir(ExecutorContract) if name.startswith("test_")}


def _overridden(subclass: type, name: str) -> bool:
    own = getattr(subclass, name, None)
    if own is getattr(ExecutorContract, name):
        return False
    marks = getattr(own, "pytestmark", [])
    return not any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
