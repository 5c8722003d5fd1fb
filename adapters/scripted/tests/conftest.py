"""Runs scripts of the tests and shipped ones, in a repository."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from touchline.execution import ExecutedTurn, execute_turn, settle_turn
from touchline.executor import Event, ExecutorSettings, Limits, PermissionAnswer, PermissionAsked, TurnRequest
from touchline.git.repository import Repository
from touchline.testing.repositories import git, make_repository
from touchline.turn.settle import TurnSettlement
from touchline_scripted.executor import ScriptedExecutor

LIMITS = Limits(wall_s=20, idle_s=10, grace_s=1)


@dataclass(frozen=True, slots=True)
class Played:
    turn: ExecutedTurn
    settlement: TurnSettlement
    events: tuple[Event, ...]


def _allow(asked: PermissionAsked) -> PermissionAnswer:
    return PermissionAnswer(True)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("GIT_", "TOUCHLINE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo")


@pytest.fixture
def play(tmp_path: Path, repo: Path) -> Callable[..., Played]:
    """Play a shipped script by its name, or the text of one."""

    def run(
        script: str,
        *,
        permit: Callable[[PermissionAsked], PermissionAnswer] = _allow,
        env_remove: tuple[str, ...] = (),
        **fields: Any,
    ) -> Played:
        name = script
        if "\n" in script:
            path = tmp_path / "script.yaml"
            path.write_text(script, encoding="utf-8")
            name = str(path)
        fields = {
            "role": "player",
            "prompt": "Do it.",
            "session_id": str(uuid.uuid4()),
            "limits": LIMITS,
            **fields,
        }
        request = TurnRequest(task_id="task-1", cwd=repo, scratch=tmp_path / "private", **fields)
        executor = ScriptedExecutor(ExecutorSettings(script=name, env_remove=env_remove))
        start, before = git(repo, "rev-parse", "HEAD"), git(repo, "status", "--porcelain")
        events: list[Event] = []
        turn = execute_turn(executor, request, permit=permit, observe=events.append, run_id="test")
        settlement = settle_turn(
            executor,
            turn,
            role=request.role,
            repo=Repository.open(repo),
            start_commit=start,
            tree_changed=git(repo, "status", "--porcelain") != before,
        )
        return Played(turn, settlement, tuple(events))

    return run
