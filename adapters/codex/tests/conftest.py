"""A user's own Codex configuration, a model that it is pointed at, and one turn on a recorded stream."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from touchline.execution import ExecutedTurn, execute_turn
from touchline.executor import Event, ExecutorSettings, Limits, PermissionAnswer, TurnRequest
from touchline.testing import ScriptedModel
from touchline.testing.openai_responses import OpenAIResponses
from touchline.testing.replay import ReplayCli
from touchline.turn.settle import Role
from touchline_codex.executor import CodexExecutor

SESSION = "11111111-2222-4333-8444-555555555555"
DATA = Path(__file__).with_name("data")
NOBODY = "http://127.0.0.1:9"


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
        if name.startswith(("OPENAI_", "CODEX", "GIT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(OpenAIResponses()) as server:
        yield server


def offline(url: str, *, model: str = "gpt-5.5", retries: int = 0) -> tuple[str, ...]:
    """Arguments by which nothing but the scripted model is reached."""
    provider = {
        "name": "scripted",
        "base_url": f"{url}/v1",
        "env_key": "SCRIPTED_KEY",
        "wire_api": "responses",
        "request_max_retries": retries,
        "stream_max_retries": retries,
    }
    table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in provider.items())
    values = {"model": json.dumps(model), "model_provider": '"scripted"', "model_providers.scripted": f"{{ {table} }}"}
    return tuple(part for key, value in values.items() for part in ("-c", f"{key}={value}"))


ENVIRONMENT = {"SCRIPTED_KEY": "sk-not-a-key", "HTTPS_PROXY": NOBODY, "HTTP_PROXY": NOBODY, "NO_PROXY": "127.0.0.1"}


def recorded(name: str) -> bytes:
    """What the server said in a recorded conversation, with the thread that the test asks for."""
    lines = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    said = [line["msg"] for line in lines if line["dir"] == "server->client"]
    thread = next(message["result"]["thread"]["id"] for message in said if "thread" in message.get("result", {}))
    text = "".join(json.dumps(message) + "\n" for message in said)
    return re.sub(re.escape(thread), SESSION, text).encode()


@pytest.fixture
def play(tmp_path: Path) -> Play:
    def run(
        cli: ReplayCli,
        *,
        resume: bool = False,
        permit: PermissionAnswer = YES,
        limits: Limits = LIMITS,
        role: Role = "player",
    ) -> Played:
        events: list[Event] = []
        request = TurnRequest(
            "task", role, "Do it.", tmp_path, SESSION, tmp_path / "private", resume=resume, limits=limits
        )
        executor = CodexExecutor(ExecutorSettings(command=cli.command))
        turn = execute_turn(executor, request, permit=lambda asked: permit, observe=events.append, run_id="test")
        return Played(turn, tuple(events))

    return run
