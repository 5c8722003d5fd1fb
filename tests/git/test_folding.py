from __future__ import annotations

from pathlib import Path

import pytest

from touchline.errors import GitError, UsageError
from touchline.git.diff import compare_work_tree
from touchline.git.facts import resolve_commit
from touchline.git.folding import FoldKind, fold, inspect, keep, mark_start, operation_in_progress
from touchline.git.index import intend_to_add, intended_paths, read_status, restore_index, save_index, staged_set
from touchline.git.repository import Repository
from touchline.git.status import Status
from touchline.git.trees import changed_paths, snapshot


def _commit(git, folder: Path, name: str, text: str = "x\n") -> str:
    (folder / name).write_text(text)
    git(folder, "add", "-A", "--", f":(literal){name}")
    git(folder, "commit", "-q", "-m", name)
    return git(folder, "rev-parse", "HEAD")


def test_nothing_happens_without_commits(repo: Path) -> None:
    opened = Repository.open(repo)
    start = mark_start(opened)
    (repo / "README.md").write_text("changed")
    assert fold(opened, start, label="run-1").kind is FoldKind.NOTHING


def test_commits_are_taken_back_and_the_tree_the_index_and_the_old_head_are_kept(
    repo: Path, git, odd_names: tuple[str, ...]
) -> None:
    opened = Repository.open(repo)
    (repo / "staged-by-the-user").write_text("x")
    git(repo, "add", "staged-by-the-user")
    (repo / "owned-before").write_text("x")
    intend_to_add(opened, ["owned-before"])
    start = mark_start(opened)
    staged = staged_set(opened)

    (repo / "README.md").write_text("changed\n")
    (repo / "owned-before").write_text("more")
    for name in odd_names:
        (repo / name).parent.mkdir(exist_ok=True, parents=True)
        (repo / name).write_text("new")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "one")
    git(repo, "rm", "-q", "plain.txt")
    head = _commit(git, repo, "two")
    (repo / "README.md").write_text("changed again, not committed\n")
    before = snapshot(opened, [*odd_names, "two"])
    log = git(repo, "rev-list", "HEAD~2..HEAD").split()

    found = fold(opened, start, label="run-1-turn-2", owned=["owned-before"])
    assert found.kind is FoldKind.FOLDED
    assert list(found.commits) == log[::-1]
    assert opened.head() == start.head
    assert save_index(opened) == start.index
    assert staged_set(opened) == staged
    assert intended_paths(opened) == {"owned-before"}
    assert set(found.untracked) == {*odd_names, "two"} - {"plain.txt"}
    assert changed_paths(before, snapshot(opened, found.untracked)) == ()
    assert found.kept_ref == f"refs/touchline/kept/run-1-turn-2/{head}"
    assert git(repo, "rev-parse", found.kept_ref) == head
    assert set(read_status(opened).untracked) == set(found.untracked)


def test_commits_on_an_unborn_branch_are_taken_back(tmp_path: Path, git) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    opened = Repository.open(tmp_path)
    start = mark_start(opened)
    head = _commit(git, tmp_path, "first")
    found = fold(opened, start, label="r")
    assert (found.kind, found.commits, found.untracked) == (FoldKind.FOLDED, (head,), ("first",))
    assert opened.head() == start.head
    assert read_status(opened).untracked == ("first",)


def test_commits_on_a_detached_head_are_taken_back_without_touching_a_branch(repo: Path, git) -> None:
    git(repo, "checkout", "-q", "--detach")
    opened = Repository.open(repo)
    start = mark_start(opened)
    _commit(git, repo, "new")
    assert fold(opened, start, label="r").kind is FoldKind.FOLDED
    assert opened.head() == start.head
    assert git(repo, "rev-parse", "main") == start.head.commit


def test_a_linked_worktree_folds_its_own_branch(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    opened = Repository.open(tmp_path / "side")
    start = mark_start(opened)
    _commit(git, tmp_path / "side", "new")
    assert fold(opened, start, label="r").kind is FoldKind.FOLDED
    assert git(repo, "rev-parse", "side") == start.head.commit


@pytest.mark.parametrize(
    ("command", "kind", "words", "kept"),
    [
        (("switch", "-q", "-c", "other"), FoldKind.SWITCHED, "branch main and ended on branch other", ""),
        (("checkout", "-q", "--detach"), FoldKind.SWITCHED, "a detached HEAD", "now"),
        (("commit", "-q", "--amend", "-m", "amended"), FoldKind.REWRITTEN, "does not contain", "start"),
        (("reset", "-q", "--hard", "HEAD~1"), FoldKind.REWRITTEN, "does not contain", "start"),
    ],
)
def test_a_switched_branch_or_rewritten_history_is_reported_and_left_alone_and_no_commit_is_lost(
    repo: Path, git, command: tuple[str, ...], kind: FoldKind, words: str, kept: str
) -> None:
    opened = Repository.open(repo)
    start = mark_start(opened)
    git(repo, *command)
    head, index = opened.head(), save_index(opened)
    found = fold(opened, start, label="r")
    assert found.kind is kind
    assert words in found.reason
    assert (opened.head(), save_index(opened)) == (head, index)
    expected = {"": "", "now": head.commit, "start": start.head.commit}[kept]
    assert git(repo, "for-each-ref", "--format=%(objectname)", "refs/touchline") == expected
    assert found.kept_ref == (f"refs/touchline/kept/r/{expected}" if kept else "")


def test_a_hook_that_refuses_everything_does_not_stop_the_coach(repo: Path, git) -> None:
    opened = Repository.open(repo)
    start = mark_start(opened)
    _commit(git, repo, "new")
    for name in ("reference-transaction", "pre-commit", "post-index-change"):
        hook = repo / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    with pytest.raises(AssertionError):
        git(repo, "update-ref", "refs/heads/x", "HEAD")
    assert fold(opened, start, label="r").kind is FoldKind.FOLDED
    assert intend_to_add(opened, ["new"]) == ("new",)


def test_a_sha_256_repository_is_handled_alike(tmp_path: Path, git) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256")
    _commit(git, tmp_path, "first")
    opened = Repository.open(tmp_path)
    start = mark_start(opened)
    _commit(git, tmp_path, "second")
    before = snapshot(opened)
    assert len(before.entries["first"].blob) == 64
    with compare_work_tree(opened, start.head.commit, before) as found:
        assert found.changed_paths() == ("second",)
    assert resolve_commit(opened, opened.head().commit[:9].upper()) == opened.head().commit
    assert fold(opened, start, label="r").untracked == ("second",)
    assert staged_set(opened) == frozenset()
    assert intend_to_add(opened, ["second"]) == ("second",)


def test_pushed_commits_are_not_taken_back(repo: Path, git, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "remote.git"))
    opened = Repository.open(repo)
    start = mark_start(opened)
    pushed = _commit(git, repo, "pushed")
    git(repo, "push", "-q", "-u", "origin", "main")
    head = _commit(git, repo, "local")
    found = fold(opened, start, label="r")
    assert found.kind is FoldKind.PUSHED
    assert found.commits == (pushed, head)
    assert opened.head().commit == head


def test_an_unfinished_merge_is_reported(repo: Path, git) -> None:
    git(repo, "switch", "-q", "-c", "other")
    _commit(git, repo, "README.md", "theirs\n")
    git(repo, "switch", "-q", "main")
    opened = Repository.open(repo)
    start = mark_start(opened)
    _commit(git, repo, "README.md", "ours\n")
    assert operation_in_progress(opened) == ""
    with pytest.raises(AssertionError):
        git(repo, "merge", "other")
    assert operation_in_progress(opened) == "merge"
    found = fold(opened, start, label="r")
    assert (found.kind, found.reason) == (FoldKind.UNFINISHED, "a merge is in progress")


def test_a_submodule_that_only_the_players_commit_made_is_untracked_again(repo: Path, git, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "source")
    git(tmp_path / "source", "commit", "-q", "--allow-empty", "-m", "x")
    opened = Repository.open(repo)
    start = mark_start(opened)
    git(repo, "submodule", "--quiet", "add", str(tmp_path / "source"), "sub")
    git(repo, "commit", "-q", "-m", "sub")
    found = fold(opened, start, label="r")
    assert (found.kind, found.untracked) == (FoldKind.FOLDED, (".gitmodules", "sub"))
    assert read_status(opened).untracked == (".gitmodules", "sub/")


def test_a_fold_that_was_killed_on_the_way_is_done_again_to_the_same_end(repo: Path, git) -> None:
    opened = Repository.open(repo)
    start = mark_start(opened)
    (repo / "README.md").write_text("changed\n")
    head = _commit(git, repo, "new")
    git(repo, "commit", "-q", "-am", "more")
    head = git(repo, "rev-parse", "HEAD")
    # What a kill leaves after the longest part of the work: ref and index done, the branch not yet moved.
    keep(opened, head, label="r")
    restore_index(opened, start.index)
    found = fold(opened, start, label="r")
    assert (found.kind, found.untracked) == (FoldKind.FOLDED, ("new",))
    assert opened.head() == start.head
    assert save_index(opened) == start.index
    assert read_status(opened) == Status(unstaged=("README.md",), untracked=("new",))
    assert fold(opened, start, label="r").kind is FoldKind.NOTHING


def test_a_fold_that_git_refuses_leaves_branch_and_index_as_they_were(repo: Path, git) -> None:
    opened = Repository.open(repo)
    start = mark_start(opened)
    head = _commit(git, repo, "new")
    index = save_index(opened)
    lock = repo / ".git/refs/heads/main.lock"
    lock.touch()
    with pytest.raises(GitError, match=r"update-ref.*main\.lock"):
        fold(opened, start, label="r")
    assert (opened.head().commit, save_index(opened)) == (head, index)
    lock.unlink()
    assert fold(opened, start, label="r").kind is FoldKind.FOLDED


def test_looking_changes_nothing(repo: Path, git) -> None:
    opened = Repository.open(repo)
    start = mark_start(opened)
    head = _commit(git, repo, "new")
    assert inspect(opened, start).kind is FoldKind.FOLDED
    assert opened.head().commit == head
    assert git(repo, "for-each-ref", "refs/touchline") == ""


@pytest.mark.parametrize("label", ["", "../x", "a b", "-x", "a/b", "x" * 101])
def test_a_label_that_could_name_another_ref_is_refused(repo: Path, label: str) -> None:
    opened = Repository.open(repo)
    with pytest.raises(UsageError):
        fold(opened, mark_start(opened), label=label)
