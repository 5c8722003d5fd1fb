"""Codex, the real program, passes the executor contract without any network.

Its own sandbox is off here: inside, a process has other process ids than the scenarios look for. What the sandbox does
is in test_cli_codex.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import pytest

from touchline.executor import ExecutorSettings
from touchline.testing import ExecutorContract, ScriptedModel
from touchline.testing.openai_responses import OpenAIResponses
from touchline_codex.executor import CodexExecutor

Settings = Callable[..., ExecutorSettings]
NO_SANDBOX = '"danger-full-access"'


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
    def executor(self, scripted_settings: Settings) -> CodexExecutor:
        return CodexExecutor(scripted_settings(sandbox_mode=NO_SANDBOX))


class TestCodexInCodeMode(TestCodexExecutor):
    """Newer models get a tool that runs small programs instead of the shell tool."""

    @pytest.fixture
    def executor(self, scripted_settings: Settings) -> CodexExecutor:
        return CodexExecutor(scripted_settings(name="gpt-6.2-sol", sandbox_mode=NO_SANDBOX))
