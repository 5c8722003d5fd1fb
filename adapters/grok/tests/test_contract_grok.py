"""grok, the real program, passes the executor contract without any network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from touchline.executor import ExecutorSettings
from touchline.testing import ExecutorContract, ScriptedModel, find_cli
from touchline.testing.openai_chat import OpenAIChat
from touchline_grok.executor import GrokExecutor

NOBODY = "http://127.0.0.1:9"
CONFIGURATION = """\
# my own
[models]
default = "fake"
session_summary = "fake"
web_search = "fake"

[model.fake]
model = "fake-model"
base_url = "{url}/v1"
name = "Fake"
env_key = "FAKE_KEY"
context_window = 200000

[marketplace]
default_skills_installs_purged = true
"""


def offline() -> dict[str, str]:
    """An environment in which nothing but the scripted model can be reached, and nobody waits for a retry."""
    return {
        "FAKE_KEY": "sk-not-a-key",
        "GROK_MAX_RETRIES": "1",
        "GROK_TELEMETRY_ENABLED": "0",
        "HTTPS_PROXY": NOBODY,
        "HTTP_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1",
    }


@pytest.mark.cli("grok")
@pytest.mark.slow
class TestGrokExecutor(ExecutorContract):
    user_files: ClassVar[Mapping[str, str]] = {
        ".grok/config.toml": CONFIGURATION,
        ".grok/AGENTS.md": "Prefer short answers.\n",
    }

    @pytest.fixture
    def model(self) -> Iterator[ScriptedModel]:
        with ScriptedModel(OpenAIChat()) as server:
            yield server

    @pytest.fixture
    def executor(self, model: ScriptedModel, home: Path) -> GrokExecutor:
        configuration = home / ".grok" / "config.toml"
        configuration.write_text(CONFIGURATION.format(url=model.url))
        return GrokExecutor(ExecutorSettings(command=(find_cli("grok"),), env=offline()))
