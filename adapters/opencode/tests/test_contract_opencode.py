"""opencode, the real program, passes the executor contract without any network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from touchline.executor import ExecutorSettings
from touchline.testing import ExecutorContract, ScriptedModel, find_cli
from touchline.testing.openai_chat import OpenAIChat
from touchline_opencode.executor import OpencodeExecutor

NOBODY = "http://127.0.0.1:9"
CONFIGURATION = {
    "$schema": "https://opencode.ai/config.json",
    "model": "fake/fake-model",
    "small_model": "fake/fake-model",
    "enabled_providers": ["fake"],
    "permission": {"bash": "allow", "edit": "allow"},
    "provider": {
        "fake": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Fake",
            "options": {"baseURL": "{env:FAKE_URL}/v1", "apiKey": "{env:FAKE_KEY}"},
            "models": {
                "fake-model": {
                    "name": "Fake",
                    "tool_call": True,
                    "limit": {"context": 200000, "output": 8192},
                    "cost": {"input": 3, "output": 15, "cache_read": 1},
                }
            },
        }
    },
}


def offline(model_url: str) -> dict[str, str]:
    """An environment in which nothing but the scripted model can be reached."""
    return {
        "FAKE_URL": model_url,
        "FAKE_KEY": "sk-not-a-key",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "npm_config_registry": NOBODY,
        "HTTPS_PROXY": NOBODY,
        "HTTP_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1",
    }


@pytest.mark.cli("opencode")
@pytest.mark.slow
class TestOpencodeExecutor(ExecutorContract):
    startup_s = 20.0
    user_files: ClassVar[Mapping[str, str]] = {
        ".config/opencode/opencode.json": json.dumps(CONFIGURATION, indent=2) + "\n",
        ".config/opencode/AGENTS.md": "Prefer short answers.\n",
    }

    @pytest.fixture
    def model(self) -> Iterator[ScriptedModel]:
        with ScriptedModel(OpenAIChat()) as server:
            yield server

    @pytest.fixture
    def executor(self, model: ScriptedModel) -> OpencodeExecutor:
        return OpencodeExecutor(ExecutorSettings(command=(find_cli("opencode"),), env=offline(model.url)))
