"""Runs one turn of the driver on a program that replays a recorded stream."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import ExecutorSettings
from touchline.testing import replay
from touchline_claude.executor import ClaudeExecutor


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE", "GIT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def play(tmp_path: Path) -> replay.Play:
    def run(cli: replay.ReplayCli, **options: Any) -> replay.Played:
        return replay.play(ClaudeExecutor(ExecutorSettings(command=cli.command)), tmp_path, **options)

    return run
