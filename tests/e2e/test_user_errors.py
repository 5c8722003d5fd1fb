"""Every error that a user can cause is one message that says what, where, and what to do next."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Attempt = Callable[[int], list[dict[str, Any]]]


def one_message(ran: Any) -> str:
    assert "Traceback" not in ran.err
    text: str = ran.err
    return text


def test_no_plan_says_where_it_looked_and_ends_with_its_own_block(project: Any, verifiers: dict[str, Any]) -> None:
    project.configure({"player": [[{"finish": {}}]], **verifiers})
    project.git("rm", "--quiet", "docs/plans/value.md")
    ran = project.run()
    assert (ran.status, ran.block["STATUS"], ran.block["TURNS_USED"]) == (6, "FAILED_NO_PLAN", "0 of 10")
    assert "docs/plans" in one_message(ran)


@pytest.mark.parametrize("content", [None, "", " \n\n"])
def test_a_missing_or_empty_plan_ends_without_a_turn(
    project: Any, verifiers: dict[str, Any], content: str | None
) -> None:
    project.configure({"player": [[{"finish": {}}]], **verifiers})
    plan = project.path.parent / "plan.md"
    if content is not None:
        plan.write_text(content)
    ran = project.run("--plan-file", str(plan))
    assert (ran.status, ran.block["STATUS"]) == (6, "FAILED_NO_PLAN")
    assert str(plan) in one_message(ran)


def test_several_plans_are_named_when_nobody_can_be_asked(project: Any, verifiers: dict[str, Any]) -> None:
    project.configure({"player": [[{"finish": {}}]], **verifiers})
    (project.path / "docs/plans/other.md").write_text("# Other\n")
    ran = project.run()
    assert (ran.status, ran.block["STATUS"]) == (6, "FAILED_NO_PLAN")
    assert "docs/plans/other.md, docs/plans/value.md" in one_message(ran)


def test_a_folder_that_is_no_repository_says_what_to_do(project: Any, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    ran = project.run("--repo", str(plain))
    assert (ran.status, ran.out) == (2, "")
    assert "git init" in one_message(ran)


def test_a_bare_repository_is_refused(project: Any, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    project.git("init", "--quiet", "--bare", str(bare))
    ran = project.run("--repo", str(bare))
    assert (ran.status, ran.out) == (2, "")
    assert "bare" in one_message(ran)


def test_an_unknown_executor_names_the_installed_ones(project: Any) -> None:
    ran = project.run("--executor", "nobody")
    assert (ran.status, ran.out) == (2, "")
    message = one_message(ran)
    assert "'nobody'" in message
    assert "scripted" in message


def test_a_cli_that_is_not_installed_ends_failed_run_with_what_to_install(project: Any) -> None:
    (project.path / "touchline.yaml").write_text(
        json.dumps({"executors": {"claude": {"command": ["/nonexistent/claude"]}}, "run": {"executor": "claude"}})
    )
    ran = project.run()
    assert (ran.status, ran.block["STATUS"]) == (1, "FAILED_RUN")
    assert "/nonexistent/claude" in one_message(ran)


def test_no_agent_cli_at_all_says_what_to_install(project: Any, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("git", "env", "sh"):
        (tools / name).symlink_to(shutil.which(name) or "/bin/false")
    ran = project.run(env={"PATH": str(tools), "TOUCHLINE_CLIS": ""})
    assert (ran.status, ran.block["STATUS"]) == (1, "FAILED_RUN")
    assert "Install" in one_message(ran)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run:\n  max_turns: many\n", ["touchline.yaml", "run.max_turns"]),
        ("run:\n  max_turnz: 3\n", ["touchline.yaml", "max_turnz", "max_turns"]),
        ("run: [1\n", ["touchline.yaml"]),
        ("run: {max_turns: 3}\nrun: {max_turns: 4}\n", ["touchline.yaml"]),
    ],
)
def test_malformed_yaml_names_file_place_and_key(project: Any, text: str, words: list[str]) -> None:
    (project.path / "touchline.yaml").write_text(text)
    ran = project.run()
    assert (ran.status, ran.out) == (2, "")
    for word in words:
        assert word in one_message(ran)


def test_publishing_is_named_as_missing_and_exits_2(project: Any) -> None:
    ran = project.touchline("run", "--headless")
    assert (ran.status, ran.out) == (2, "")
    assert "--no-pr" in one_message(ran)


def test_changed_options_of_an_unfinished_run_are_refused_without_new(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [[{"fail": {"kind": "not-authenticated", "reason": "log in first"}}]], **verifiers})
    ran = project.run("--max-turns", "2")
    assert (ran.status, ran.block["STATUS"]) == (1, "FAILED_RUN")
    assert "log in first" in ran.err
    ran = project.run("--max-turns", "3")
    assert (ran.status, ran.out) == (2, "")
    assert "--max-turns (the run has 2, now 3)" in one_message(ran)
    assert "--new" in ran.err


def test_a_corrupt_ledger_is_reported_with_its_place_and_left_alone(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    assert project.run().status == 0
    path = project.folder / "ledger.json"
    broken = path.read_bytes()[:-200]
    path.write_bytes(broken)
    ran = project.run()
    assert (ran.status, ran.out) == (2, "")
    assert str(path) in one_message(ran)
    assert path.read_bytes() == broken


def test_the_dry_run_touches_nothing_and_tells_the_options(project: Any, clean_home: Path) -> None:
    def listed() -> list[Path]:
        # The plugin library's own list of installed entry points is no work of touchline's.
        return sorted(path for path in (*clean_home.rglob("*"), *project.path.rglob("*")) if ".cache" not in path.parts)

    before = listed()
    ran = project.touchline("run", "--no-pr", "--dry-run", "--json", "--severity", "7")
    assert ran.status == 0, ran.err
    shown = json.loads(ran.out)
    assert shown["accepted"] is True
    assert shown["effective"]["severity"] == 7
    assert shown["effective"]["mode"] == "no-pr"
    assert listed() == before
    refused = project.touchline("run", "--dry-run", "--json", "--severity", "11")
    assert refused.status == 2
    assert json.loads(refused.out)["accepted"] is False


def test_what_a_run_keeps_is_for_its_owner_alone(project: Any, attempt_of: Attempt, verifiers: dict[str, Any]) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    assert project.run().status == 0
    for path in (project.folder, *project.folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_the_dry_run_names_who_would_play_judge_exercise_and_test(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers}, tests={"command": ["make", "test"]})
    shown = json.loads(project.touchline("run", "--no-pr", "--dry-run", "--json", "--model", "m-1").out)["effective"]
    assert (shown["player"], shown["model"], shown["playerProblem"]) == ("play", "m-1", None)
    assert [(judge["name"], judge["by"], bool(judge["problem"])) for judge in shown["judges"]] == [
        ("codex-reviewer", "codex", True),
        ("reviewer", "scripted", False),
    ]
    assert shown["exerciser"] == {"by": "scripted", "problem": None}
    assert shown["tests"] == {"command": ["make", "test"], "origin": "configured"}
    told = project.touchline("run", "--no-ci", "--dry-run").out
    assert "\nplayer: play\n" in told
    assert "\nexerciser: a fresh session of scripted\n" in told
    assert "\ntests: make test (configured)\n" in told
    assert "\njudge: codex-reviewer (" in told


def test_the_dry_run_names_the_unfinished_run_that_would_go_on(project: Any, verifiers: dict[str, Any]) -> None:
    project.configure({"player": [[{"fail": {"kind": "not-authenticated", "reason": "log in first"}}]], **verifiers})
    assert project.run().status == 1
    number = project.ledger["runNumber"]
    argv = ("run", "--no-pr", "--dry-run", "--json")
    assert json.loads(project.touchline(*argv).out)["effective"]["continues"] == number
    assert json.loads(project.touchline(*argv, "--new").out)["effective"]["continues"] is None


def test_the_dry_run_says_why_nobody_could_play(project: Any) -> None:
    ran = project.touchline("run", "--no-pr", "--dry-run", "--json", "--executor", "clade")
    shown = json.loads(ran.out)
    assert (ran.status, shown["accepted"], shown["effective"]["player"]) == (0, True, None)
    assert "claude" in shown["effective"]["playerProblem"]
    told = project.touchline("run", "--no-pr", "--dry-run", "--executor", "clade").out
    assert "\nplayer: none (cannot play: " in told


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("run", "--executor", "clade"), "claude"),
        (("run", "--reviewer", "nobody"), "nobody"),
        (("-p", "no_such_module", "run"), "no_such_module"),
        (("run", "--epic-quarantine", "/no/such/folder/q.json"), "/no/such/folder"),
    ],
)
def test_what_a_run_would_lack_is_refused_before_there_is_a_run_that_keeps_the_mistake(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any], argv: tuple[str, ...], named: str
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    refused = project.touchline(*argv, "--no-pr", "--headless")
    assert (refused.status, refused.out) == (2, "")
    assert named in one_message(refused)
    corrected = project.run("--executor", "play", "--max-turns", "1")
    assert (corrected.status, corrected.block["STATUS"]) == (0, "APPROVED_NO_PR")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_standard_stream_changes_nothing_of_the_run(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any], closed: str
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    line = f'exec "$0" -m touchline run --no-pr --headless {closed}'
    done = subprocess.run(["sh", "-c", line, sys.executable], cwd=project.path, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert project.ledger["terminal"]["status"] == "APPROVED_NO_PR"
    assert (done.stdout == b"") == (">&-" in closed.replace("2>&-", ""))


@pytest.mark.parametrize("role", ["reviewers", "exerciser"])
def test_a_verifier_that_cannot_work_is_found_before_a_turn_is_spent(project: Any, attempt_of: Any, role: str) -> None:
    there = {"reviewers": [{"name": "judge", "command": ["true"]}], "exerciser": {"command": ["true"]}}
    away = {"reviewers": [{"name": "judge", "executor": "claude"}], "exerciser": {"executor": "claude"}}
    project.configure({"player": [attempt_of(3)]}, **(there | {role: away[role]}))
    script = {"driver": "scripted", "script": str(project.path.parent / "script.json")}
    missing = {"claude": {"command": ["/nonexistent/claude"]}}
    settings = json.loads((project.path / "touchline.yaml").read_text())
    settings["executors"] = {"play": script, **missing}
    (project.path / "touchline.yaml").write_text(json.dumps(settings))
    ran = project.run()
    assert (ran.status, ran.out) == (2, "")
    assert "cannot be used" in ran.err or "can be used" in ran.err
    assert not list(Path(os.environ["XDG_STATE_HOME"]).glob("player-coach/*/*/ledger.json"))
