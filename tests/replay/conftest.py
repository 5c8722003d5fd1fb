"""Golden trajectories as they were recorded (`make_golden.py` makes them), and the command line in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from touchline.cli import main
from touchline.coach.recorded import read_recorded
from touchline.coach.replay import Recorded
from touchline.state import RunFolder

GOLDEN = Path(__file__).with_name("golden")


@dataclass(frozen=True)
class Said:
    """What one call printed and returned."""

    status: int
    out: str
    err: str


@pytest.fixture
def touchline(capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def call(*argv: str) -> Said:
        capfd.readouterr()
        status = main(argv)
        said = capfd.readouterr()
        return Said(status, said.out, said.err)

    return call


@pytest.fixture
def golden() -> Callable[[str], Recorded]:
    """A golden trajectory by its name."""
    return lambda name: read_recorded(RunFolder(GOLDEN / name))


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a golden trajectory that a test may change."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(GOLDEN / name, tmp_path / "copied" / name))

    return copy
