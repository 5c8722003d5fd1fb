"""The command line as a process and inside the test, and ledgers on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from touchline.cli import main
from touchline.documents.ledger import Ledger, RunOptions, RunState
from touchline.ledger.store import LedgerStore
from touchline.state import run_folder, state_root

SHA = "a" * 40


@dataclass(frozen=True)
class Said:
    """What one call printed and returned."""

    status: int
    out: str
    err: str


@pytest.fixture
def touchline(capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """touchline("config", "get", KEY): the command line inside this process."""

    def call(*argv: str) -> Said:
        capfd.readouterr()
        status = main(argv)
        said = capfd.readouterr()
        return Said(status, said.out, said.err)

    return call


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line as a process of its own, in a folder without a repository."""

    def call(*argv: str, python: tuple[str, ...] = (), cwd: Path = tmp_path, **environ: str) -> Any:
        return subprocess.run(
            [sys.executable, *python, "-m", "touchline", *argv],
            cwd=cwd,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return call


@pytest.fixture
def keep_ledger() -> Callable[..., Ledger]:
    """keep_ledger(project, change, **fields) writes a ledger to the state folder of this test."""

    def keep(project: str, change: str, **fields: Any) -> Ledger:
        state = RunState(
            options=RunOptions(executor="scripted"),
            mode="no-pr",
            start_head=SHA,
            start_tree=SHA,
            plan_digest="0" * 64,
            **fields.pop("run", {}),
        )
        ledger = Ledger(
            project=project,
            change_key=change,
            created_at="2026-12-01T00:00:00Z",
            updated_at="2026-12-01T00:00:00Z",
            run_number="20261201000000",
            plan_file="docs/plans/slugs.md",
            severity_threshold=5,
            max_turns=10,
            merge_base=SHA,
            run=state,
            **fields,
        )
        return LedgerStore(run_folder(state_root(os.environ), project, change).path).create(ledger)

    return keep
