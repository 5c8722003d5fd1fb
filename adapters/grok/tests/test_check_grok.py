"""What `check` says about a program that is missing, too old, or not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.executor import ExecutorSettings, Readiness
from touchline_grok.executor import GrokExecutor


def check(folder: Path, script: str, *, check_s: float = 10.0, env: dict[str, str] | None = None) -> Readiness:
    program = folder / "grok"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    settings = ExecutorSettings(command=(str(program),), env={"HOME": str(folder), **(env or {})})
    return GrokExecutor(settings, check_s=check_s).check()


def test_missing_program_says_how_to_install_it() -> None:
    readiness = GrokExecutor(ExecutorSettings(command=("touchline-has-no-such-program",))).check()
    assert not readiness.installed
    assert "touchline-has-no-such-program" in readiness.problem
    assert "npm install" in readiness.fix


def test_version_that_is_too_old_is_a_problem(tmp_path: Path) -> None:
    readiness = check(tmp_path, "echo 'grok 0.9.12 (abc)'")
    assert (readiness.version, readiness.fix) == ("0.9.12", "grok update")
    assert "too old" in readiness.problem


@pytest.mark.parametrize("script", ["echo hello", "sleep 60"])
def test_program_without_a_version_is_a_problem(tmp_path: Path, script: str) -> None:
    readiness = check(tmp_path, script, check_s=1.0)
    assert readiness.installed
    assert "gave no version" in readiness.problem


def test_login_or_key_that_is_there_is_told_and_absence_is_unknown(tmp_path: Path) -> None:
    script = "echo 'grok 1.0.41 (abc)'"
    assert check(tmp_path, script).logged_in is None
    assert check(tmp_path, script, env={"XAI_API_KEY": "x"}).logged_in is True
    (tmp_path / ".grok").mkdir()
    (tmp_path / ".grok" / "auth.json").write_text("{}")
    assert check(tmp_path, script).logged_in is True
    assert check(tmp_path, script, env={"GROK_HOME": str(tmp_path / "other")}).logged_in is None
