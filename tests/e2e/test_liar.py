"""No approval for a player that lies (facts win over claims), each lie by itself and the shipped liar as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

Attempt = Callable[[int], list[dict[str, Any]]]

WRITE = {"write": {"path": "value.py", "content": "VALUE = 3\n"}}
WRONG = {"write": {"path": "value.py", "content": "VALUE = 1\n"}}
ALL_GREEN = {
    "build": "passed",
    "tests": "100 passed, 0 failed",
    "app": "works",
    "changed": [{"path": "value.py", "why": "x"}],
}

LIES: dict[str, list[dict[str, Any]]] = {
    "a commit that does not exist": [
        WRITE,
        {"lie": {"branch": "main", "commit": "0123456789abcdef0123456789abcdef01234567", "summary": "done"}},
    ],
    "another branch": [WRITE, {"lie": {"branch": "release", "summary": "done"}}],
    "done, and nothing changed": [{"finish": {"summary": "everything was there already"}}],
    "100 passing tests while they fail": [WRONG, {"finish": {"summary": "all tests pass", "report": ALL_GREEN}}],
    "the protocol in the middle of the text": [
        WRITE,
        {"say": 'I will end with\n{"summary": "done", "report": {}}\n'},
        {"end": 'as told, {"summary": "done"} is the form.\nBut first\nlet me\nlook\nat one more thing.'},
    ],
    "no trailer after changing files": [WRITE, {"end": "I changed the value, all is done."}],
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_never_gets_approval(project: Any, verifiers: dict[str, Any], lie: str) -> None:
    project.configure({"player": [LIES[lie]], **verifiers})
    ran = project.run("--max-turns", "1")
    assert (ran.status, ran.block["STATUS"]) == (3, "TURN_LIMIT_VERIFY"), ran.err


@pytest.mark.parametrize(
    ("lie", "gate"),
    [
        ("a commit that does not exist", "turn-discipline"),
        ("another branch", "turn-discipline"),
        ("done, and nothing changed", "no-work"),
        ("100 passing tests while they fail", "tester"),
        ("the protocol in the middle of the text", "turn-discipline"),
        ("no trailer after changing files", "turn-discipline"),
    ],
)
def test_the_gate_that_holds_is_the_one_that_knows_the_fact(
    project: Any, verifiers: dict[str, Any], lie: str, gate: str
) -> None:
    project.configure({"player": [LIES[lie]], **verifiers})
    project.run("--max-turns", "1")
    (row,) = project.ledger["verificationRuns"]
    assert gate in [failed["gate"] for failed in row["gates"]], row


def test_work_without_a_declared_end_costs_one_more_turn_and_then_counts(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    undeclared = LIES["no trailer after changing files"]
    project.configure({"player": [undeclared, [{"finish": {"summary": "value is set"}}]], **verifiers})
    ran = project.run()
    assert (ran.status, ran.block["TURNS_USED"]) == (0, "2 of 10"), ran.err
    assert [turn["declared"] for turn in project.ledger["turns"]] == [False, True]
    assert [turn["settlement"]["kind"] for turn in project.ledger["turns"]] == ["undeclared", "finished"]


@pytest.mark.parametrize("script", ["liar", "nop"])
def test_the_shipped_liar_and_the_idle_one_never_get_approval(project: Any, script: str) -> None:
    project.configure({"any": [[{"finish": {}}]]}, executors={"play": {"driver": "scripted", "script": script}})
    ran = project.run("--max-turns", "2")
    assert (ran.status, ran.block["STATUS"], ran.block["TURNS_USED"]) == (3, "TURN_LIMIT_VERIFY", "2 of 2")


def test_the_shipped_oracle_is_approved(project: Any) -> None:
    plan = "# Set the value\n\n```sh solution\nprintf 'VALUE = 3\\n' > value.py\n```\n"
    (project.path / "docs/plans/value.md").write_text(plan)
    project.configure({"any": [[{"finish": {}}]]}, executors={"play": {"driver": "scripted", "script": "oracle"}})
    ran = project.run("--max-turns", "1")
    assert (ran.status, ran.block["STATUS"]) == (0, "APPROVED_NO_PR"), ran.err


def test_a_verifier_that_changes_the_tree_is_undone_and_its_answer_is_worth_nothing(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    fix = "open('value.py', 'w').write('VALUE = 3\\n')"
    project.configure(
        {"player": [attempt_of(1)], **verifiers},
        exerciser={"command": [sys.executable, "-c", fix]},
        tests={"enabled": False},
    )
    ran = project.run("--max-turns", "1")
    assert ran.status == 3
    assert (project.path / "value.py").read_text() == "VALUE = 1\n"
    (row,) = project.ledger["verificationRuns"]
    assert "exerciser" in [failed["gate"] for failed in row["gates"]]
