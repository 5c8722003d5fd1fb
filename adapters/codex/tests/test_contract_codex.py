"""Codex, the real program, passes the executor contract without any network.

Its own sandbox is off here: inside, a process has other process ids than the scenarios look for. What the sandbox does
is in test_cli_codex.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from touchline.executor import ExecutorSettings
from touchline.testing import ExecutorContract, ScriptedModel, find_cli
from touchline.testing.openai_responses import OpenAIResponses
from touchline_codex.executor import CodexExecutor

NOBODY = "http://127.0.0.1:9"


def executor_on(model: ScriptedModel, name: str) -> CodexExecutor:
    provider = f'{{ name = "scripted", base_url = "{model.url}/v1", env_key = "SCRIPTED_KEY", wire_api = "responses", '
    provider += "request_max_retries = 0, stream_max_retries = 0 }"
    values = {
        "model": json.dumps(name),
        "model_provider": '"scripted"',
        "model_providers.scripted": provider,
        "sandbox_mode": '"danger-full-access"',
    }
    return CodexExecutor(
        ExecutorSettings(
            command=(find_cli("codex"),),
            env={"SCRIPTED_KEY": "sk-no", "HTTPS_PROXY": NOBODY, "HTTP_PROXY": NOBODY, "NO_PROXY": "127.0.0.1"},
            extra_args=tuple(part for key, value in values.items() for part in ("-c", f"{key}={value}")),
        )
    )


@pytest.mark.cli("codex")
@pytest.mark.slow
class TestCodexExecutor(ExecutorContract):
    user_files: ClassVar[Mapping[str, str]] = {
        ".codex/config.toml": 'model = "gpt-6.2-sol"\n\n[projects."/elsewhere"]\ntrust_level = "trusted"\n',
        ".codex/auth.json": '{"auth_mode": "apikey", "OPENAI_API_KEY": "sk-of-the-user"}\n',
        ".codex/AGENTS.md": "Prefer short answers.\n",
        ".codex/rules/default.rules": 'prefix_rule(pattern = ["touch"], decision = "allow")\n',
    }

    @pytest.fixture
    def model(self) -> Iterator[ScriptedModel]:
        with ScriptedModel(OpenAIResponses()) as server:
            yield server

    @pytest.fixture
    def executor(self, model: ScriptedModel) -> CodexExecutor:
        return executor_on(model, "gpt-5.5")


class TestCodexInCodeMode(TestCodexExecutor):
    """Newer models get a tool that runs small programs instead of the shell tool."""

    @pytest.fixture
    def executor(self, model: ScriptedModel) -> CodexExecutor:
        return executor_on(model, "gpt-6.2-sol")
