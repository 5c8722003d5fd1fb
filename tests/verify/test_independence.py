from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from touchline.coach.checks import Checks, find_checks
from touchline.coach.executors import build_executor
from touchline.documents.ledger import RunOptions
from touchline.documents.settings import Settings
from touchline_scripted.executor import ScriptedExecutor

VERSIONS = {"claude": "99.0.0 (Claude Code)", "codex": "codex-cli 99.0.0"}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts programs of these names, and no other agent CLI, on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def install(*names: str) -> None:
        for name in names:
            program = folder / name
            program.write_text(f"#!/bin/sh\necho '{VERSIONS[name]}'\n")
            program.chmod(0o755)

    return install


def checks(player: str, *reviewers: str, **settings: Any) -> Checks:
    parsed = Settings.model_validate_json(json.dumps(settings))
    executor = build_executor(player, parsed, os.environ)
    options = RunOptions(executor=player, reviewers=list(reviewers))
    return find_checks(parsed, options, executor, tests=None, environ=os.environ)


def names(found: Checks) -> list[str]:
    return [judge.name for judge in found.judges]


def test_by_default_codex_judges_and_then_a_fresh_session_of_the_player(installed: Any) -> None:
    installed("claude")
    found = checks("claude")
    assert names(found) == ["codex-reviewer", "reviewer"]
    assert found.judges[1].executor is not None
    assert found.judges[1].executor.name == "claude"
    assert "reviewer (the player's own executor, in a fresh session)" in found.lines()[0]


def test_the_configured_order_is_the_order_of_preference(installed: Any) -> None:
    installed("claude")
    listed = [{"name": "strict", "command": ["./judge"]}, {"name": "second", "executor": "claude", "model": "other"}]
    assert names(checks("claude", reviewers=listed)) == ["strict", "second"]
    assert names(checks("claude", "second", "strict", reviewers=listed)) == ["second", "strict"]
    assert checks("claude", reviewers=listed).judges[1].model == "other"


class _Codex(ScriptedExecutor):
    """A player that says it is codex."""

    name = "codex"


def test_where_codex_plays_another_vendor_judges_first_if_there_is_one(installed: Any) -> None:
    def judges() -> list[str]:
        options = RunOptions(executor="codex")
        return names(find_checks(Settings(), options, _Codex(), tests=None, environ=os.environ))

    assert judges() == ["codex-reviewer", "reviewer"]
    installed("claude")
    assert judges() == ["claude-reviewer", "codex-reviewer", "reviewer"]
