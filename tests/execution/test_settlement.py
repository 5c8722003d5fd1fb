"""An executed turn is settled by the shared rules with the facts of git; a driver adds its guard and nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from touchline.api import Failure, FailureKind, QuestionAsked, TextDelta, TurnEnded
from touchline.execution import ExecutedTurn, settle_turn
from touchline.git.repository import Repository

Execute = Callable[..., ExecutedTurn]


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=repo, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout.strip()


def settled(driver: Any, turn: ExecutedTurn, repo: Path, start: str, **options: Any) -> Any:
    one = driver(lambda request, host: [])
    options.setdefault("role", "player")
    return settle_turn(one, turn, repo=Repository.open(repo), start_commit=start, **options)


def test_player_that_changed_the_tree_without_a_trailer_is_undeclared(
    execute: Execute, driver: Any, repo: Path
) -> None:
    head = git(repo, "rev-parse", "HEAD")
    verdict = settled(driver, execute([TurnEnded("All done.")]), repo, head, tree_changed=True)
    assert (verdict.kind, verdict.branch, verdict.commit) == ("undeclared", "main", head)


def test_player_whose_tree_is_not_known_is_never_undeclared(execute: Execute, driver: Any, repo: Path) -> None:
    verdict = settled(driver, execute([TurnEnded("All done.")]), repo, "", tree_changed=None)
    assert verdict.kind == "asked"


def test_executor_is_finished_only_with_a_commit_that_git_confirms(execute: Execute, driver: Any, repo: Path) -> None:
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "commit", "-q", "--allow-empty", "-m", "work")
    trailer = {"branch": "main", "commit": git(repo, "rev-parse", "HEAD"), "summary": "work"}
    turn = execute([TurnEnded(json.dumps(trailer))])
    assert settled(driver, turn, repo, start, role="executor").kind == "finished"
    assert settled(driver, turn, repo, trailer["commit"], role="executor").kind == "failed"


def test_git_query_that_fails_is_never_new_work(execute: Execute, driver: Any, repo: Path) -> None:
    handle = Repository.open(repo)
    start = git(repo, "rev-parse", "HEAD")
    (repo / ".git" / "HEAD").write_text("broken\n")
    turn = execute([TurnEnded("Everything is committed.")])
    verdict = settle_turn(driver(lambda request, host: []), turn, role="executor", repo=handle, start_commit=start)
    assert verdict.kind == "asked"


def test_failed_turn_keeps_its_partial_text_and_its_kind(execute: Execute, driver: Any, repo: Path) -> None:
    turn = execute([TextDelta("I was about to"), TurnEnded("", Failure(FailureKind.MODEL_ERROR, "500"))])
    verdict = settled(driver, turn, repo, "")
    assert (verdict.kind, verdict.text, verdict.failure.kind) == ("failed", "I was about to", FailureKind.MODEL_ERROR)


def test_native_question_reaches_the_guard(execute: Execute, driver: Any, repo: Path) -> None:
    turn = execute([QuestionAsked("q", "Which one?"), TurnEnded("")])
    verdict = settled(driver, turn, repo, "")
    assert (verdict.kind, verdict.question) == ("asked", "Which one?")


def test_guard_that_raises_is_a_failed_turn_with_the_drivers_name(execute: Execute, driver: Any, repo: Path) -> None:
    class Broken(driver):  # type: ignore[misc]
        def settle_without_work(self, *arguments: object) -> Any:
            raise KeyError("guard")

    one = Broken(lambda request, host: [])
    turn = execute([TurnEnded("Hm?")])
    verdict = settle_turn(one, turn, role="player", repo=Repository.open(repo), start_commit="")
    assert verdict.kind == "failed"
    assert "plain could not settle the turn: KeyError" in verdict.fail_reason
