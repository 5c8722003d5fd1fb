"""What `check` says about a program that is missing, too old, or not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.executor import ExecutorSettings, Readiness
from touchline_claude.executor import ClaudeExecutor


def check(folder: Path, script: str, *, check_s: float = 10.0) -> Readiness:
    program = folder / "claude"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return ClaudeExecutor(ExecutorSettings(command=(str(program),)), check_s=check_s).check()


def test_missing_program_says_how_to_install_it() -> None:
    readiness = ClaudeExecutor(ExecutorSettings(command=("touchline-has-no-such-program",))).check()
    assert not readiness.installed
    assert "touchline-has-no-such-program" in readiness.problem
    assert "npm install" in readiness.fix


def test_version_that_is_too_old_is_a_problem(tmp_path: Path) -> None:
    readiness = check(tmp_path, "echo '1.0.99 (Claude Code)'")
    assert (readiness.version, readiness.fix) == ("1.0.99", "claude update")
    assert "too old" in readiness.problem


def test_program_without_a_version_is_a_problem(tmp_path: Path) -> None:
    readiness = check(tmp_path, "echo hello")
    assert readiness.installed
    assert "'hello'" in readiness.problem


@pytest.mark.parametrize(
    ("status", "logged_in"),
    [('{"loggedIn": true}', True), ('{"loggedIn": false}', False), ("unknown command", None), ("[1]", None)],
)
def test_login_is_what_the_cli_says_or_not_known(tmp_path: Path, status: str, logged_in: bool | None) -> None:
    readiness = check(tmp_path, f"[ \"$1\" = auth ] && echo '{status}' || echo '2.1.332 (Claude Code)'")
    assert readiness.logged_in is logged_in
    assert bool(readiness.problem) is (logged_in is False)


def test_program_that_hangs_does_not_hang_the_check(tmp_path: Path) -> None:
    assert "gave no version" in check(tmp_path, "sleep 60", check_s=0.5).problem
