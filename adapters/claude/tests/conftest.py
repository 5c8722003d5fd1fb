"""Runs one turn of the driver on a program that replays a recorded stream."""

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
from touchline_claude.executor import ClaudeExecutor

SESSION = "11111111-2222-4333-8444-555555555555"


@dataclass(frozen=True, slots=True)
class Played:
    turn: ExecutedTurn
    events: tuple[Event, ...]


Play = Callable[..., Played]
YES = PermissionAnswer(True)
LIMITS = Limits(wall_s=20, idle_s=10, grace_s=1)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE", "GIT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def play(tmp_path: Path) -> Play:
    def run(
        cli: ReplayCli,
        *,
        resume: bool = False,
        permit: PermissionAnswer = YES,
        limits: Limits = LIMITS,
    ) -> Played:
        events: list[Event] = []
        request = TurnRequest(
            "task", "player", "Do it.", tmp_path, SESSION, tmp_path / "private", resume=resume, limits=limits
        )
        executor = ClaudeExecutor(ExecutorSettings(command=cli.command))
        folder = tmp_path / f"record-{uuid.uuid4().hex}"
        with TurnRecord(folder) as record:
            turn = execute_turn(
                executor, request, record=record, permit=lambda asked: permit, observe=events.append, run_id="test"
            )
        assert_read_again(executor, folder)
        return Played(turn, tuple(events))

    return run
