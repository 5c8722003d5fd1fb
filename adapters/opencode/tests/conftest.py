"""A user's configuration of opencode that points at the scripted model, and turns on recorded streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from touchline.execution import ExecutedTurn, execute_turn
from touchline.executor import Event, ExecutorSettings, Limits, PermissionAnswer, TurnRequest
from touchline.testing import ScriptedModel
from touchline.testing.openai_chat import OpenAIChat
from touchline.testing.replay import ReplayCli
from touchline_opencode.executor import OpencodeExecutor

SESSION = "ses_11111111222243338444555555"
YES = PermissionAnswer(True)
LIMITS = Limits(wall_s=20, idle_s=10, grace_s=1)


@dataclass(frozen=True, slots=True)
class Played:
    turn: ExecutedTurn
    events: tuple[Event, ...]


Play = Callable[..., Played]


@pytest.fixture
def chat() -> Iterator[ScriptedModel]:
    with ScriptedModel(OpenAIChat()) as server:
        yield server


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Run one turn of the driver on a program that prints a recorded stream of the bridge."""

    def run(cli: ReplayCli, *, resume: bool = False, permit: PermissionAnswer = YES, limits: Limits = LIMITS) -> Played:
        events: list[Event] = []
        request = TurnRequest(
            "task", "player", "Do it.", tmp_path, SESSION, tmp_path / "private", resume=resume, limits=limits
        )
        executor = OpencodeExecutor(ExecutorSettings(), bridge=cli.command)
        turn = execute_turn(executor, request, permit=lambda asked: permit, observe=events.append, run_id="test")
        return Played(turn, tuple(events))

    return run
