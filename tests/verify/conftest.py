"""A branch to verify, and a wish to stop. What the tests of the pipeline share is a plain module beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pipeline_kit import git

from touchline.process.cancel import Cancellation


@pytest.fixture
def change(repo: Path) -> Path:
    """A branch with one commit on top of main that adds calc.py and changes the readme."""
    git(repo, "switch", "-q", "-c", "topic")
    (repo / "calc.py").write_text("def divide(a, b):\n    return a / b\n")
    (repo / "README.md").write_text("# example\n\nIt divides.\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Divide")
    return repo


@pytest.fixture
def cancel() -> Iterator[Cancellation]:
    cancellation = Cancellation()
    yield cancellation
    cancellation.close()
