"""Published runs on a plain git remote: branch, commits, draft, verification of the pushed commit, a truthful body."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Attempt = Callable[[int], list[dict[str, Any]]]


@pytest.fixture
def remote(project: Any, tmp_path: Path) -> Path:
    """A bare repository that the project pushes to."""
    bare = tmp_path / "remote.git"
    project.git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    project.git("remote", "add", "upstream", str(bare))
    return bare


def quick(project: Any, player: list[Any], **sections: Any) -> None:
    """A published project whose judge and exerciser are commands."""
    project.configure(
        {"player": player},
        reviewers=[{"name": "judge", "command": ["true"]}],
        exerciser={"command": ["true"]},
        **sections,
    )
    project.git("push", "--quiet", "upstream", "main")


def publish(project: Any, *argv: str, **values: Any) -> Any:
    return project.touchline("run", "--headless", "--no-ci", *argv, **values)


def at(bare: Path, *argv: str) -> str:
    done = subprocess.run(["git", *argv], cwd=bare, check=True, timeout=30, capture_output=True)
    return os.fsdecode(done.stdout)


def record(bare: Path) -> dict[str, Any]:
    """The only change request as the remote holds it."""
    (ref,) = at(bare, "for-each-ref", "--format=%(refname)", "refs/touchline/changes/").split()
    loaded: dict[str, Any] = json.loads(at(bare, "show", f"{ref}:change.json"))
    return loaded


def test_two_turns_become_two_commits_and_an_approved_draft(project: Any, remote: Path, attempt_of: Attempt) -> None:
    quick(project, [attempt_of(1), attempt_of(3)])
    main = project.git("rev-parse", "main").strip()
    ran = publish(project)
    assert ran.status == 0, ran.err
    branch = "touchline/set-the-value"
    head = at(remote, "rev-parse", branch).strip()
    block = ran.block
    assert block == {
        "STATUS": "APPROVED_DRAFT_OPEN",
        "PR_URL": block["PR_URL"],
        "PR_STATE": "draft",
        "BRANCH": f"{branch} -> main",
        "HEAD_SHA": head,
        "REMOTE_HEAD_SHA": head,
        "TURNS_USED": "2 of 10",
        "VERIFY_RUNS": block["VERIFY_RUNS"],
        "REVIEWER": "judge",
    }
    assert block["PR_URL"].endswith("remote.git#change-1")
    assert project.git("rev-parse", "HEAD").strip() == head
    assert project.git("status", "--porcelain") == ""
    subjects = at(remote, "log", "--format=%s", f"{main}..{branch}").splitlines()
    assert subjects == ["Set the value to 3", "Set the value to 1"]
    decisions = [row["decision"] for row in project.ledger["verificationRuns"]]
    assert decisions == ["FEEDBACK", "APPROVED", "APPROVED"]
    assert [row["fullAudit"] for row in project.ledger["verificationRuns"]] == [True, False, True]
    assert at(remote, "rev-parse", "main").strip() == main


def test_the_body_tells_the_run_from_the_ledger(project: Any, remote: Path, attempt_of: Attempt) -> None:
    hostile = attempt_of(3)
    hostile[-1] = {"finish": {"summary": "fix\n## Final State\n<!-- touchline:end --> @everyone closes #1"}}
    quick(project, [hostile])
    ran = publish(project)
    assert ran.status == 0, ran.err
    body = record(remote)["body"]
    assert "- Status: **APPROVED_DRAFT_OPEN**" in body
    assert body.count("\n## Final State\n") == 1
    assert body.count("<!-- touchline:end -->") == 1
    assert "@everyone" not in body
    assert "#1" not in body


def test_a_run_that_never_changes_anything_has_nothing_to_publish(project: Any, remote: Path) -> None:
    quick(project, [[{"finish": {"summary": "nothing to do"}}]])
    ran = publish(project, "--max-turns", "1")
    assert (ran.status, ran.block["STATUS"], ran.block["PR_URL"]) == (5, "FAILED_PUBLISH", "none"), ran.err
    assert "no real commit" in ran.err
    assert at(remote, "for-each-ref", "refs/touchline") == ""


def test_a_secret_in_the_change_stops_before_the_commit(project: Any, remote: Path) -> None:
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\\n" + "MIIEpAIBAAKCAQEA0" * 3 + "\\n-----END RSA " + "PRIVATE KEY-----"
    leak = {"write": {"path": "value.py", "content": f'VALUE = 3\nKEY = """{key}"""\n'}}
    quick(project, [[leak, {"finish": {"summary": "set the value"}}]])
    ran = publish(project, "--max-turns", "1")
    assert (ran.status, ran.block["STATUS"]) == (5, "FAILED_PUBLISH"), ran.err
    assert "MIIEpAIBAAKCAQEA0" not in ran.err + json.dumps(project.ledger)
    assert at(remote, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


def test_the_turn_limit_leaves_the_draft_open_and_says_what_blocks(
    project: Any, remote: Path, attempt_of: Attempt
) -> None:
    quick(project, [attempt_of(1)])
    ran = publish(project, "--max-turns", "1")
    assert (ran.status, ran.block["STATUS"], ran.block["PR_STATE"]) == (3, "TURN_LIMIT_VERIFY", "draft"), ran.err


def test_a_remote_that_is_gone_fails_before_a_turn_is_spent(project: Any, remote: Path, attempt_of: Attempt) -> None:
    quick(project, [attempt_of(3)])
    remote.rename(remote.with_suffix(".away"))
    ran = publish(project)
    assert (ran.status, ran.block["STATUS"], ran.block["TURNS_USED"]) == (5, "FAILED_PUBLISH", "0 of 10"), ran.err
    assert project.git("branch", "--show-current") == "main\n"


def test_a_commit_of_somebody_else_on_the_branch_is_never_overwritten(
    project: Any, remote: Path, attempt_of: Attempt, tmp_path: Path
) -> None:
    push = "git clone -q ../remote.git other && cd other && git switch -q touchline/set-the-value && "
    push += "echo theirs > theirs && git add . && git -c user.name=o -c user.email=o@e commit -qm theirs && git push -q"
    (project.path / "foreign").write_text(
        f"#!/bin/sh\ncd {tmp_path} && mkdir -p x && cd x && {push}\n".replace("../", f"{tmp_path}/")
    )
    (project.path / "foreign").chmod(0o755)
    second = [{"run": {"command": "./foreign"}}, *attempt_of(3)]
    quick(project, [attempt_of(1), second], permissions={"allow": ["bash(./foreign)"]})
    ran = publish(project)
    assert (ran.status, ran.block["STATUS"]) == (5, "FAILED_PUBLISH"), ran.err
    assert at(remote, "log", "-1", "--format=%s", "touchline/set-the-value") == "theirs\n"


def test_dirty_tracked_files_are_refused_by_name(project: Any, remote: Path, attempt_of: Attempt) -> None:
    quick(project, [attempt_of(3)])
    (project.path / ".gitignore").write_text("changed\n")
    ran = publish(project)
    assert (ran.status, ran.out) == (2, "")
    assert ".gitignore" in ran.err
    assert "--allow-dirty" in ran.err
