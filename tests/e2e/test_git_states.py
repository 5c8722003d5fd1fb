"""Whole local runs in every state that a repository can be in, and with every kind of file name."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Attempt = Callable[[int], list[dict[str, Any]]]

NAMES = (
    b"a b.txt",
    b'quo"te.txt',
    b"tab\there.txt",
    b"new\nline.txt",
    "käse.md".encode(),
    b"latin-\xe9.txt",
    b"-leading.txt",
    b"$(touch hacked).txt",
)


def quick(project: Any, player: list[Any], **sections: Any) -> None:
    """A run whose checks are commands, so that only the bookkeeping is on trial."""
    project.configure(
        {"player": player},
        reviewers=[{"name": "judge", "command": ["true"]}],
        exerciser={"command": ["true"]},
        tests={"enabled": False},
        **sections,
    )


def test_every_kind_of_file_name_is_owned_and_kept_uncommitted(project: Any, tmp_path: Path) -> None:
    source = tmp_path / "made"
    source.mkdir()
    for name in NAMES:
        (source / os.fsdecode(name)).write_text("content\n")
    script = f"cp -r {source}/. . && ln -s value.py link && chmod +x docs/plans/value.md && rm tests/test_value.py"
    quick(
        project,
        [[{"run": {"command": script, "expect": "ok"}}, {"finish": {"summary": "made files"}}]],
        permissions={"allow": ["bash(cp *)", "bash(ln *)", "bash(chmod *)", "bash(rm *)"]},
    )
    ran = project.run("--max-turns", "1")
    assert ran.status in (0, 3), ran.err
    ledger = project.ledger
    (turn,) = ledger["turns"]
    shown = set(turn["changedPaths"])
    assert {"a b.txt", "new\nline.txt", "käse.md", "-leading.txt", "$(touch hacked).txt", "link"} <= shown
    assert '"latin-\\351.txt"' in shown
    assert {"docs/plans/value.md", "tests/test_value.py"} <= shown
    assert not (project.path / "hacked").exists()
    untracked = project.git("ls-files", "-z", "--others", "--exclude-standard").split("\0")[:-1]
    assert {os.fsdecode(name) for name in NAMES} <= set(untracked)
    assert project.git("diff", "--cached", "--raw") == ""


def test_an_unborn_branch_is_worked_on(project: Any, attempt_of: Attempt, tmp_path: Path) -> None:
    quick(project, [attempt_of(3)])
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=fresh, check=True, timeout=30)
    for name in ("touchline.yaml", "docs/plans/value.md"):
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        (fresh / name).write_bytes((project.path / name).read_bytes())
    ran = project.run("--repo", str(fresh))
    assert (ran.status, ran.block["HEAD_SHA"]) == (0, "none"), ran.err
    assert project.ledger["turns"][0]["changedPaths"] == ["value.py"]


def test_a_detached_head_is_a_change_of_its_own(project: Any, attempt_of: Attempt) -> None:
    quick(project, [attempt_of(3)])
    head = project.git("rev-parse", "HEAD").strip()
    project.git("checkout", "--quiet", "--detach")
    ran = project.run()
    assert (ran.status, ran.block["HEAD_SHA"]) == (0, head), ran.err
    assert project.folder.name == f"detached-{head[:12]}-local"
    assert project.git("rev-parse", "--abbrev-ref", "HEAD").strip() == "HEAD"


def test_inside_a_submodule_the_submodule_is_the_repository(project: Any, attempt_of: Attempt, tmp_path: Path) -> None:
    quick(project, [attempt_of(3)])
    outer = tmp_path / "outer"
    outer.mkdir()
    allow = ("-c", "protocol.file.allow=always")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=outer, check=True, timeout=30)
    subprocess.run(
        ["git", *allow, "submodule", "--quiet", "add", str(project.path), "inner"], cwd=outer, check=True, timeout=30
    )
    ran = project.run("--repo", str(outer / "inner"))
    assert ran.status == 0, ran.err
    assert (outer / "inner/value.py").exists()
    assert not (outer / "value.py").exists()


def test_a_held_index_lock_is_waited_for_named_and_never_removed(project: Any, attempt_of: Attempt) -> None:
    quick(project, [attempt_of(3)])
    lock = project.path / ".git/index.lock"
    lock.write_text("")
    ran = project.run()
    assert (ran.status, ran.block["STATUS"]) == (1, "FAILED_RUN"), ran.err
    assert str(lock) in ran.err
    assert lock.exists()
    lock.unlink()
    ran = project.run()
    assert (ran.status, ran.block["TURNS_USED"]) == (0, "1 of 10"), ran.err


def test_a_branch_that_the_player_switched_ends_failed_run_and_loses_nothing(project: Any, attempt_of: Attempt) -> None:
    escape = {"run": {"command": "./escape"}}
    (project.path / "escape").write_text("#!/bin/sh\ngit switch -q -c elsewhere && git add -A && git commit -qm x\n")
    (project.path / "escape").chmod(0o755)
    turn = attempt_of(3)
    quick(project, [[turn[0], escape, *turn[1:]]], permissions={"allow": ["bash(./escape)"]})
    ran = project.run()
    assert (ran.status, ran.block["STATUS"]) == (1, "FAILED_RUN"), ran.err
    assert "elsewhere" in ran.err
    assert "value.py" in project.git("ls-tree", "--name-only", "elsewhere")


def test_commits_of_the_player_are_taken_back_and_kept_under_a_ref(project: Any, attempt_of: Attempt) -> None:
    commit = {"run": {"command": "./commit"}}
    (project.path / "commit").write_text("#!/bin/sh\ngit add -A && git commit -qm mine\n")
    (project.path / "commit").chmod(0o755)
    turn = attempt_of(3)
    quick(project, [[turn[0], commit, *turn[1:]]], permissions={"allow": ["bash(./commit)"]})
    head = project.git("rev-parse", "HEAD")
    ran = project.run()
    assert ran.status == 0, ran.err
    assert project.git("rev-parse", "HEAD") == head
    assert project.git("status", "--porcelain") == "?? value.py\n"
    assert project.ledger["turns"][0]["changedPaths"] == ["value.py"]
    assert "mine" in project.git("log", "--format=%s", "--glob=refs/touchline/kept/*")


def test_git_settings_and_hooks_that_the_player_edits_never_run_and_are_findings(
    project: Any, attempt_of: Attempt
) -> None:
    trap = project.path / "trap"
    trap.write_text(
        "#!/bin/sh\n"
        'git config core.fsmonitor "touch $PWD/.git/pwned-fsmonitor; false"\n'
        'git config diff.external "touch $PWD/.git/pwned-diff"\n'
        'git config filter.x.clean "touch $PWD/.git/pwned-filter; cat"\n'
        "printf '#!/bin/sh\\ntouch .git/pwned-hook\\n' > .git/hooks/post-index-change\n"
        "chmod +x .git/hooks/post-index-change\n"
        "echo '*.py filter=x diff=x' > .gitattributes\n"
    )
    trap.chmod(0o755)
    turn = attempt_of(3)
    quick(project, [[turn[0], {"run": {"command": "./trap"}}, *turn[1:]]], permissions={"allow": ["bash(./trap)"]})
    ran = project.run("--max-turns", "1")
    assert (ran.status, ran.block["STATUS"]) == (3, "TURN_LIMIT_VERIFY"), ran.err
    assert [path.name for path in (project.path / ".git").glob("pwned*")] == []
    mechanisms = {finding["mechanism"] for finding in project.ledger["findings"] if finding["severity"] == 8}
    assert len([name for name in mechanisms if name.startswith("git-settings")]) >= 3, mechanisms


def test_a_repository_that_breaks_during_a_run_stops_it_with_its_block_and_the_next_start_goes_on(
    project: Any, attempt_of: Attempt
) -> None:
    first, *rest = attempt_of(3)
    quick(project, [[first, {"run": "until test -e .git/go-on; do sleep 0.1; done"}, *rest]])
    command = [sys.executable, "-m", "touchline", "run", "--no-pr", "--headless"]
    child = subprocess.Popen(
        command, cwd=project.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 30
    while not (project.path / "value.py").exists() and time.monotonic() < until:
        time.sleep(0.05)
    head = project.path / ".git/HEAD"
    head.rename(head.with_name("moved"))
    head.with_name("go-on").touch()
    out, err = child.communicate(timeout=60)
    assert child.returncode == 1, err
    assert out.startswith(b"STATUS: FAILED_RUN\n"), err
    assert b"\nHEAD_SHA: none\n" in out
    head.with_name("moved").rename(head)
    again = project.run()
    assert (again.status, again.block["STATUS"]) == (0, "APPROVED_NO_PR"), again.err
