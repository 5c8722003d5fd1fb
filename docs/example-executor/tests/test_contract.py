"""pebble passes touchline's executor contract: the whole test file of a plugin."""

from __future__ import annotations

import json
import sys

import pytest
from touchline_pebble.executor import PebbleExecutor

from touchline.executor import ExecutorSettings
from touchline.testing import ExecutorContract, RecordedExecutorContract, ScriptedModel


class TestPebble(ExecutorContract):
    user_files = {".pebblerc": "the user's own\n"}

    @pytest.fixture
    def executor(self, model: ScriptedModel) -> PebbleExecutor:
        command = (sys.executable, "-m", "touchline_pebble.agent")
        return PebbleExecutor(ExecutorSettings(command=command, env={"PEBBLE_URL": model.url}))


class TestRecordedPebble(RecordedExecutorContract):
    def driver(self, command: tuple[str, ...]) -> PebbleExecutor:
        return PebbleExecutor(ExecutorSettings(command=command))

    def stream(self, text: str, session_id: str) -> bytes:
        events = [{"type": "session", "model": "pebble-1"}, {"type": "end", "text": text}]
        return b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in events)
