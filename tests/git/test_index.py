from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import GitError, GitQueryError
from touchline.git import index
from touchline.git.index import (
    hidden_paths,
    intend_to_add,
    intended_paths,
    read_status,
    remove_intent_to_add,
    restore_index,
    restore_staged,
    save_index,
    staged_set,
)
from touchline.git.repository import Repository
from touchline.git.status import Status, parse_status


def _files(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(place.relative_to(folder)): (place.lstat().st_mode, b"" if place.is_dir() else place.read_bytes())
        for place in folder.rglob("*")
        if ".git" not in place.parts
    }


def test_each_kind_of_difference_has_its_place(repo: Path, git) -> None:
    for name in ("staged", "both", "unstaged", "deleted", "mode", "renamed"):
        (repo / name).write_text(f"{name}\n" * 5)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "files")
    (repo / "staged").write_text("x")
    (repo / "both").write_text("x")
    git(repo, "add", "staged", "both")
    git(repo, "mv", "renamed", "new name")
    (repo / "both").write_text("y")
    (repo / "unstaged").write_text("x")
    (repo / "deleted").unlink()
    (repo / "mode").chmod(0o755)
    (repo / "untracked").write_text("x")
    (repo / "intended").write_text("x")
    git(repo, "add", "-N", "intended")
    status = read_status(Repository.open(repo))
    assert status == Status(
        staged=("both", "new name", "renamed", "staged"),
        unstaged=("both", "deleted", "mode", "unstaged"),
        untracked=("untracked",),
        intended=("intended",),
    )
    assert not status.clean
    assert status.dirty_tracked == ("both", "deleted", "mode", "new name", "renamed", "staged", "unstaged")


def test_odd_names_come_through(odd_repo: Path, odd_names: tuple[str, ...]) -> None:
    for name in odd_names:
        (odd_repo / name).write_text("changed")
        (odd_repo / name).with_name((odd_repo / name).name + "~").write_text("new")
    status = read_status(Repository.open(odd_repo))
    assert status.unstaged == tuple(sorted(odd_names))
    assert status.untracked == tuple(sorted(f"{name}~" for name in odd_names))


def test_a_conflict_is_named(repo: Path, git) -> None:
    git(repo, "switch", "-q", "-c", "other")
    (repo / "README.md").write_text("theirs\n")
    git(repo, "commit", "-q", "-am", "theirs")
    git(repo, "switch", "-q", "main")
    (repo / "README.md").write_text("ours\n")
    git(repo, "commit", "-q", "-am", "ours")
    with pytest.raises(AssertionError):
        git(repo, "merge", "other")
    assert read_status(Repository.open(repo)) == Status(conflicted=("README.md",))


def test_an_unborn_branch_has_a_status(tmp_path: Path, git) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    git(tmp_path, "add", "a")
    opened = Repository.open(tmp_path)
    assert read_status(opened) == Status(staged=("a",), untracked=("b",))
    assert {entry.path for entry in staged_set(opened)} == {"a"}
    assert intend_to_add(opened, ["b"]) == ("b",)
    assert {entry.path for entry in staged_set(opened)} == {"a"}
    assert remove_intent_to_add(opened, ["b"]) == ("b",)
    assert read_status(opened) == Status(staged=("a",), untracked=("b",))


def test_line_endings_alone_are_no_change(repo: Path, git) -> None:
    git(repo, "config", "core.autocrlf", "true")
    (repo / "README.md").write_bytes(b"# example\r\n")
    assert git(repo, "status", "--porcelain") == " M README.md"
    assert read_status(Repository.open(repo)).clean


def test_a_touched_file_is_no_change_and_the_index_is_not_written(repo: Path) -> None:
    (repo / "README.md").touch()
    before = (repo / ".git/index").stat().st_mtime_ns
    assert read_status(Repository.open(repo)).clean
    assert (repo / ".git/index").stat().st_mtime_ns == before


def test_a_change_inside_a_submodule_is_named_apart(with_submodule: Path, git) -> None:
    opened = Repository.open(with_submodule)
    assert read_status(opened).clean
    (with_submodule / "lib/sub/untracked").write_text("x")
    assert read_status(opened).clean
    (with_submodule / "lib/sub/inner.txt").write_text("x")
    assert read_status(opened) == Status(modified_submodules=("lib/sub",))
    git(with_submodule / "lib/sub", "commit", "-q", "-am", "x")
    assert read_status(opened) == Status(unstaged=("lib/sub",))


def test_flags_that_hide_changes_are_named(odd_repo: Path, git) -> None:
    opened = Repository.open(odd_repo)
    assert hidden_paths(opened) == ()
    git(odd_repo, "update-index", "--assume-unchanged", "new\nline.txt")
    git(odd_repo, "update-index", "--skip-worktree", "plain.txt")
    assert set(hidden_paths(opened)) == {"new\nline.txt", "plain.txt"}


def test_intent_to_add_takes_untracked_files_only_and_gives_them_back(
    repo: Path, git, odd_names: tuple[str, ...]
) -> None:
    (repo / ".gitignore").write_text("ignored\n")
    git(repo, "add", "-A")
    git(repo, "init", "-q", "nested")
    git(repo / "nested", "commit", "-q", "--allow-empty", "-m", "x")
    for name in ("ignored", *odd_names):
        (repo / name).parent.mkdir(exist_ok=True, parents=True)
        (repo / name).write_text("x")
    opened = Repository.open(repo)
    staged, files, before = staged_set(opened), _files(repo), git(repo, "status", "--porcelain")
    asked = [*odd_names, "ignored", "README.md", "missing", "nested/", "folder with space"]
    assert intend_to_add(opened, asked) == tuple(sorted(odd_names))
    assert intended_paths(opened) == set(odd_names)
    assert git(repo, "diff", "--name-only", "-z").count("\0") == len(odd_names)
    assert staged_set(opened) == staged
    assert intend_to_add(opened, asked) == ()
    assert remove_intent_to_add(opened, asked) == tuple(sorted(odd_names))
    assert remove_intent_to_add(opened, asked) == ()
    assert (staged_set(opened), _files(repo), git(repo, "status", "--porcelain")) == (staged, files, before)


def test_an_intended_file_that_was_deleted_leaves_the_index_and_stays_deleted(repo: Path) -> None:
    opened = Repository.open(repo)
    (repo / "new").write_text("x")
    intend_to_add(opened, ["new"])
    (repo / "new").unlink()
    assert intended_paths(opened) == {"new"}
    assert remove_intent_to_add(opened, ["new"]) == ("new",)
    assert not (repo / "new").exists()
    assert read_status(opened).clean


def test_what_was_really_staged_meanwhile_stays_until_the_staged_set_is_put_back(repo: Path, git) -> None:
    opened = Repository.open(repo)
    (repo / "theirs").write_text("staged before the run")
    git(repo, "add", "theirs")
    before = staged_set(opened)
    (repo / "new").write_text("x")
    intend_to_add(opened, ["new"])
    (repo / "README.md").write_text("changed")
    (repo / "theirs").write_text("changed")
    git(repo, "add", "-A")
    files = _files(repo)
    assert remove_intent_to_add(opened, ["new"]) == ()
    assert restore_staged(opened, before) == ("README.md", "new", "theirs")
    assert staged_set(opened) == before
    assert _files(repo) == files
    assert read_status(opened) == Status(staged=("theirs",), unstaged=("README.md", "theirs"), untracked=("new",))
    assert restore_staged(opened, before) == ()


def test_a_staged_deletion_is_put_back_too(repo: Path, git) -> None:
    git(repo, "rm", "-q", "--cached", "README.md")
    opened = Repository.open(repo)
    before = staged_set(opened)
    git(repo, "reset", "-q")
    assert restore_staged(opened, before) == ("README.md",)
    assert staged_set(opened) == before
    assert restore_staged(opened, frozenset()) == ("README.md",)
    assert read_status(opened).clean


def test_a_path_outside_the_work_tree_is_refused(repo: Path) -> None:
    with pytest.raises(GitError, match="not a path inside"):
        intend_to_add(Repository.open(repo), ["../x"])


def test_a_lock_that_is_let_go_in_time_is_waited_for(repo: Path) -> None:
    opened = Repository.open(repo)
    (repo / "new").write_text("x")
    lock = repo / ".git/index.lock"
    lock.touch()
    release = threading.Timer(0.3, lock.unlink)
    release.start()
    try:
        assert intend_to_add(opened, ["new"]) == ("new",)
    finally:
        release.join()


@pytest.mark.parametrize(("age_s", "words"), [(0, "another git process holds"), (7200, "120 minutes.*rm '")])
def test_a_lock_that_stays_is_explained_and_not_removed(
    repo: Path, age_s: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "LOCK_WAIT_S", 0.3)
    opened = Repository.open(repo)
    saved = save_index(opened)
    (repo / "new").write_text("x")
    lock = repo / ".git/index.lock"
    lock.write_text("half an index")
    os.utime(lock, (time.time() - age_s, time.time() - age_s))
    for writer in (lambda: intend_to_add(opened, ["new"]), lambda: restore_index(opened, saved)):
        with pytest.raises(GitError, match=f"(?s){words}"):
            writer()
        assert lock.read_text() == "half an index"
    assert intended_paths(opened) == frozenset()


def test_reading_does_not_need_the_lock(repo: Path) -> None:
    (repo / ".git/index.lock").touch()
    assert read_status(Repository.open(repo)).clean


def test_a_saved_index_comes_back_with_its_time(repo: Path, git) -> None:
    opened = Repository.open(repo)
    saved = save_index(opened)
    (repo / "new").write_text("x")
    git(repo, "add", "-A")
    restore_index(opened, saved)
    assert save_index(opened) == saved
    assert read_status(opened) == Status(untracked=("new",))
    assert not (repo / ".git/index.lock").exists()


def test_a_missing_index_can_be_saved_and_put_back(tmp_path: Path, git) -> None:
    git(tmp_path, "init", "-q")
    opened = Repository.open(tmp_path)
    saved = save_index(opened)
    (tmp_path / "new").write_text("x")
    git(tmp_path, "add", "-A")
    restore_index(opened, saved)
    assert not (tmp_path / ".git/index").exists()
    assert not (tmp_path / ".git/index.lock").exists()


def test_the_index_of_a_linked_worktree_is_its_own(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "side"))
    (tmp_path / "side/new").write_text("x")
    side = Repository.open(tmp_path / "side")
    assert intend_to_add(side, ["new"]) == ("new",)
    assert intended_paths(Repository.open(repo)) == frozenset()


_PATHS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
_HASHES = f"100644 100644 100644 {'a' * 40} {'b' * 40}"


@given(
    st.lists(
        st.tuples(st.sampled_from(["M.", ".M", "MM", "A.", ".D", ".A", "?", "u"]), _PATHS), unique_by=lambda x: x[1]
    )
)
def test_every_path_is_found_again_whatever_its_characters(records: list[tuple[str, str]]) -> None:
    def line(code: str, path: str) -> str:
        if code == "?":
            return f"? {path}"
        if code == "u":
            return f"u UU N... 100644 100644 100644 100644 {'a' * 40} {'b' * 40} {'c' * 40} {path}"
        return f"1 {code} N... {_HASHES} {path}"

    status = parse_status(b"".join(os.fsencode(line(*record)) + b"\0" for record in records))

    def of(*codes: str) -> tuple[str, ...]:
        return tuple(sorted(path for code, path in records if code in codes))

    assert status == Status(of("M.", "MM", "A."), of(".M", "MM", ".D"), of("?"), of("u"), of(".A"))


def test_an_unknown_record_is_an_error_and_not_skipped() -> None:
    with pytest.raises(GitQueryError, match="does not know"):
        parse_status(b"7 new kind of record\0")
