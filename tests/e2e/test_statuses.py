"""Every status that a run can end with here, reached for real, its terminal block compared byte for byte (spec page 5).

The whole of stdout is compared, and what `--json` prints with it. Each published ending with an open change request
must tell the same at the remote: status, last verified SHA, turns and verification runs.

Not reached here, because waiting for CI is not part of this version and `run` refuses it before anything is touched:
READY_FOR_REVIEW (needs green CI), TURN_LIMIT_CI (needs CI that fails or does not end) and FAILED_CI_BLOCKED (needs a
reading of CI).
"""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from status_scene import BRANCH, Scene, block, end, started, stopped

from touchline.coach.terminal import EXIT_STATUS
from touchline.documents.ledger import Status
from touchline.testing.forges import BareBackdoor

NOT_HERE = {"READY_FOR_REVIEW", "TURN_LIMIT_CI", "FAILED_CI_BLOCKED"}
REACHED: set[str] = set()
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\\n" + "MIIEpAIBAAKCAQEA0" * 3 + "\\n-----END RSA " + "PRIVATE KEY-----"

Attempt = Callable[[int], list[dict[str, Any]]]
Test = Callable[..., None]


def reaches(status: Status) -> Callable[[Test], Test]:
    """Marks a test by the status that it reaches; the last test holds them against the documents."""

    def mark(test: Test) -> Test:
        REACHED.add(status)
        return test

    return mark


@pytest.fixture
def scene(project: Any, remote: Path) -> Scene:
    return Scene(project, remote)


@pytest.fixture
def local(scene: Scene) -> Scene:
    scene.published = False
    return scene


# --- published ---------------------------------------------------------------------------------------------


@reaches("APPROVED_DRAFT_OPEN")
def test_an_approved_published_run(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(1), attempt_of(3))
    ran = scene.project.touchline("run", "--headless", "--no-ci", timeout_s=120)
    scene.prints(ran, "APPROVED_DRAFT_OPEN", **scene.opened(TURNS_USED="2 of 10", VERIFY_RUNS="3"))
    assert scene.head == scene.tip()
    scene.as_json()


@reaches("APPROVED_READY_OPEN")
def test_a_change_that_people_made_ready_stays_ready(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(1))
    door = BareBackdoor(scene.remote)
    assert scene.project.touchline("run", "--headless", "--no-ci", "--max-turns=1").status == 3
    door.set_state(1, "ready")
    door.edit(1, body=f"Written by hand.\r\n\n{door.changes()[0].body}And below.  ")
    script = scene.project.path.parent / "script.json"
    script.write_text(json.dumps({"version": 1, "player": [attempt_of(3)]}))
    ran = scene.project.touchline("run", "--headless", "--no-ci", timeout_s=120)
    values = scene.opened(TURNS_USED="1 of 10", VERIFY_RUNS=ran.block["VERIFY_RUNS"], PR_STATE="ready")
    scene.prints(ran, "APPROVED_READY_OPEN", **values)
    body = door.changes()[0].body
    assert body.startswith("Written by hand.\r\n\n<!-- touchline:begin -->")
    assert body.endswith("<!-- touchline:end -->\nAnd below.  ")
    scene.as_json()


@reaches("TURN_LIMIT_VERIFY")
def test_a_published_run_whose_turns_are_spent(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(1))
    ran = scene.project.touchline("run", "--headless", "--no-ci", "--max-turns=1", timeout_s=120)
    scene.prints(ran, "TURN_LIMIT_VERIFY", **scene.opened(TURNS_USED="1 of 1", VERIFY_RUNS="1"))
    assert "- Blocking: " in BareBackdoor(scene.remote).changes()[0].body
    scene.as_json("--max-turns=1")


@reaches("FAILED_PUBLISH")
def test_a_run_without_any_real_commit(scene: Scene) -> None:
    scene.play([{"finish": {"summary": "nothing to do"}}])
    main = scene.head
    values = {"BRANCH": f"{BRANCH} -> main", "HEAD_SHA": main, "VERIFY_RUNS": "1", "REVIEWER": "judge"}
    ran = scene.ends("FAILED_PUBLISH", "--max-turns=1", TURNS_USED="1 of 1", **values)
    assert "no real commit to open a draft for" in ran.err
    assert scene.refs() == ["refs/heads/main"]


@reaches("FAILED_PUBLISH")
def test_a_secret_in_the_first_change(scene: Scene) -> None:
    leak = {"write": {"path": "value.py", "content": f'VALUE = 3\nKEY = """{KEY}"""\n'}}
    scene.play([leak, {"finish": {"summary": "set the value"}}])
    ran = scene.ends("FAILED_PUBLISH", BRANCH=f"{BRANCH} -> main", TURNS_USED="1 of 10")
    assert "suspected secrets" in ran.err
    assert "MIIEpAIBAAKCAQEA0" not in ran.err + json.dumps(scene.project.ledger)
    assert scene.refs() == ["refs/heads/main"]


@reaches("FAILED_PUBLISH")
def test_a_secret_in_a_later_change_leaves_the_draft_with_its_last_verified_commit(
    scene: Scene, attempt_of: Attempt
) -> None:
    leak = {"write": {"path": "value.py", "content": f'VALUE = 3\nKEY = """{KEY}"""\n'}}
    scene.play(attempt_of(1), [leak, {"finish": {"summary": "set the value"}}])
    ran = scene.project.touchline("run", "--headless", "--no-ci", timeout_s=120)
    scene.prints(ran, "FAILED_PUBLISH", **scene.opened(TURNS_USED="2 of 10", VERIFY_RUNS="1"))
    assert "MIIEpAIBAAKCAQEA0" not in ran.err + BareBackdoor(scene.remote).changes()[0].body
    scene.as_json()


@reaches("FAILED_PUBLISH")
def test_a_turn_that_touches_what_was_changed_before(scene: Scene, attempt_of: Attempt) -> None:
    touch = {"write": {"path": ".gitignore", "content": "mine\n"}}
    scene.play([touch, *attempt_of(3)])
    (scene.project.path / ".gitignore").write_text("a person's\n")
    ran = scene.ends("FAILED_PUBLISH", "--allow-dirty", BRANCH=f"{BRANCH} -> main", TURNS_USED="1 of 10")
    assert "changes before the run: .gitignore" in ran.err


@reaches("FAILED_PUBLISH")
def test_a_remote_that_is_gone_before_a_turn_is_spent(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(3))
    scene.remote.rename(scene.remote.with_suffix(".away"))
    scene.ends("FAILED_PUBLISH")
    scene.as_json()
    scene.ends("FAILED_PUBLISH", "--max-turns=3", TURNS_USED="0 of 3")
    assert scene.project.git("branch", "--show-current") == "main\n"


@reaches("FAILED_PUBLISH")
def test_a_remote_that_is_gone_after_the_turn(scene: Scene, attempt_of: Attempt) -> None:
    away = {"run": {"command": f"mv {scene.remote} {scene.remote}.away", "expect": "ok"}}
    scene.play([away, *attempt_of(3)], permissions={"allow": ["bash(mv *)"]})
    scene.ends("FAILED_PUBLISH", BRANCH=f"{BRANCH} -> main", TURNS_USED="1 of 10")


@reaches("FAILED_PUBLISH")
def test_a_commit_of_somebody_else_on_the_branch(scene: Scene, attempt_of: Attempt, tmp_path: Path) -> None:
    person = "-c user.name=o -c user.email=o@example.invalid"
    push = f"git clone -q {scene.remote} other && cd other && git switch -q {BRANCH} && echo theirs > theirs && "
    push += f"git add . && git {person} commit -qm theirs && git push -q"
    (scene.project.path / "foreign").write_text(f"#!/bin/sh\ncd {tmp_path} && {push}\n")
    (scene.project.path / "foreign").chmod(0o755)
    second = [{"run": {"command": "./foreign", "expect": "ok"}}, *attempt_of(3)]
    scene.play(attempt_of(1), second, permissions={"allow": ["bash(./foreign)"]})
    ran = scene.project.touchline("run", "--headless", "--no-ci", timeout_s=120)
    verified = scene.project.ledger["verificationRuns"][0]["headSha"]
    scene.prints(ran, "FAILED_PUBLISH", **scene.opened(TURNS_USED="2 of 10", VERIFY_RUNS="1", HEAD_SHA=verified))
    assert scene.tip() not in (verified, scene.head), "the head as observed is somebody else's commit"
    assert f"- Not verified: `{scene.head}`" in BareBackdoor(scene.remote).changes()[0].body


@reaches("FAILED_PUBLISH")
def test_a_hook_of_the_host_that_declines_the_push(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(3))
    hook = scene.remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    ran = scene.ends("FAILED_PUBLISH", BRANCH=f"{BRANCH} -> main", TURNS_USED="1 of 10")
    assert "pre-receive hook declined" in ran.err


@reaches("FAILED_PUBLISH")
def test_a_hook_of_the_repository_that_declines_every_commit(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(3))
    hook = scene.project.path / ".git/hooks/commit-msg"
    hook.write_text("#!/bin/sh\necho the message names no ticket\nexit 1\n")
    hook.chmod(0o755)
    values = {"BRANCH": f"{BRANCH} -> main", "HEAD_SHA": scene.head, "VERIFY_RUNS": "1", "REVIEWER": "judge"}
    ran = scene.ends("FAILED_PUBLISH", "--max-turns=1", TURNS_USED="1 of 1", **values)
    assert "the message names no ticket" in ran.err
    assert "no real commit to open a draft for" in ran.err


@reaches("FAILED_PUBLISH")
def test_nobody_is_configured_who_commits(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(3))
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull}
    ran = scene.ends("FAILED_PUBLISH", env=nobody)
    assert "git config --global user.name" in ran.err
    assert scene.project.git("branch", "--format=%(refname:short)").split() == ["main"]
    scene.as_json(env=nobody)


@reaches("FAILED_NO_PLAN")
@pytest.mark.parametrize("published", [True, False])
def test_a_run_without_a_plan(scene: Scene, attempt_of: Attempt, published: bool) -> None:
    scene.published = published
    scene.play(attempt_of(3))
    scene.project.git("rm", "--quiet", "docs/plans/value.md")
    scene.project.git("commit", "--quiet", "--message", "No plan")
    scene.ends("FAILED_NO_PLAN")
    scene.as_json()


@reaches("FAILED_RUN")
@pytest.mark.parametrize("published", [True, False])
def test_an_executor_that_is_not_installed(scene: Scene, published: bool) -> None:
    scene.published = published
    scene.play([], executors={"claude": {"command": ["/nonexistent/claude"]}}, run={"executor": "claude"})
    scene.ends("FAILED_RUN")
    scene.as_json()


@reaches("FAILED_RUN")
def test_an_executor_that_is_not_logged_in_in_a_published_run(scene: Scene) -> None:
    scene.play([{"fail": {"kind": "not-authenticated", "reason": "log in first"}}])
    scene.ends("FAILED_RUN", BRANCH=f"{BRANCH} -> main")
    scene.as_json()


@reaches("FAILED_RUN")
def test_a_branch_that_the_player_switched_after_the_draft_was_opened(scene: Scene, attempt_of: Attempt) -> None:
    (scene.project.path / "escape").write_text("#!/bin/sh\ngit switch -q -c elsewhere\n")
    (scene.project.path / "escape").chmod(0o755)
    away = [*attempt_of(3)[:1], {"run": {"command": "./escape", "expect": "ok"}}, {"finish": {"summary": "x"}}]
    scene.play(attempt_of(1), away, permissions={"allow": ["bash(./escape)"]})
    ran = scene.project.touchline("run", "--headless", "--no-ci", timeout_s=120)
    scene.prints(ran, "FAILED_RUN", **scene.opened(TURNS_USED="2 of 10", VERIFY_RUNS="1"))


@reaches("INTERRUPTED")
@pytest.mark.parametrize(("number", "form"), [(signal.SIGINT, ()), (signal.SIGTERM, ("--json",))])
def test_a_published_run_that_is_stopped_by_a_signal(
    scene: Scene, attempt_of: Attempt, number: signal.Signals, form: tuple[str, ...]
) -> None:
    scene.play(attempt_of(1), [{"hang": 120}])
    ended = stopped(scene, number, *form, turn=2)
    values = scene.opened(TURNS_USED="1 of 10", VERIFY_RUNS="1")
    if form:
        rows = dict(line.split(": ", 1) for line in block("INTERRUPTED", **values).splitlines())
        assert (ended.status, ended.out) == (130, json.dumps(rows) + "\n"), ended.err
    else:
        scene.prints(ended, "INTERRUPTED", **values)


@reaches("INTERRUPTED")
def test_a_start_that_is_stopped_while_the_host_is_asked(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(3))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        port = silent.getsockname()[1]
        scene.project.git("remote", "set-url", "upstream", f"http://127.0.0.1:{port}/widget.git")
        child = started(scene, "--max-turns=4")
        try:
            connection, _ = silent.accept()
            with connection:
                child.send_signal(signal.SIGINT)
                out, err = child.communicate(timeout=60)
        finally:
            end(child)
    assert (child.returncode, out.decode()) == (130, block("INTERRUPTED", TURNS_USED="0 of 4")), err.decode()


@reaches("FAILED_RUN")
@pytest.mark.parametrize("published", [True, False])
def test_a_repository_that_git_cannot_read_when_the_run_is_opened(
    scene: Scene, attempt_of: Attempt, published: bool
) -> None:
    scene.published = published
    scene.play(attempt_of(3))
    (scene.project.path / ".git/index").write_bytes(b"no index at all")
    ran = scene.project.touchline("run", "--headless", *scene.mode, "--max-turns=2")
    assert (ran.status, ran.out) == (1, block("FAILED_RUN", TURNS_USED="0 of 2")), ran.err


# --- local -------------------------------------------------------------------------------------------------


@reaches("APPROVED_NO_PR")
def test_an_approved_local_run(local: Scene, attempt_of: Attempt) -> None:
    local.play(attempt_of(1), attempt_of(3))
    values = {"HEAD_SHA": local.head, "TURNS_USED": "2 of 10", "VERIFY_RUNS": "2", "REVIEWER": "judge"}
    local.ends("APPROVED_NO_PR", **values)
    local.as_json()


@reaches("TURN_LIMIT_VERIFY")
def test_a_local_run_whose_turns_are_spent(local: Scene, attempt_of: Attempt) -> None:
    local.play(attempt_of(1))
    values = {"HEAD_SHA": local.head, "TURNS_USED": "2 of 2", "VERIFY_RUNS": "2", "REVIEWER": "judge"}
    local.ends("TURN_LIMIT_VERIFY", "--max-turns=2", **values)


@reaches("FAILED_RUN")
def test_an_executor_that_is_not_logged_in(local: Scene) -> None:
    local.play([{"fail": {"kind": "not-authenticated", "reason": "log in first"}}])
    local.ends("FAILED_RUN", HEAD_SHA=local.head)
    local.as_json()


@reaches("FAILED_RUN")
@pytest.mark.parametrize("does", ["git switch -q -c elsewhere", "git commit -q --amend -m rewritten"])
def test_a_local_run_whose_player_left_its_place(local: Scene, attempt_of: Attempt, does: str) -> None:
    (local.project.path / "escape").write_text(f"#!/bin/sh\n{does}\n")
    (local.project.path / "escape").chmod(0o755)
    first, *rest = attempt_of(3)
    turn = [first, {"run": {"command": "./escape", "expect": "ok"}}, *rest]
    local.play(turn, permissions={"allow": ["bash(./escape)"]})
    ran = local.project.touchline("run", "--headless", "--no-pr", timeout_s=120)
    local.prints(ran, "FAILED_RUN", HEAD_SHA=local.head, TURNS_USED="1 of 10")
    assert "the repository is not where the run can go on" in ran.err


@reaches("FAILED_RUN")
def test_a_repository_that_breaks_before_a_run_goes_on_leaves_what_the_ledger_knows(
    local: Scene, attempt_of: Attempt
) -> None:
    local.play(attempt_of(1), [{"fail": {"kind": "not-authenticated", "reason": "log in first"}}])
    values = {"HEAD_SHA": local.head, "TURNS_USED": "1 of 10", "VERIFY_RUNS": "1", "REVIEWER": "judge"}
    local.ends("FAILED_RUN", **values)
    (local.project.path / ".git/index").write_bytes(b"no index at all")
    local.ends("FAILED_RUN", **values)


@reaches("INTERRUPTED")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_local_run_that_is_stopped_by_a_signal(local: Scene, number: signal.Signals) -> None:
    local.play([{"hang": 120}])
    local.prints(stopped(local, number, turn=1), "INTERRUPTED", HEAD_SHA=local.head)


def test_every_status_of_the_documents_is_reached_here_or_said_not_to_be() -> None:
    assert REACHED | NOT_HERE == set(get_args(Status)) == set(EXIT_STATUS)
    assert REACHED.isdisjoint(NOT_HERE)
    assert all(status in (__doc__ or "") for status in NOT_HERE)


def test_a_run_that_would_wait_for_ci_is_refused_before_anything_is_touched(scene: Scene, attempt_of: Attempt) -> None:
    scene.play(attempt_of(3))
    ran = scene.project.touchline("run", "--headless")
    assert (ran.status, ran.out) == (2, "")
    assert scene.project.git("branch", "--format=%(refname:short)").split() == ["main"]
