"""Runs one turn of the driver on a program that replays what its bridge printed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from touchline.execution import ExecutedTurn, execute_turn
from touchline.executor import Event, ExecutorSettings, Limits, PermissionAnswer, TurnRequest
from touchline.testing.replay import ReplayCli, assert_read_again
from touchline.turn.record import TurnRecord
from touchline_opencode.executor import OpencodeExecutor

SESSION = "ses_11111111222243338444555555"


@dataclass(frozen=True, slots=True)
class Played:
    turn: ExecutedTurn
    events: tuple[Event, ...]


Play = Callable[..., Played]
YES = PermissionAnswer(True)
LIMITS = Limits(wall_s=20, idle_s=10, grace_s=1)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in list(os.environ):
        if name.startswith(("OPENCODE", "XDG_", "GIT_")):
            monkeypatch.delenv(name)
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def play(tmp_path: Path) -> Play:
    def run(
        cli: ReplayCli, *, resume: bool = False, permit: PermissionAnswer = YES, session_id: str = SESSION
    ) -> Played:
        events: list[Event] = []
        request = TurnRequest(
            "task", "player", "Do it.", tmp_path, session_id, tmp_path / "private", resume=resume, limits=LIMITS
        )
        executor = OpencodeExecutor(ExecutorSettings(), bridge=cli.command)
        folder = tmp_path / f"record-{uuid.uuid4().hex}"
        with TurnRecord(folder) as record:
            turn = execute_turn(
                executor, request, record=record, permit=lambda asked: permit, observe=events.append, run_id="test"
            )
        assert_read_again(executor, folder)
        return Played(turn, tuple(events))

    return run
