"""What `check` says about a program that is missing, too old, or not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.executor import ExecutorSettings, Readiness
from touchline_codex.executor import CodexExecutor

VERSION = "echo 'codex-cli 0.171.0'"


def check(
    folder: Path,
    script: str,
    *,
    check_s: float = 10.0,
    extra_args: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
) -> Readiness:
    program = folder / "codex"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    settings = ExecutorSettings(command=(str(program),), extra_args=extra_args, env=env or {})
    return CodexExecutor(settings, check_s=check_s).check()


def script(*, status: str = "exit 0", sandbox: str = "exit 0") -> str:
    """A program that answers the three questions of the check."""
    answers = {"--version": VERSION, '*"login status"': status, '"sandbox -- true"': sandbox, "*": "exit 9"}
    return f'case "$*" in {" ".join(f"{question}) {answer};;" for question, answer in answers.items())} esac'


def test_missing_program_says_how_to_install_it() -> None:
    readiness = CodexExecutor(ExecutorSettings(command=("touchline-has-no-such-program",))).check()
    assert not readiness.installed
    assert "touchline-has-no-such-program" in readiness.problem
    assert "npm install" in readiness.fix


def test_version_that_is_too_old_is_a_problem(tmp_path: Path) -> None:
    readiness = check(tmp_path, "echo 'codex-cli 0.163.0'")
    assert (readiness.version, readiness.fix) == ("0.163.0", "codex update")
    assert "too old" in readiness.problem


def test_program_without_a_version_is_a_problem(tmp_path: Path) -> None:
    readiness = check(tmp_path, "echo hello")
    assert readiness.installed
    assert "'hello'" in readiness.problem


def test_program_that_hangs_does_not_hang_the_check(tmp_path: Path) -> None:
    assert "gave no version" in check(tmp_path, "sleep 60", check_s=0.5).problem


@pytest.mark.parametrize(
    ("status", "logged_in", "problem"),
    [
        ("echo 'Logged in' >&2", True, ""),
        ("echo 'Not logged in' >&2; exit 1", False, "not logged in"),
        ("echo 'error: unexpected argument' >&2; exit 2", None, "login status` failed"),
    ],
)
def test_login_is_what_the_cli_says(tmp_path: Path, status: str, logged_in: bool | None, problem: str) -> None:
    readiness = check(tmp_path, script(status=status))
    assert readiness.logged_in is logged_in
    assert problem in readiness.problem
    assert bool(readiness.problem) is bool(problem)


def test_key_in_the_environment_is_a_login(tmp_path: Path) -> None:
    readiness = check(tmp_path, script(status="exit 1"), env={"CODEX_API_KEY": "sk-1"})
    assert (readiness.logged_in, readiness.problem) == (True, "")


def test_login_in_the_keyring_cannot_be_used_and_the_check_says_why(tmp_path: Path) -> None:
    home = tmp_path / "home" / ".codex"
    home.mkdir(parents=True)
    (home / "config.toml").write_text('cli_auth_credentials_store = "keyring"\n')
    readiness = check(tmp_path, script(status="echo 'Not logged in' >&2; exit 1"))
    assert readiness.logged_in is False
    assert "keyring" in readiness.problem
    assert "cli_auth_credentials_store" in readiness.fix


@pytest.mark.parametrize(("value", "logged_in"), [("sk-1", True), ("", False)])
def test_provider_with_a_key_of_its_own_needs_no_login(tmp_path: Path, value: str, logged_in: bool) -> None:
    home = tmp_path / "home" / ".codex"
    home.mkdir(parents=True)
    (home / "config.toml").write_text('model_provider = "mine"\n[model_providers.mine]\nenv_key = "MY_KEY"\n')
    readiness = check(tmp_path, script(status="exit 1"), env={"MY_KEY": value})
    assert readiness.logged_in is logged_in


def test_provider_without_any_key_cannot_be_told(tmp_path: Path) -> None:
    arguments = ("-c", 'model_provider="local"', "-c", 'model_providers.local={base_url="http://127.0.0.1:1"}')
    readiness = check(tmp_path, script(status="exit 1"), extra_args=arguments)
    assert (readiness.logged_in, readiness.problem) == (None, "")


def test_sandbox_that_does_not_work_is_a_problem_with_a_way_out(tmp_path: Path) -> None:
    readiness = check(tmp_path, script(sandbox="echo 'bwrap: Creating new namespace failed' >&2; exit 1"))
    assert "bwrap: Creating new namespace failed" in readiness.problem
    assert "sandbox_mode" in readiness.fix


def test_sandbox_that_the_configuration_chose_is_not_tried(tmp_path: Path) -> None:
    readiness = check(tmp_path, script(sandbox="exit 1"), extra_args=("-c", "sandbox_mode=danger-full-access"))
    assert readiness.problem == ""


def test_check_writes_nothing_into_the_users_home(tmp_path: Path) -> None:
    readiness = check(tmp_path, f'touch "$CODEX_HOME/written"; {script()}')
    assert readiness.problem == ""
    assert not (tmp_path / "home" / ".codex").exists()
