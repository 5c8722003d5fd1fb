"""The scripted executor passes the executor contract; its model is the script itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from touchline.documents.base import Usage
from touchline.executor import ExecutorSettings
from touchline.testing import ExecutorContract, RecordedExecutorContract
from touchline.testing.steps import HttpError, Say, Shell, Silent, Step, ToolCall
from touchline_scripted.executor import ScriptedExecutor

KINDS = {401: "not-authenticated", 429: "rate-limit"}
COUNTED = {"input": 130, "output": 20, "cached": 30, "cost": 0.002}


class ScriptDouble:
    """Writes each script of the kit as a file, and reads back what the runner remembered."""

    def __init__(self, path: Path, scratch: Path) -> None:
        self._path = path
        self._sessions = scratch / "scripted"
        self.play(Say("Hello."))

    def play(self, *steps: Step) -> None:
        script: list[dict[str, object]] = []
        for step in steps:
            script += self._translate(step)
        self._path.write_text(json.dumps({"version": 1, "any": [script]}), encoding="utf-8")

    def prompts(self) -> list[str]:
        return [entry["prompt"] for entry in self._entries() if "prompt" in entry]

    def tool_results(self) -> list[str]:
        return [entry["result"] for entry in self._entries() if "result" in entry]

    def usage(self, calls: int) -> Usage:
        return Usage(input=130 * calls, output=20 * calls, cached=30 * calls)

    def _entries(self) -> list[dict[str, str]]:
        sessions = sorted(self._sessions.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line) for line in sessions[-1].read_text().splitlines()] if sessions else []

    def _translate(self, step: Step) -> list[dict[str, object]]:
        if isinstance(step, Shell):
            return [{"usage": COUNTED}, {"run": {"command": step.command}}]
        if isinstance(step, Say):
            return [{"usage": COUNTED}, {"end": step.text}] if step.text else [{"usage": COUNTED}]
        if isinstance(step, Silent):
            return [{"hang": step.seconds}]
        if isinstance(step, HttpError):
            return [{"fail": {"kind": KINDS.get(step.status, "model-error"), "reason": step.message}}]
        assert not isinstance(step, ToolCall), "the kit calls no tool by name"
        return [{"fail": {"kind": "model-error", "reason": type(step).__name__}}]


class TestScriptedExecutor(ExecutorContract):
    user_files: ClassVar[Mapping[str, str]] = {".config/anything": "the user's own\n"}

    @pytest.fixture
    def model(self, tmp_path: Path, scratch: Path) -> ScriptDouble:
        return ScriptDouble(tmp_path / "script.json", scratch)

    @pytest.fixture
    def executor(self, model: ScriptDouble, tmp_path: Path) -> ScriptedExecutor:
        return ScriptedExecutor(ExecutorSettings(script=str(tmp_path / "script.json")))


class TestRecordedScripted(RecordedExecutorContract):
    def driver(self, command: tuple[str, ...]) -> ScriptedExecutor:
        return ScriptedExecutor(ExecutorSettings(command=command))

    def stream(self, text: str, session_id: str) -> bytes:
        events = [
            {"event": "started", "session_id": session_id, "model": "scripted"},
            {"event": "text", "text": text},
            {"event": "end", "text": text},
        ]
        return b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in events)
