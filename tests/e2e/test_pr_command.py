"""`touchline pr` on a plain git remote: each operation's block byte for byte, and nothing done that was not seen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.commands.pr_block import failure_rows, rendered, reviewer_line
from touchline.errors import Observed
from touchline.forge import ReviewRequest

BRANCH = "topic"


class Desk:
    """A project with a remote and a branch of one commit, and what `touchline pr` is to say of them."""

    def __init__(self, project: Any, bare: Path) -> None:
        self.project = project
        self.bare = bare
        self.repository = f"file:{bare.with_suffix('')}"

    def pr(self, *argv: str, status: int = 0, stdin: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "touchline", "pr", *argv],
            cwd=self.project.path,
            input=stdin,
            capture_output=True,
            timeout=120,
            text=True,
        )
        assert done.returncode == status, done.stdout + done.stderr
        self.err = done.stderr
        return done.stdout

    def git(self, *argv: str) -> str:
        return str(self.project.git(*argv)).strip()

    def at_remote(self, *argv: str) -> str:
        done = subprocess.run(["git", *argv], cwd=self.bare, check=True, timeout=30, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, name: str, content: str = "x\n") -> str:
        (self.project.path / name).write_text(content)
        self.git("add", name)
        self.git("commit", "--quiet", "--message", f"Add {name}")
        return self.git("rev-parse", "HEAD")

    def record(self) -> dict[str, Any]:
        (ref,) = self.at_remote("for-each-ref", "--format=%(refname)", "refs/touchline/changes/").split()
        loaded: dict[str, Any] = json.loads(self.at_remote("show", f"{ref}:change.json"))
        return loaded

    def block(self, operation: str, state: str, head: str, *, comment: str = "none", reviewer: str = "none") -> str:
        """The success block of the only change."""
        return self._block(operation, f"{self.bare}#change-1", "1", state, head, comment, f"{BRANCH} -> main", reviewer)

    def without_change(self, operation: str, head: str) -> str:
        return self._block(operation, "none", "none", "none", head, "none", "none", "none")

    def _block(self, operation: str, url: str, number: str, state: str, head: str, *rest: str) -> str:
        comment, target, reviewer = rest
        return (
            f"OPERATION: {operation}\nPR_URL: {url}\nPR_NUMBER: {number}\nPR_STATE: {state}\nHEAD_SHA: {head}\n"
            f"BASE_REPOSITORY: {self.repository}\nHEAD_REPOSITORY: {self.repository}\n"
            "BASE_REMOTE: upstream\nPUSH_REMOTE: upstream\nMERGE_QUEUE: none\n"
            f"COMMENT_ID: {comment}\nTARGET: {target}\nREVIEWER: {reviewer}\n"
        )


@pytest.fixture
def desk(project: Any, remote: Path) -> Desk:
    project.configure({"player": []})
    project.git("push", "--quiet", "upstream", "main")
    project.git("switch", "--quiet", "--create", BRANCH)
    return Desk(project, remote)


@pytest.mark.slow
def test_a_change_goes_from_its_push_to_ready_and_each_block_tells_what_was_observed(desk: Desk) -> None:
    head = desk.commit("a")
    assert desk.pr("push") == desk.without_change("push", head)
    body = desk.project.path.parent / "body.md"
    body.write_text("What it does.\n")
    drafted = desk.pr("draft", "--title", "Add a", "--body-file", str(body), "--request-review", "ann")
    assert drafted == desk.block("draft", "draft", head, reviewer="not-requested (generic cannot ask for reviews)")
    head = desk.commit("b")
    assert desk.pr("push") == desk.block("push", "draft", head)
    assert desk.pr("inspect") == desk.pr("inspect", "1") == desk.pr("inspect", BRANCH)
    assert desk.pr("inspect", f"{desk.bare}#change-1") == desk.block("inspect", "draft", head)
    assert desk.pr("update", "--title", "Add a and b") == desk.block("update", "draft", head)
    assert (desk.record()["title"], desk.record()["body"]) == ("Add a and b", "What it does.\n")
    said = desk.pr("comment", "1", "--body-file", "-", stdin="Look at b.")
    comment = said.partition("COMMENT_ID: ")[2].partition("\n")[0]
    assert comment != "none"
    assert said == desk.block("comment", "draft", head, comment=comment)
    assert desk.pr("comment", "1", "--body-file", "-", stdin="Look at b.") == said
    assert desk.pr("ready", "--head", head) == desk.block("ready", "ready", head)
    shown = json.loads(desk.pr("inspect", "--json"))
    assert "".join(f"{key}: {value}\n" for key, value in shown.items()) == desk.block("inspect", "ready", head)


def test_a_failure_tells_the_last_facts_and_what_to_do(desk: Desk) -> None:
    head = desk.commit("a")
    desk.pr("draft", "--title", "Add a")
    told = desk.pr("ready", "1", "--head", "0" * 40, status=5)
    reason = told.partition("REASON: ")[2].partition("\n")[0]
    assert reason
    assert told == (
        f"OPERATION_FAILED: ready\nPROVIDER: generic\nREASON: {reason}\nPR_URL: {desk.bare}#change-1\nPR_NUMBER: 1\n"
        f"PR_STATE: draft\nHEAD_SHA: {head}\nMERGE_QUEUE: none\nCOMMENT_ID: none\n"
    )
    assert reason in desk.err
    assert desk.record()["state"] == "draft"


def test_nothing_was_seen_of_a_change_that_is_not_there(desk: Desk) -> None:
    desk.commit("a")
    told = desk.pr("inspect", "7", status=5)
    assert told.startswith("OPERATION_FAILED: inspect\nPROVIDER: generic\nREASON: ")
    assert told.endswith(
        "PR_URL: none\nPR_NUMBER: none\nPR_STATE: none\nHEAD_SHA: none\nMERGE_QUEUE: none\nCOMMENT_ID: none\n"
    )


def test_a_draft_that_cannot_be_opened_pushes_nothing(desk: Desk) -> None:
    assert "nothing to open a draft for" in desk.pr("draft", "--title", "Add a", status=5)
    desk.commit("a")
    for title in ("", " ", "one\ntwo", "\x1b[2J"):
        assert desk.pr("draft", "--title", title, status=2) == ""
    assert desk.at_remote("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


def test_commits_of_somebody_else_are_not_overwritten(desk: Desk) -> None:
    desk.commit("a")
    desk.pr("push")
    theirs = desk.at_remote("commit-tree", "-p", BRANCH, "-m", "theirs", f"{BRANCH}^{{tree}}")
    desk.at_remote("update-ref", f"refs/heads/{BRANCH}", theirs)
    desk.commit("b")
    told = desk.pr("push", status=5)
    assert theirs in told
    assert desk.at_remote("rev-parse", BRANCH) == theirs


def test_a_secret_in_any_commit_of_the_branch_stops_the_push_and_one_in_a_text_is_replaced(desk: Desk) -> None:
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA0" * 3 + "\n-----END RSA " + "PRIVATE KEY-----\n"
    desk.commit("key", key)
    desk.git("rm", "--quiet", "key")
    desk.git("commit", "--quiet", "--message", "Take it out")
    told = desk.pr("draft", "--title", "Add a", status=5)
    assert "suspected secrets" in told
    assert desk.at_remote("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    desk.git("reset", "--quiet", "--hard", "main")
    desk.commit("a")
    desk.pr("draft", "--title", "Add a", "--body-file", "-", stdin=f"see {key}")
    assert "MIIEpAIBAAKCAQEA0" not in json.dumps(desk.record())
    assert "redacted-" in desk.record()["body"]


def test_a_configured_kind_of_secret_stops_the_push_of_a_run_and_by_hand(desk: Desk, attempt_of: Any) -> None:
    desk.git("switch", "--quiet", "main")
    verifiers = {"reviewers": [{"name": "judge", "command": ["true"]}], "exerciser": {"command": ["true"]}}
    leak = [{"write": {"path": "note", "content": "key acme-123456\n"}}, *attempt_of(3)]
    desk.project.configure({"player": [leak]}, secrets={"patterns": {"acme": "acme-(?P<value>[0-9]{6})"}}, **verifiers)
    desk.git("push", "--quiet", "upstream", "main")
    ran = desk.project.touchline("run", "--headless", "--no-ci")
    assert (ran.status, ran.block["STATUS"]) == (5, "FAILED_PUBLISH"), ran.err
    assert "suspected secrets" in ran.err
    assert "acme-123456" not in ran.err + ran.out
    desk.git("switch", "--quiet", "--force", "--create", "other", "main")
    desk.commit("note", "key acme-123456\n")
    assert "suspected secrets" in desk.pr("push", status=5)
    assert desk.at_remote("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


def test_what_a_player_configured_on_the_branch_of_its_run_runs_no_command(desk: Desk, attempt_of: Any) -> None:
    owned = desk.bare.parent / "owned"
    forge = {"file": {"commands": {"inspect": ["sh", "-c", f"touch {owned}; exit 1"]}}}
    written = {"write": {"path": "touchline.yaml", "content": json.dumps({"forge": forge})}}
    desk.git("switch", "--quiet", "main")
    verifiers = {"reviewers": [{"name": "judge", "command": ["true"]}], "exerciser": {"command": ["true"]}}
    desk.project.configure({"player": [[written, *attempt_of(3)]]}, **verifiers)
    desk.git("push", "--quiet", "upstream", "main")
    ran = desk.project.touchline("run", "--headless", "--no-ci", "--max-turns=1")
    assert ran.block["PR_STATE"] == "draft", ran.err
    assert "PR_STATE: draft\n" in desk.pr("inspect")
    assert not owned.exists()
    # A person's own branch: there it is their configuration.
    desk.git("switch", "--quiet", "--create", "mine")
    desk.pr("inspect", "1", status=5)
    assert owned.exists()


def test_push_settings_that_changed_while_a_run_went_on_are_refused(desk: Desk, attempt_of: Any) -> None:
    elsewhere = desk.bare.with_name("elsewhere.git")
    desk.git("clone", "--quiet", "--bare", str(desk.bare), str(elsewhere))
    (desk.project.path / "redirect").write_text(f"#!/bin/sh\ngit config remote.upstream.pushurl {elsewhere}\n")
    (desk.project.path / "redirect").chmod(0o755)
    desk.git("switch", "--quiet", "main")
    turn = [{"run": {"command": "./redirect", "expect": "ok"}}, {"fail": {"kind": "not-authenticated", "reason": "x"}}]
    verifiers = {"reviewers": [{"name": "judge", "command": ["true"]}], "exerciser": {"command": ["true"]}}
    desk.project.configure({"player": [turn]}, **verifiers, permissions={"allow": ["bash(./redirect)"]})
    desk.git("push", "--quiet", "upstream", "main")
    ran = desk.project.touchline("run", "--headless", "--no-ci")
    assert ran.block["STATUS"] == "FAILED_RUN", ran.err
    told = desk.pr("push", status=5)
    assert told.startswith("OPERATION_FAILED: push\n")
    assert "pushurl" in told
    assert "touchline/" not in desk.git("--git-dir", str(elsewhere), "for-each-ref")


def test_the_target_is_never_pushed_and_what_is_no_reference_is_refused_without_a_block(desk: Desk) -> None:
    for argv in (("inspect", "--", "-x"), ("update",), ("comment",), ("ready", "--head", "abc")):
        assert desk.pr(*argv, status=2) == ""
    desk.git("switch", "--quiet", "main")
    desk.commit("a")
    before = desk.at_remote("rev-parse", "main")
    assert desk.pr("push", status=2) == ""
    assert "where changes go" in desk.err
    desk.git("push", "--quiet", "upstream", "main~1:refs/heads/develop")
    for target in ("develop", "--upload-pack=touch x", ""):
        assert desk.pr("draft", "--title", "x", f"--target={target}", status=2) == ""
    desk.git("switch", "--quiet", "--detach")
    assert desk.pr("draft", "--title", "x", status=2) == ""
    assert desk.at_remote("rev-parse", "main") == before


def test_what_is_no_number_no_text_and_no_commit_is_said_without_an_accident(desk: Desk) -> None:
    assert desk.pr("inspect", "9" * 5000, status=2) == ""
    long = desk.bare.parent / "long"
    long.write_text("x" + "\u00e9" * 600_000)
    assert desk.pr("comment", "1", "--body-file", str(long), status=2) == ""
    assert "is longer than" in desk.err
    told = desk.pr("inspect", "http://me:tok-5577-secret-value@127.0.0.1:9/widget.git", status=5)
    assert "tok-5577" not in told + desk.err
    desk.git("switch", "--quiet", "--orphan", "empty")
    assert desk.pr("push", status=2) == ""
    assert desk.pr("draft", "--title", "x", status=2) == desk.pr("ready", "1", status=2) == ""
    desk.git("config", "core.repositoryFormatVersion", "1")
    desk.git("config", "extensions.unheardOf", "true")
    desk.pr("inspect", status=2)
    assert "Traceback" not in desk.err


def test_a_remote_that_is_gone_is_a_failure_before_anything_is_done(desk: Desk) -> None:
    desk.commit("a")
    desk.bare.rename(desk.bare.with_suffix(".away"))
    told = desk.pr("draft", "--title", "Add a", status=5)
    assert told.startswith("OPERATION_FAILED: draft\n")
    assert "HEAD_SHA: none\n" in told


@given(st.text(), st.text())
def test_no_text_adds_a_line_to_a_block(reason: str, url: str) -> None:
    text = rendered(failure_rows("ready", "generic", reason, Observed(url=url)), as_json=False)
    assert [line.partition(": ")[0] for line in text.splitlines()] == [
        key for key, _ in failure_rows("", "", "", Observed())
    ]


def test_what_came_of_a_request_for_review_is_told() -> None:
    assert reviewer_line(ReviewRequest(("ann", "bob"))) == "requested (ann, bob)"
    assert reviewer_line(ReviewRequest((), {"ann": "is the author"})) == "failed (ann: is the author)"
