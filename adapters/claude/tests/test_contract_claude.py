"""Claude Code, the real program, passes the executor contract without any network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from touchline.executor import ExecutorSettings
from touchline.testing import ExecutorContract, ScriptedModel, find_cli
from touchline_claude.executor import ClaudeExecutor

NOBODY = "http://127.0.0.1:9"


def offline(model_url: str) -> dict[str, str]:
    """An environment in which nothing but the scripted model can be reached."""
    return {
        "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
        "ANTHROPIC_BASE_URL": model_url,
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "HTTPS_PROXY": NOBODY,
        "HTTP_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1",
    }


@pytest.mark.cli("claude")
@pytest.mark.slow
class TestClaudeExecutor(ExecutorContract):
    user_files: ClassVar[Mapping[str, str]] = {
        ".claude/settings.json": '{\n  "permissions": {"allow": ["Bash(ls:*)", "Bash(touch:*)"]}\n}\n',
        ".claude/CLAUDE.md": "Prefer short answers.\n",
    }

    @pytest.fixture
    def executor(self, model: ScriptedModel) -> ClaudeExecutor:
        return ClaudeExecutor(ExecutorSettings(command=(find_cli("claude"),), env=offline(model.url)))
