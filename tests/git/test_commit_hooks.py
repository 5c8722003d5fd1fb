"""A repository's commit hooks: those of before the turn, without tokens, bounded (DESIGN.md, "not trusted")."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from touchline.errors import GitError
from touchline.git.commits import CommitKind, Committed, commit_turn, intended_tree
from touchline.git.hooks import CommitSetup, keep_commit_setup, load_commit_setup
from touchline.git.repository import Repository

Git = Callable[..., str]


def hook(folder: Path, name: str, body: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / name
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(0o755)
    return place


def keep(repo: Path, tmp: Path) -> CommitSetup:
    return keep_commit_setup(Repository.open(repo), tmp / "setup")


def commit(repo: Path, setup: CommitSetup, *, timeout_s: float = 30, paths: tuple[str, ...] = ("a.txt",)) -> Committed:
    opened = Repository.open(repo)
    if not (repo / "a.txt").exists():
        (repo / "a.txt").write_text("a\n")
    intended = intended_tree(opened, paths, start=opened.head().commit)
    return commit_turn(opened, intended, "Add a\n", setup=setup, paths=paths, hook_timeout_s=timeout_s)


def test_a_failing_hook_is_a_value_with_its_output(repo: Path, git: Git, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "pre-commit", "echo 'line 3: too long'; echo 'see the guide' >&2; exit 1")
    head = git(repo, "rev-parse", "HEAD")
    done = commit(repo, keep(repo, tmp_path))
    assert (done.kind, done.hook, done.reason) == (CommitKind.HOOK_FAILED, "pre-commit", "it ended with status 1")
    assert done.output == "line 3: too long\nsee the guide"
    assert git(repo, "rev-parse", "HEAD") == head
    assert git(repo, "diff", "--cached", "--name-only") == ""


def test_hooks_see_exactly_what_will_be_committed(repo: Path, git: Git, tmp_path: Path) -> None:
    (repo / "theirs.txt").write_text("of the user\n")
    git(repo, "add", "theirs.txt")
    hook(
        repo / ".git/hooks",
        "pre-commit",
        f"git diff --cached --name-only > {tmp_path}/seen; git diff --name-only >> {tmp_path}/seen",
    )
    assert commit(repo, keep(repo, tmp_path)).kind is CommitKind.COMMITTED
    assert (tmp_path / "seen").read_text() == "a.txt\n"
    assert git(repo, "diff", "--cached", "--name-only") == "theirs.txt"


def test_a_hook_that_the_turn_changed_runs_as_it_was(repo: Path, git: Git, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "pre-commit", f"touch {tmp_path}/old")
    setup = keep(repo, tmp_path)
    hook(repo / ".git/hooks", "pre-commit", f"touch {tmp_path}/new")
    hook(repo / ".git/hooks", "commit-msg", f"touch {tmp_path}/new")
    assert commit(repo, setup).kind is CommitKind.COMMITTED
    assert (tmp_path / "old").exists()
    assert not (tmp_path / "new").exists()


def test_a_hook_that_the_turn_removed_still_runs(repo: Path, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "pre-commit", "exit 7")
    setup = keep(repo, tmp_path)
    (repo / ".git/hooks/pre-commit").unlink()
    assert commit(repo, setup).reason == "it ended with status 7"


def test_a_hooks_folder_that_the_turn_names_is_not_used(repo: Path, git: Git, tmp_path: Path) -> None:
    setup = keep(repo, tmp_path)
    hook(repo / "evil", "pre-commit", f"touch {tmp_path}/pwned")
    git(repo, "config", "core.hooksPath", "evil")
    assert commit(repo, setup).kind is CommitKind.COMMITTED
    assert not (tmp_path / "pwned").exists()


def test_scripts_beside_a_hook_manager_folder_count_as_hooks(repo: Path, git: Git, tmp_path: Path) -> None:
    hook(repo / ".husky/_", "pre-commit", 'sh "$(dirname "$(dirname "$0")")/$(basename "$0")"')
    hook(repo / ".husky", "pre-commit", f"touch {tmp_path}/old")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "hooks")
    git(repo, "config", "core.hooksPath", ".husky/_")
    setup = keep(repo, tmp_path)
    assert commit(repo, setup).kind is CommitKind.COMMITTED
    assert (tmp_path / "old").exists()
    (tmp_path / "old").unlink()
    hook(repo / ".husky", "pre-commit", f"touch {tmp_path}/new")
    (repo / "a.txt").write_text("more\n")
    assert commit(repo, setup).kind is CommitKind.COMMITTED
    assert (tmp_path / "old").exists()
    assert not (tmp_path / "new").exists()


def test_an_unchanged_hook_finds_the_files_beside_it(repo: Path, tmp_path: Path) -> None:
    (repo / "tools").mkdir()
    (repo / "tools/check.sh").write_text("echo checked\nexit 3\n")
    hook(repo / ".git/hooks", "pre-commit", 'exec sh "$(dirname "$0")/../../tools/check.sh"')
    done = commit(repo, keep(repo, tmp_path))
    assert (done.output, done.reason) == ("checked", "it ended with status 3")


def test_no_token_reaches_a_hook(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        "GITHUB_TOKEN",
        "MY_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_AUTH_SOCK",
        "NPM_AUTH_TOKEN",
        "DB_PASSWORD",
        "DATABASE_URL",
    ]
    for name in names:
        monkeypatch.setenv(name, "value-of-a-secret")
    monkeypatch.setenv("ORDINARY", "kept")
    hook(repo / ".git/hooks", "pre-commit", f"env > {tmp_path}/env")
    assert commit(repo, keep(repo, tmp_path)).kind is CommitKind.COMMITTED
    seen = (tmp_path / "env").read_text()
    assert "ORDINARY=kept" in seen
    assert "value-of-a-secret" not in seen


def test_a_hook_that_hangs_is_ended_with_everything_it_started(repo: Path, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "pre-commit", f"(sleep 60; touch {tmp_path}/late) & sleep 60")
    done = commit(repo, keep(repo, tmp_path), timeout_s=1)
    assert (done.kind, done.reason) == (CommitKind.HOOK_FAILED, "it did not end within 1 seconds")


def test_a_hook_that_changes_files_is_reported_and_its_work_is_not_committed_unseen(
    repo: Path, git: Git, tmp_path: Path
) -> None:
    hook(
        repo / ".git/hooks",
        "pre-commit",
        "grep -q formatted a.txt || { echo formatted >> a.txt; git add a.txt; touch left.txt; }",
    )
    setup = keep(repo, tmp_path)
    head = git(repo, "rev-parse", "HEAD")
    done = commit(repo, setup)
    assert (done.kind, done.changed) == (CommitKind.HOOK_CHANGED, ("a.txt", "left.txt"))
    assert git(repo, "rev-parse", "HEAD") == head
    again = commit(repo, setup)
    assert again.kind is CommitKind.COMMITTED
    assert git(repo, "show", "HEAD:a.txt") == "a\nformatted"


def test_a_hook_that_changes_files_and_refuses_names_them(repo: Path, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "pre-commit", "echo x >> a.txt; exit 1")
    done = commit(repo, keep(repo, tmp_path))
    assert (done.kind, done.changed) == (CommitKind.HOOK_FAILED, ("a.txt",))


def test_message_hooks_may_refuse_and_may_edit(repo: Path, git: Git, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "prepare-commit-msg", f'echo "$2" > {tmp_path}/source; sed -i "1s/^/ABC-1 /" "$1"')
    hook(repo / ".git/hooks", "commit-msg", "grep -q '^ABC-1' \"$1\" || exit 1; echo 'Change-Id: I1' >> \"$1\"")
    done = commit(repo, keep(repo, tmp_path))
    assert (done.kind, done.message_changed) == (CommitKind.COMMITTED, True)
    assert git(repo, "show", "-s", "--format=%B") == "ABC-1 Add a\nChange-Id: I1\n"
    assert (tmp_path / "source").read_text() == "message\n"


def test_a_hook_without_a_first_line_runs_in_the_shell_and_one_without_permission_does_not(
    repo: Path, tmp_path: Path
) -> None:
    (repo / ".git/hooks").mkdir(exist_ok=True)
    (repo / ".git/hooks/pre-commit").write_text("exit 5\n")
    (repo / ".git/hooks/pre-commit").chmod(0o644)
    assert commit(repo, keep(repo, tmp_path)).kind is CommitKind.COMMITTED
    (repo / ".git/hooks/pre-commit").chmod(0o755)
    (repo / "a.txt").write_text("again\n")
    assert commit(repo, keep(repo, tmp_path)).reason == "it ended with status 5"


def test_a_hook_that_leaves_other_files_behind_is_reported_and_does_not_hold_up(repo: Path, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "pre-commit", "date > report.log")
    done = commit(repo, keep(repo, tmp_path))
    assert (done.kind, done.changed) == (CommitKind.COMMITTED, ("report.log",))


def test_a_hook_whose_interpreter_is_missing_is_a_refusal(repo: Path, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "pre-commit", "").write_text("#!/no/such/interpreter\n")
    done = commit(repo, keep(repo, tmp_path))
    assert done.kind is CommitKind.HOOK_FAILED
    assert "the interpreter that it asks for is missing" in done.reason


def test_the_message_file_is_never_written_through_a_link(repo: Path, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "commit-msg", "exit 0")
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    (repo / ".git/COMMIT_EDITMSG").unlink(missing_ok=True)
    (repo / ".git/COMMIT_EDITMSG").symlink_to(victim)
    assert commit(repo, keep(repo, tmp_path)).kind is CommitKind.COMMITTED
    assert victim.read_text() == "precious\n"


def test_the_setup_outlives_a_crash_and_a_broken_one_is_an_error(repo: Path, tmp_path: Path) -> None:
    hook(repo / ".git/hooks", "pre-commit", "exit 1")
    setup = keep(repo, tmp_path)
    assert load_commit_setup(tmp_path / "setup") == setup
    (tmp_path / "setup/setup.json").write_text("{}")
    with pytest.raises(GitError, match="cannot be read"):
        load_commit_setup(tmp_path / "setup")
