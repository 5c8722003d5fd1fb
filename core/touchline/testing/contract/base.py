"""What all scenarios share: isolation, the bench, and skipping by capability (spec page 2).

The environment of a test holds nothing of the user's: a HOME of its own, no tokens, no touchline variables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest

from touchline.executor import Capability, Executor
from touchline.testing.bench import Bench
from touchline.testing.clis import FOLDER_VARIABLE
from touchline.testing.double import ModelDouble
from touchline.testing.model import ScriptedModel
from touchline.testing.repositories import make_repository

KEPT = {"PATH", "LANG", "LC_ALL", "TMPDIR", "CI", FOLDER_VARIABLE, "VIRTUAL_ENV", "PYTHONPATH"}
_NEEDS = "touchline_needs"

Test = TypeVar("Test", bound=Callable[..., Any])


def requires(*capabilities: Capability) -> Callable[[Test], Test]:
    """Skip the scenario for drivers that do not declare all of these."""

    def mark(test: Test) -> Test:
        setattr(test, _NEEDS, capabilities)
        return test

    return mark


class Isolated:
    """An environment with nothing of the user's in it."""

    user_files: ClassVar[Mapping[str, str]] = {}
    """The CLI's own configuration as a user might have it: path below HOME to content. It must stay as it is."""

    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A HOME with nothing in it but `user_files`, and an environment without anything of the user's."""
        for name in list(os.environ):
            if name not in KEPT and not name.startswith(("PYTEST_", "COVERAGE_")):
                monkeypatch.delenv(name)
        home = tmp_path / "home"
        for name, content in self.user_files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        home.mkdir(exist_ok=True)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        return home


class ContractBase(Isolated):
    """Fixtures of the kit. A subclass gives `executor`; a driver without a model API gives `model` too."""

    startup_s: ClassVar[float] = 0.0
    """Seconds that the CLI takes to come up before its first model call, where that is more than a moment."""

    @pytest.fixture
    def executor(self, model: ModelDouble) -> Executor:
        """The driver under test, speaking to `model`. To be given by the subclass."""
        pytest.fail("a contract class gives the fixture `executor`")

    @pytest.fixture
    def model(self, tmp_path: Path) -> Iterator[ModelDouble]:
        """The model behind the driver."""
        with ScriptedModel() as server:
            yield server

    @pytest.fixture
    def scratch(self, tmp_path: Path) -> Path:
        """The run's private folder."""
        folder = tmp_path / "private"
        folder.mkdir(mode=0o700)
        return folder

    @pytest.fixture
    def bench(self, executor: Executor, model: ModelDouble, scratch: Path, tmp_path: Path) -> Bench:
        """The driver on a repository with one commit."""
        return Bench(executor, model, make_repository(tmp_path / "repo"), scratch)

    @pytest.fixture(autouse=True)
    def _declared(self, request: pytest.FixtureRequest) -> None:
        needed: tuple[Capability, ...] = getattr(request.function, _NEEDS, ())
        if not needed:
            return
        executor: Executor = request.getfixturevalue("executor")
        missing = [capability.value for capability in needed if capability not in executor.capabilities]
        if missing:
            pytest.skip(f"{executor.name} does not declare {', '.join(missing)}")
