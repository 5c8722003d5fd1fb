"""Runs one turn of the driver on a program that replays what its bridge printed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import ExecutorSettings
from touchline.testing import replay
from touchline_opencode.executor import OpencodeExecutor

SESSION = "ses_11111111222243338444555555"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in list(os.environ):
        if name.startswith(("OPENCODE", "XDG_", "GIT_")):
            monkeypatch.delenv(name)
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def play(tmp_path: Path) -> replay.Play:
    def run(cli: replay.ReplayCli, **options: Any) -> replay.Played:
        return replay.play(
            OpencodeExecutor(ExecutorSettings(), bridge=cli.command), tmp_path, **{"session_id": SESSION, **options}
        )

    return run
