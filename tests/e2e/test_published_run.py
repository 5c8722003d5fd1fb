"""Published runs on a plain git remote: branch, commits, draft, verification of the pushed commit, a truthful body."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Attempt = Callable[[int], list[dict[str, Any]]]


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


def test_dirty_tracked_files_are_refused_by_name(project: Any, remote: Path, attempt_of: Attempt) -> None:
    quick(project, [attempt_of(3)])
    (project.path / ".gitignore").write_text("changed\n")
    ran = publish(project)
    assert (ran.status, ran.out) == (2, "")
    assert ".gitignore" in ran.err
    assert "--allow-dirty" in ran.err


def test_what_people_write_into_the_text_during_the_run_stays_byte_for_byte(
    project: Any, remote: Path, attempt_of: Attempt
) -> None:
    """Between the two turns somebody writes above and below our part, and quotes our markers."""
    person = project.path.parent / "person.py"
    person.write_text(
        "from pathlib import Path\n"
        "from touchline.testing.forges import BareBackdoor\n"
        f"door = BareBackdoor(Path({str(remote)!r}))\n"
        "body = 'See <!-- touchline:begin --> \\r\\n\\t' + door.changes()[0].body + 'Below: \\u2603  '\n"
        "door.edit(1, title='Their own title', body=body)\n"
    )
    edit = {"run": {"command": f"{sys.executable} {person}", "expect": "ok"}}
    quick(project, [attempt_of(1), [edit, *attempt_of(3)]], permissions={"allow": [f"bash({sys.executable} *)"]})
    ran = publish(project)
    assert (ran.status, ran.block["STATUS"]) == (0, "APPROVED_DRAFT_OPEN"), ran.err
    change = record(remote)
    assert change["title"] == "Their own title"
    before, _, rest = change["body"].partition("<!-- touchline:begin -->\n\n<!-- This part")
    assert before == "See <!-- touchline:begin --> \r\n\t"
    assert rest.partition("<!-- touchline:end -->")[2] == "\nBelow: \u2603  "
    assert "- Status: **APPROVED_DRAFT_OPEN**" in rest


def test_the_start_says_what_will_happen_where_and_who_checks_it(
    project: Any, remote: Path, attempt_of: Attempt
) -> None:
    quick(project, [attempt_of(3)], tests={"command": ["true"], "baseline": False})
    ran = publish(project, "--max-turns=4", "--severity=6", "--model=m-1")
    assert ran.status == 0, ran.err
    told = ran.err.partition("[turn 1 of 4")[0].splitlines()
    number = project.ledger["runNumber"]
    for line in (
        f"starting run {number}: Set the value",
        "plan:      docs/plans/value.md",
        "branch:    touchline/set-the-value -> main (upstream/main); published as a draft, CI is yours",
        "budget:    4 turns, severity 6 and above blocks",
        "player:    play (model m-1)",
        "judge:     judge (the first that is available)",
        "exerciser: true",
        "tests:     true (configured)",
        f"ledger:    {project.folder / 'ledger.json'}",
    ):
        assert line in told, ran.err
