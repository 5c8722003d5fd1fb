"""The executor contract: one suite that every driver passes (spec page 2, "Contract kit and real CLIs").

A plugin author's whole test file:

    class TestMyExecutor(ExecutorContract):
        @pytest.fixture
        def executor(self, model):
            return MyExecutor(ExecutorSettings(command=(find_cli("my-cli"),), env={"BASE_URL": model.url}))

`model` is a `ScriptedModel`; a driver whose CLI speaks another API gives that fixture too, as a `ModelDouble`. What a
driver can do is declared once, on the driver; scenarios for what it does not declare are skipped, and an ability that
shows up undeclared fails. Overriding a scenario without `xfail(reason=...)` fails.

`RecordedExecutorContract` needs no CLI: the author gives what the CLI prints, and the kit makes it hang, break off,
come late or arrive in pieces.
"""

from __future__ import annotations

from touchline.testing.contract.base import requires
from touchline.testing.contract.endings import EndingScenarios
from touchline.testing.contract.faults import FaultScenarios
from touchline.testing.contract.processes import ProcessScenarios
from touchline.testing.contract.recorded import RecordedScenarios

SUITE_VERSION = 1
"""Rises when a released suite becomes stricter."""

__all__ = ["SUITE_VERSION", "ExecutorContract", "RecordedExecutorContract", "requires"]


class ExecutorContract(EndingScenarios, FaultScenarios, ProcessScenarios):
    """All scenarios with a model behind the driver. Subclass it, give `executor`, run pytest."""

    def test_suite_is_unchanged(self) -> None:
        changed = overridden(type(self), ExecutorContract)
        assert changed == [], f"overridden without xfail(reason=...): {', '.join(changed)}"


class RecordedExecutorContract(RecordedScenarios):
    """All scenarios on given streams. Subclass it, give `driver` and `stream`, run pytest."""

    def test_suite_is_unchanged(self) -> None:
        changed = overridden(type(self), RecordedExecutorContract)
        assert changed == [], f"overridden without xfail(reason=...): {', '.join(changed)}"


def overridden(subclass: type, suite: type) -> list[str]:
    """The scenarios of `suite` that a subclass changed or deleted without saying why."""
    names = sorted(name for name in dir(suite) if name.startswith("test_"))
    return [name for name in names if not _kept(getattr(subclass, name, None), getattr(suite, name))]


def _kept(own: object, original: object) -> bool:
    if own is original:
        return True
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in getattr(own, "pytestmark", []))
