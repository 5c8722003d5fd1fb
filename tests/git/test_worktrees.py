from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from touchline.errors import GitError
from touchline.git.repository import Head, Repository
from touchline.git.worktrees import remove_leftovers, throwaway_worktree


def _listed(git, repo: Path) -> str:
    return git(repo, "worktree", "list", "--porcelain")


def test_a_worktree_stands_detached_at_the_commit_and_is_gone_afterwards(repo: Path, git, tmp_path: Path) -> None:
    opened = Repository.open(repo)
    first = git(repo, "rev-parse", "HEAD~1")
    (repo / "README.md").write_text("dirty")
    before = (_listed(git, repo), git(repo, "status", "--porcelain"))
    with throwaway_worktree(opened, first, tmp_path / "private/side") as side:
        assert side.repository.head() == Head("HEAD", first)
        assert side.unpopulated == ()
        assert not (side.path / "README.md").exists()
        (side.path / "build").mkdir()
        (side.path / "build/result").write_text("x")
        (side.path / "build").chmod(0o500)
    assert not (tmp_path / "private/side").exists()
    assert (_listed(git, repo), git(repo, "status", "--porcelain")) == before
    assert not (repo / ".git/worktrees").exists()


def test_it_is_removed_after_an_error_too_and_can_be_made_again(repo: Path, git, tmp_path: Path) -> None:
    opened = Repository.open(repo)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), throwaway_worktree(opened, opened.head().commit, tmp_path / "side"):
            raise ZeroDivisionError
        assert not (tmp_path / "side").exists()


def test_odd_names_are_checked_out(odd_repo: Path, odd_names: tuple[str, ...], tmp_path: Path) -> None:
    opened = Repository.open(odd_repo)
    with throwaway_worktree(opened, opened.head().commit, tmp_path / "odd 'folder\"\n") as side:
        assert all((side.path / name).is_file() for name in odd_names)


def test_submodules_that_are_not_populated_are_named(with_submodule: Path, tmp_path: Path) -> None:
    opened = Repository.open(with_submodule)
    with throwaway_worktree(opened, opened.head().commit, tmp_path / "side") as side:
        assert side.unpopulated == ("lib/sub",)
        assert list((side.path / "lib/sub").iterdir()) == []


def test_a_worktree_can_be_made_from_a_linked_worktree(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "users", str(tmp_path / "users"))
    before = _listed(git, repo)
    opened = Repository.open(tmp_path / "users")
    with throwaway_worktree(opened, opened.head().commit, tmp_path / "side") as side:
        assert side.repository.common_dir == repo / ".git"
    assert _listed(git, repo) == before
    assert (tmp_path / "users/README.md").exists()


def test_an_existing_folder_is_refused_and_left_as_it_is(repo: Path, tmp_path: Path) -> None:
    opened = Repository.open(repo)
    (tmp_path / "side").mkdir()
    (tmp_path / "side/precious").write_text("x")
    with (
        pytest.raises(GitError, match="already exists"),
        throwaway_worktree(opened, opened.head().commit, tmp_path / "side"),
    ):
        pass
    assert (tmp_path / "side/precious").exists()


@pytest.mark.parametrize("commit", ["main", "--orphan", "f" * 40])
def test_a_commit_that_is_none_is_refused_and_nothing_stays(repo: Path, git, tmp_path: Path, commit: str) -> None:
    before = _listed(git, repo)
    with pytest.raises(GitError), throwaway_worktree(Repository.open(repo), commit, tmp_path / "side"):
        pass
    assert _listed(git, repo) == before
    assert not (tmp_path / "side").exists()


def test_what_a_killed_process_left_is_removed_at_the_next_use(repo: Path, git, tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from touchline.git.repository import Repository\nfrom touchline.git.worktrees import throwaway_worktree\n"
        "repo = Repository.open(sys.argv[1])\n"
        "with throwaway_worktree(repo, repo.head().commit, Path(sys.argv[2])):\n"
        "    print('ready', flush=True)\n    time.sleep(60)\n"
    )
    place = tmp_path / "private/side"
    git(repo, "worktree", "add", "-q", "--detach", "--lock", str(tmp_path / "users"))
    argv = [sys.executable, "-c", program, str(repo), str(place)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        opened = Repository.open(repo)
        assert remove_leftovers(opened, place.parent) == ()
        assert place.exists()
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=10)
    with throwaway_worktree(opened, opened.head().commit, place) as side:
        assert (side.path / "README.md").exists()
    assert not place.exists()
    assert (tmp_path / "users/README.md").exists()
    assert _listed(git, repo).count("worktree ") == 2


def test_a_users_stale_worktree_is_not_pruned(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "on-another-disk"))
    (tmp_path / "on-another-disk").rename(tmp_path / "unplugged")
    opened = Repository.open(repo)
    with throwaway_worktree(opened, opened.head().commit, tmp_path / "side"):
        pass
    assert "on-another-disk" in _listed(git, repo)


def test_a_forged_mark_does_not_choose_what_is_deleted(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "users"))
    admin = repo / ".git/worktrees/users"
    precious = tmp_path / "home/precious"
    precious.mkdir(parents=True)
    (admin / "locked").write_text("touchline throw-away 999999999 1.00\n")
    (admin / "gitdir").write_text(f"{precious}/.git\n")
    (tmp_path / "private").mkdir()
    opened = Repository.open(repo)
    assert remove_leftovers(opened, tmp_path / "private") == ()
    (admin / "gitdir").write_text(f"{tmp_path}/private/../home/precious/.git\n")
    assert remove_leftovers(opened, tmp_path / "private") == ()
    (tmp_path / "private/link").symlink_to(precious)
    (admin / "gitdir").write_text(f"{tmp_path}/private/link/.git\n")
    with pytest.raises(GitError, match="replaced by a link"):
        remove_leftovers(opened, tmp_path / "private")
    assert precious.is_dir()


def test_the_process_id_of_a_later_program_does_not_keep_a_leftover(repo: Path, git, tmp_path: Path) -> None:
    place = tmp_path / "side"
    reason = f"touchline throw-away {os.getpid()} 1.00"
    git(repo, "worktree", "add", "-q", "--detach", "--lock", "--reason", reason, str(place))
    assert remove_leftovers(Repository.open(repo), tmp_path) == (place,)
    assert not place.exists()
