"""The settings that point Codex at a scripted model, and one turn on a recorded conversation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import ExecutorSettings
from touchline.testing import ScriptedModel, find_cli, replay
from touchline.testing.openai_responses import OpenAIResponses
from touchline_codex.executor import CodexExecutor

NOBODY = "http://127.0.0.1:9"


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


@pytest.fixture
def scripted_settings(model: ScriptedModel) -> Callable[..., ExecutorSettings]:
    """Settings of the real CLI by which nothing but the scripted model can be reached."""

    def make(
        *, name: str = "gpt-5.5", retries: int = 0, env: Mapping[str, str] | None = None, **config: str
    ) -> ExecutorSettings:
        provider = {
            "name": "scripted",
            "base_url": f"{model.url}/v1",
            "env_key": "SCRIPTED_KEY",
            "wire_api": "responses",
            "request_max_retries": retries,
            "stream_max_retries": retries,
        }
        table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in provider.items())
        values = {
            "model": json.dumps(name),
            "model_provider": '"scripted"',
            "model_providers.scripted": f"{{ {table} }}",
            **config,
        }
        proxies = {"HTTPS_PROXY": NOBODY, "HTTP_PROXY": NOBODY, "NO_PROXY": "127.0.0.1"}
        return ExecutorSettings(
            command=(find_cli("codex"),),
            env={"SCRIPTED_KEY": "sk-not-a-key", **proxies, **(env or {})},
            extra_args=tuple(part for key, value in values.items() for part in ("-c", f"{key}={value}")),
        )

    return make


@pytest.fixture
def play(tmp_path: Path) -> replay.Play:
    def run(cli: replay.ReplayCli, **options: Any) -> replay.Played:
        return replay.play(CodexExecutor(ExecutorSettings(command=cli.command)), tmp_path, **options)

    return run
