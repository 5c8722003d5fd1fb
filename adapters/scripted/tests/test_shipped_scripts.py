"""The shipped scripts do what their names say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.commands.demo_project import files
from touchline.executor import ExecutorSettings
from touchline.testing.repositories import git
from touchline.turn.settle import FailureKind
from touchline.verify.answers import ExerciserAnswer, JudgeAnswer, read_answer
from touchline_scripted.executor import ScriptedExecutor
from touchline_scripted.script import SHIPPED, load

Play = Callable[..., Any]


def run_tests(repo: Path) -> int:
    argv = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests"]
    return subprocess.run(argv, cwd=repo, capture_output=True, timeout=60, check=False).returncode


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_script_is_valid_and_ready(name: str) -> None:
    readiness = ScriptedExecutor(ExecutorSettings(script=name)).check()
    assert (readiness.installed, readiness.logged_in, readiness.problem) == (True, True, "")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_script_answers_as_judge_and_exerciser(play: Play, name: str) -> None:
    for purpose, model in (("judge", JudgeAnswer), ("exerciser", ExerciserAnswer)):
        played = play(name, role="verifier", purpose=purpose)
        assert played.settlement.ok
        assert isinstance(read_answer(played.turn.text, model), model)


def test_oracle_carries_out_the_plans_own_solution(play: Play, repo: Path) -> None:
    plan = "Make it.\n\n```sh solution\nprintf made > made.txt\n```\n\n```sh\ntouch not-this\n```\n"
    played = play("oracle", prompt=plan)
    assert played.settlement.kind == "finished"
    assert (repo / "made.txt").read_text() == "made"
    assert not (repo / "not-this").exists()


def test_oracle_whose_solution_fails_says_so(play: Play) -> None:
    played = play("oracle", prompt="```sh solution\nfalse\n```\n")
    assert played.turn.failure.kind is FailureKind.PROTOCOL


def test_oracle_without_a_solution_still_changes_something(play: Play, repo: Path) -> None:
    assert play("oracle").settlement.kind == "finished"
    assert (repo / "oracle.txt").exists()


def test_oracle_as_executor_commits_and_git_confirms_it(play: Play, repo: Path) -> None:
    played = play("oracle", role="executor")
    assert (played.settlement.kind, played.settlement.ok) == ("finished", True)
    assert played.settlement.commit == git(repo, "rev-parse", "HEAD")


def test_nop_changes_nothing(play: Play, repo: Path) -> None:
    played = play("nop")
    assert played.settlement.kind == "finished"
    assert git(repo, "status", "--porcelain") == ""


def test_liar_as_executor_is_contradicted_by_git(play: Play) -> None:
    played = play("liar", role="executor")
    assert not played.settlement.ok
    assert played.settlement.failure.kind is FailureKind.CONTRADICTED


def test_liar_as_player_claims_what_git_does_not_show(play: Play, repo: Path) -> None:
    played = play("liar")
    assert played.settlement.report["tests"] == "42 passed"
    assert git(repo, "status", "--porcelain") == ""


def test_demo_fails_its_tests_first_and_passes_after_the_feedback(play: Play, repo: Path) -> None:
    for name, content in files(sys.executable).items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(content, encoding="utf-8")
    first = play("demo", turn=1)
    assert first.settlement.kind == "finished"
    assert run_tests(repo) != 0
    seen = play("demo", role="verifier", purpose="exerciser", turn=1)
    assert '"FAILED"' in seen.turn.text

    second = play("demo", turn=2, prompt="TOTAL BLOCKING ITEMS: 1\n1. accents\nG-1 tester FAILED\n")
    assert second.settlement.kind == "finished"
    assert run_tests(repo) == 0
    assert [receipt["item"] for receipt in second.settlement.report["receipts"]] == ["1", "G-1"]
    seen = play("demo", role="verifier", purpose="exerciser", turn=2)
    assert '"PASSED"' in seen.turn.text


def test_last_turn_of_a_script_is_repeated() -> None:
    demo = load("demo")
    assert demo.steps("player", turn=9, resumes=0) == demo.steps("player", turn=2, resumes=0)
