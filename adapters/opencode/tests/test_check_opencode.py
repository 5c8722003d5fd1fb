"""What `check` says about a program that is missing, too old, or not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.executor import ExecutorSettings, Readiness
from touchline_opencode.executor import OpencodeExecutor


def check(folder: Path, script: str, *, check_s: float = 10.0) -> Readiness:
    program = folder / "opencode"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return OpencodeExecutor(ExecutorSettings(command=(str(program),)), check_s=check_s).check()


def test_missing_program_says_how_to_install_it() -> None:
    readiness = OpencodeExecutor(ExecutorSettings(command=("touchline-has-no-such-program",))).check()
    assert not readiness.installed
    assert "touchline-has-no-such-program" in readiness.problem
    assert "npm install" in readiness.fix


def test_version_that_is_too_old_is_a_problem(tmp_path: Path) -> None:
    readiness = check(tmp_path, "echo 1.2.3")
    assert (readiness.version, readiness.fix) == ("1.2.3", "opencode upgrade")
    assert "too old" in readiness.problem


@pytest.mark.parametrize("script", ["echo hello", "sleep 60"])
def test_program_without_a_version_is_a_problem(tmp_path: Path, script: str) -> None:
    readiness = check(tmp_path, script, check_s=1.0)
    assert readiness.installed
    assert "gave no version" in readiness.problem


@pytest.mark.parametrize(
    ("listed", "logged_in"), [("2 credentials", True), ("1 credentials", True), ("0 credentials", None), ("?", None)]
)
def test_stored_login_is_told_and_absence_is_unknown(tmp_path: Path, listed: str, logged_in: bool | None) -> None:
    readiness = check(tmp_path, f"[ \"$1\" = auth ] && echo '{listed}' || echo 1.18.33")
    assert (readiness.logged_in, readiness.problem) == (logged_in, "")
