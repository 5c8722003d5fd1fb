from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.errors import GitQueryError, NotARepositoryError
from touchline.git.facts import GitTurnStatus, git_turn_status, is_ancestor, resolve_commit
from touchline.git.repository import Repository


def _commit(git, folder: Path, message: str = "work") -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def test_a_commit_since_the_start_is_new_work(repo: Path, git) -> None:
    start = git(repo, "rev-parse", "HEAD")
    new = _commit(git, repo)
    assert git_turn_status(repo, start) == GitTurnStatus("main", new, True)
    assert git_turn_status(Repository.open(repo), new) == GitTurnStatus("main", new, False)


def test_an_unknown_start_is_never_new_work(repo: Path, git) -> None:
    assert git_turn_status(repo, "") == GitTurnStatus("main", git(repo, "rev-parse", "HEAD"), False)


def test_an_unborn_branch_is_never_new_work(tmp_path: Path, git) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    assert git_turn_status(tmp_path, "") == GitTurnStatus("main", "", False)
    assert git_turn_status(tmp_path, "a" * 40) == GitTurnStatus("main", "", False)


def test_a_dirty_tree_is_no_commit(repo: Path, git) -> None:
    (repo / "README.md").write_text("changed")
    (repo / "new").write_text("new")
    assert not git_turn_status(repo, git(repo, "rev-parse", "HEAD")).has_new


def test_a_detached_head_with_commits_past_the_branch_is_seen(repo: Path, git) -> None:
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "--detach")
    _commit(git, repo, "one")
    tip = _commit(git, repo, "two")
    assert git_turn_status(repo, start) == GitTurnStatus("HEAD", tip, True)


def test_a_switched_branch_shows_in_the_status(repo: Path, git) -> None:
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "switch", "-q", "-c", "other")
    assert git_turn_status(repo, start) == GitTurnStatus("other", start, False)


def test_each_linked_worktree_answers_for_itself(repo: Path, git, tmp_path: Path) -> None:
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    new = _commit(git, tmp_path / "side")
    assert git_turn_status(tmp_path / "side", start) == GitTurnStatus("side", new, True)
    assert git_turn_status(repo, start) == GitTurnStatus("main", start, False)


def test_a_start_in_upper_case_or_short_is_the_same_commit(repo: Path, git) -> None:
    start = git(repo, "rev-parse", "HEAD")
    assert not git_turn_status(repo, start.upper()).has_new
    assert not git_turn_status(repo, start[:10]).has_new
    _commit(git, repo)
    assert git_turn_status(repo, start[:10]).has_new


def test_a_start_that_names_nothing_is_an_error_and_not_nothing_new(repo: Path) -> None:
    with pytest.raises(GitQueryError, match="names no commit"):
        git_turn_status(repo, "not-a-commit")


def test_a_failed_query_is_an_error_and_not_nothing_new(repo: Path, tmp_path: Path, git) -> None:
    start = git(repo, "rev-parse", "HEAD")
    (repo / ".git/HEAD").write_text("nonsense\n")
    with pytest.raises((GitQueryError, NotARepositoryError)):
        git_turn_status(repo, start)


def test_a_damaged_configuration_is_an_error_with_gits_own_words(repo: Path, git) -> None:
    opened = Repository.open(repo)
    (repo / ".git/config").write_text("[core\n")
    with pytest.raises(GitQueryError, match="bad config line 1"):
        git_turn_status(opened, "")


def test_the_status_writes_nothing(repo: Path, git) -> None:
    (repo / "README.md").touch()
    before = {place: place.stat().st_mtime_ns for place in (repo / ".git").rglob("*")}
    git_turn_status(repo, git(repo, "rev-parse", "HEAD"))
    assert {place: place.stat().st_mtime_ns for place in (repo / ".git").rglob("*")} == before


def test_a_claimed_commit_is_understood_in_full_short_and_upper_case(repo: Path, git) -> None:
    full = git(repo, "rev-parse", "HEAD")
    for claim in (full, full[:7], full[:4], full.upper(), full[:12].upper()):
        assert resolve_commit(repo, claim) == full


def test_a_claimed_branch_or_tag_is_understood_as_its_commit(repo: Path, git) -> None:
    full = git(repo, "rev-parse", "HEAD")
    git(repo, "tag", "light")
    git(repo, "tag", "-a", "-m", "x", "v1.0")
    tag_object = git(repo, "rev-parse", "v1.0")
    assert tag_object != full
    for claim in ("main", "light", "v1.0", tag_object):
        assert resolve_commit(repo, claim) == full


@pytest.mark.parametrize(
    "claim",
    ["", " ", "f" * 40, "f" * 7, "abc", "no-such", "HEAD~1", "HEAD^{tree}", "@{1}", ":/start", "main:README.md", "-h"],
)
def test_a_bogus_claim_is_no_commit(repo: Path, claim: str) -> None:
    assert resolve_commit(repo, claim) is None


@pytest.mark.parametrize(
    "claim", ["--all", "-q", "--git-dir", "--exec=touch pwned", "--output=pwned", "main\nHEAD", "a\0b"]
)
def test_an_option_like_claim_never_becomes_an_option(repo: Path, claim: str) -> None:
    assert resolve_commit(repo, claim) is None
    assert sorted(place.name for place in repo.iterdir()) == [".git", "README.md"]


def test_a_blob_or_tree_is_no_commit(repo: Path, git) -> None:
    assert resolve_commit(repo, git(repo, "rev-parse", "HEAD:README.md")) is None
    assert resolve_commit(repo, git(repo, "rev-parse", "HEAD^{tree}")) is None


def test_a_branch_that_is_spelled_like_a_commit_does_not_take_its_place(repo: Path, git) -> None:
    first = git(repo, "rev-parse", "HEAD~1")
    git(repo, "update-ref", f"refs/heads/{first[:7]}", "HEAD")
    assert resolve_commit(repo, first[:7]) == first


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_no_claim_at_all_raises(repo: Path, claim: str) -> None:
    answer = resolve_commit(repo, claim)
    assert answer is None or len(answer) == 40


def test_ancestors_are_known(repo: Path, git) -> None:
    opened = Repository.open(repo)
    old, new = git(repo, "rev-parse", "HEAD~1"), git(repo, "rev-parse", "HEAD")
    assert is_ancestor(opened, old, new)
    assert is_ancestor(opened, new, new)
    assert not is_ancestor(opened, new, old)
    with pytest.raises(GitQueryError):
        is_ancestor(opened, "f" * 40, new)
