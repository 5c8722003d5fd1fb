from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import GitError, GitQueryError, NotARepositoryError
from touchline.git.call import redact
from touchline.git.repository import Head, Repository


def test_a_repository_is_found_from_any_folder_inside_it(repo: Path) -> None:
    (repo / "a/b").mkdir(parents=True)
    found = Repository.open(repo / "a/b")
    assert found == Repository.open(repo)
    assert (found.work_tree, found.git_dir, found.common_dir) == (repo, repo / ".git", repo / ".git")


def test_a_folder_outside_any_repository_is_told_how_to_become_one(tmp_path: Path) -> None:
    with pytest.raises(NotARepositoryError, match="git init") as caught:
        Repository.open(tmp_path)
    assert str(tmp_path) in caught.value.what
    assert caught.value.exit_code == 2


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotARepositoryError, match="nowhere is not a folder"):
        Repository.open(tmp_path / "nowhere")


@pytest.mark.parametrize("explicit", [False, True])
def test_a_bare_repository_is_refused_with_what_to_do(tmp_path: Path, git, clean_home: Path, explicit: bool) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    if explicit:
        git(tmp_path, "config", "--global", "safe.bareRepository", "explicit")
    with pytest.raises(NotARepositoryError, match=r"bare repository.*\n.*git worktree add"):
        Repository.open(tmp_path / "bare.git")


def test_the_inside_of_the_git_folder_is_refused(repo: Path) -> None:
    with pytest.raises(NotARepositoryError, match=r"inside a \.git folder"):
        Repository.open(repo / ".git")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another owner")
def test_a_repository_of_another_owner_is_refused_with_the_setting_that_allows_it(repo: Path) -> None:
    os.chown(repo, 12345, 12345)
    os.chown(repo / ".git", 12345, 12345)
    with pytest.raises(NotARepositoryError, match=r"safe\.directory"):
        Repository.open(repo)


def test_missing_git_is_named(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(NotARepositoryError, match=r"git is not installed\n.*2\.39"):
        Repository.open(repo)


def test_an_old_git_is_named_with_the_version_that_is_needed(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bin/git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.38.9\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    with pytest.raises(NotARepositoryError, match=r"2\.38\.9\n.*2\.39"):
        Repository.open(repo)


def test_a_linked_worktree_has_its_own_git_folder_and_head(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    linked = Repository.open(tmp_path / "side")
    assert linked.git_dir == repo / ".git/worktrees/side"
    assert linked.common_dir == repo / ".git"
    assert linked.head().branch == "side"
    assert Repository.open(repo).head().branch == "main"


def test_a_submodule_is_its_own_repository_also_when_bare_ones_must_be_explicit(with_submodule: Path, git) -> None:
    git(with_submodule, "config", "--global", "safe.bareRepository", "explicit")
    inner = Repository.open(with_submodule / "lib/sub")
    assert inner.work_tree == with_submodule / "lib/sub"
    assert inner.git_dir == with_submodule / ".git/modules/lib/sub"
    assert inner.head().commit == git(with_submodule / "lib/sub", "rev-parse", "HEAD")


def test_a_moved_repository_leaves_a_linked_worktree_with_a_clear_message(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "side"))
    repo.rename(tmp_path / "moved")
    with pytest.raises(NotARepositoryError, match="git worktree repair"):
        Repository.open(tmp_path / "side")


def test_a_path_with_newline_quote_and_latin_1_byte_is_opened(tmp_path: Path, git) -> None:
    odd = tmp_path / "a\nb 'c\" \udce9"
    odd.mkdir()
    git(odd, "init", "-q", "-b", "main")
    found = Repository.open(odd)
    assert found.work_tree == odd
    assert found.head() == Head("main", "")


def test_an_unborn_branch_has_a_name_and_no_commit(tmp_path: Path, git) -> None:
    git(tmp_path, "init", "-q", "-b", "first/branch")
    assert Repository.open(tmp_path).head() == Head("first/branch", "")


def test_a_detached_head_is_named_head(repo: Path, git) -> None:
    git(repo, "checkout", "-q", "--detach")
    head = Repository.open(repo).head()
    assert head == Head("HEAD", git(repo, "rev-parse", "HEAD"))
    assert head.detached


def test_a_branch_name_is_not_changed_by_a_tag_of_the_same_name(repo: Path, git) -> None:
    git(repo, "tag", "main")
    assert Repository.open(repo).head() == Head("main", git(repo, "rev-parse", "refs/heads/main"))


@pytest.mark.parametrize("ref", ["refs/tags/HEAD", "refs/heads/HEAD"])
@pytest.mark.parametrize("detached", [False, True])
def test_another_ref_of_the_name_head_changes_neither_branch_nor_commit(
    repo: Path, git, ref: str, detached: bool
) -> None:
    first = git(repo, "rev-parse", "HEAD")
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    second = git(repo, "rev-parse", "HEAD")
    if detached:
        git(repo, "checkout", "-q", "--detach")
    git(repo, "update-ref", ref, first)
    assert Repository.open(repo).head() == Head("HEAD" if detached else "main", second)


@pytest.mark.parametrize("name", ["wéird", "a\u2028b", "a\u0085b", "a'b", "with/slash", "日本"])
def test_an_odd_branch_name_is_read_whole(repo: Path, git, name: str) -> None:
    git(repo, "checkout", "-q", "-b", name)
    assert Repository.open(repo).head() == Head(name, git(repo, "rev-parse", "HEAD"))


def test_a_sha_256_repository_has_long_ids(tmp_path: Path, git) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    found = Repository.open(tmp_path)
    assert found.hash_length == 64
    assert len(found.head().commit) == 64


def test_a_broken_branch_is_an_error_and_never_an_unborn_one(repo: Path) -> None:
    (repo / ".git/refs/heads/main").write_text("garbage\n")
    with pytest.raises(GitQueryError, match=r"symbolic-ref|broken ref"):
        Repository.open(repo).head()


def test_a_missing_commit_object_is_an_error(repo: Path, git) -> None:
    opened = Repository.open(repo)
    commit = git(repo, "rev-parse", "HEAD")
    (repo / ".git/objects" / commit[:2] / commit[2:]).unlink()
    with pytest.raises(GitQueryError, match="rev-parse"):
        opened.head()


def test_an_error_carries_command_and_gits_own_words(repo: Path) -> None:
    with pytest.raises(GitQueryError, match=r"`git rev-list nope` failed with status 128: fatal: .*nope"):
        Repository.open(repo).git("rev-list", "nope")


def test_output_beyond_the_limit_is_an_error_and_never_half_an_answer(odd_repo: Path) -> None:
    with pytest.raises(GitQueryError, match="more output than its limit"):
        Repository.open(odd_repo).git("ls-files", "-z", max_output_bytes=10)


def test_a_work_tree_that_vanished_is_named(repo: Path) -> None:
    opened = Repository.open(repo)
    shutil.rmtree(repo)
    with pytest.raises(GitError, match="is gone"):
        opened.head()


def test_variables_that_point_git_elsewhere_do_not_reach_our_calls(
    repo: Path, tmp_path: Path, git, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "other")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other-index"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare'='true'")
    monkeypatch.setenv("GIT_TRACE", str(trace))
    opened = Repository.open(repo)
    assert opened.work_tree == repo
    assert opened.git("ls-files") == b"README.md\n"
    assert not trace.exists()


def test_a_work_tree_named_in_the_configuration_is_not_followed_once_the_repository_is_open(
    repo: Path, tmp_path: Path, git
) -> None:
    opened = Repository.open(repo)
    git(repo, "config", "core.worktree", str(tmp_path))
    assert opened.git("ls-files", "--others", "--exclude-standard", "-z") == b""


def test_the_users_own_configuration_stays_in_force(repo: Path, git) -> None:
    git(repo, "config", "--global", "user.email", "somebody@example.invalid")
    assert Repository.open(repo).git("config", "user.email") == b"somebody@example.invalid\n"


def test_a_password_in_a_url_is_not_shown(repo: Path) -> None:
    with pytest.raises(GitQueryError) as caught:
        Repository.open(repo).git("ls-remote", "https://me:s3cret@example.invalid/x.git", timeout_s=20)
    assert "s3cret" not in str(caught.value)
    assert "https://***@example.invalid" in str(caught.value)


_SAFE = st.text(
    st.characters(codec="ascii", exclude_characters="@/'\" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f", min_codepoint=33)
)


@given(_SAFE.filter(lambda secret: len(secret) > 3), st.sampled_from(["https", "ssh", "git+ssh"]))
def test_whatever_stands_before_the_host_is_masked(secret: str, scheme: str) -> None:
    masked = redact(f"fatal: {scheme}://{secret}@host/path failed")
    assert masked == f"fatal: {scheme}://***@host/path failed"
