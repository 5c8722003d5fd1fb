from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from pathlib import Path

import pytest

from touchline.errors import GitError
from touchline.git.index import read_status
from touchline.git.repository import MAX_NESTING, Repository
from touchline.git.trees import StatData, changed_paths, proves_unchanged, snapshot


def test_every_odd_name_is_in_the_snapshot(odd_repo: Path, odd_names: tuple[str, ...]) -> None:
    assert set(snapshot(odd_repo).entries) == {*odd_names, "README.md"}


def test_the_hash_is_the_same_for_the_same_content_and_another_for_each_kind_of_change(repo: Path, git) -> None:
    for name in ("edited", "removed", "made-executable", "made-link"):
        (repo / name).write_text(name)
    git(repo, "add", "-A")
    first = snapshot(repo)
    assert snapshot(repo).digest == first.digest
    seen = {first.digest}
    (repo / "edited").write_text("Edited")
    seen.add(snapshot(repo).digest)
    (repo / "removed").unlink()
    seen.add(snapshot(repo).digest)
    (repo / "made-executable").chmod(0o755)
    seen.add(snapshot(repo).digest)
    (repo / "made-link").unlink()
    (repo / "made-link").symlink_to("made-link")
    after = snapshot(repo)
    seen.add(after.digest)
    assert len(seen) == 5
    assert changed_paths(first, after) == ("edited", "made-executable", "made-link", "removed")


@pytest.mark.parametrize("position", range(4))
def test_odd_names_are_reported_as_changed(odd_repo: Path, odd_names: tuple[str, ...], position: int) -> None:
    before = snapshot(odd_repo)
    chosen = odd_names[position::4]
    for name in chosen:
        (odd_repo / name).write_text("changed")
    assert changed_paths(before, snapshot(odd_repo)) == tuple(sorted(chosen))


def test_untracked_files_do_not_count_unless_they_are_owned(repo: Path) -> None:
    before = snapshot(repo)
    (repo / "new").write_text("new")
    assert snapshot(repo).digest == before.digest
    assert changed_paths(before, snapshot(repo, ["new"])) == ("new",)


def test_an_owned_path_that_is_missing_has_no_entry_and_an_owned_folder_stands_for_its_files(repo: Path) -> None:
    (repo / "folder/deep").mkdir(parents=True)
    (repo / "folder/deep/a").write_text("a")
    (repo / "folder/b").write_text("b")
    state = snapshot(repo, ["folder/", "gone"])
    assert sorted(state.entries) == ["README.md", "folder/b", "folder/deep/a"]


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a/../../b", ".git/config", "sub/.GIT/hooks/x", "", "a//b", "./a"]
)
def test_an_owned_path_cannot_lead_out_of_the_work_tree(repo: Path, path: str) -> None:
    with pytest.raises(GitError, match="not a path inside the work tree"):
        snapshot(repo, [path])


def test_a_folder_that_was_replaced_by_a_link_hides_nothing_and_reads_nothing_outside(
    repo: Path, git, tmp_path: Path
) -> None:
    (repo / "folder").mkdir()
    (repo / "folder/file").write_text("same")
    git(repo, "add", "-A")
    before = snapshot(repo)
    (repo / "folder").rename(tmp_path / "outside")
    (repo / "folder").symlink_to(tmp_path / "outside")
    assert changed_paths(before, snapshot(repo)) == ("folder/file",)


def test_a_link_counts_by_its_target_text_and_is_not_followed(repo: Path, git, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("one")
    (repo / "link").symlink_to(tmp_path / "target")
    git(repo, "add", "-A")
    before = snapshot(repo)
    assert before.entries["link"].mode == "120000"
    (tmp_path / "target").write_text("two")
    assert snapshot(repo).digest == before.digest
    (repo / "link").unlink()
    (repo / "link").symlink_to("./README.md")
    dotted = snapshot(repo)
    (repo / "link").unlink()
    (repo / "link").symlink_to("README.md")
    assert len({before.digest, dotted.digest, snapshot(repo).digest}) == 3


def test_a_pipe_in_place_of_a_file_is_a_change_and_is_not_waited_for(repo: Path) -> None:
    before = snapshot(repo)
    (repo / "README.md").unlink()
    os.mkfifo(repo / "README.md")
    after = snapshot(repo)
    assert after.entries["README.md"].mode == "other"
    assert changed_paths(before, after) == ("README.md",)


def test_a_folder_in_place_of_a_file_is_a_deletion(repo: Path) -> None:
    before = snapshot(repo)
    (repo / "README.md").unlink()
    (repo / "README.md").mkdir()
    assert changed_paths(before, snapshot(repo)) == ("README.md",)


def test_content_counts_as_it_lies_on_disk(repo: Path, git) -> None:
    git(repo, "config", "core.autocrlf", "true")
    (repo / "README.md").write_bytes(b"# example\n")
    before = snapshot(repo)
    (repo / "README.md").write_bytes(b"# example\r\n")
    assert changed_paths(before, snapshot(repo)) == ("README.md",)


def test_flags_in_the_index_do_not_hide_a_change(repo: Path, git) -> None:
    before = snapshot(repo)
    git(repo, "update-index", "--assume-unchanged", "README.md")
    git(repo, "config", "core.fileMode", "false")
    (repo / "README.md").write_text("hidden")
    assert git(repo, "status", "--porcelain") == ""
    assert changed_paths(before, snapshot(repo, previous=before)) == ("README.md",)


def test_times_put_back_do_not_hide_a_change(repo: Path) -> None:
    readme = repo / "README.md"
    found = readme.stat()
    before = snapshot(repo)
    readme.write_text("# EXAMPLE\n")
    os.utime(readme, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert readme.stat().st_size == found.st_size
    assert changed_paths(before, snapshot(repo, previous=before)) == ("README.md",)


def test_a_second_write_of_the_same_size_right_after_a_snapshot_is_seen(repo: Path) -> None:
    readme = repo / "README.md"
    for number in range(10):
        readme.write_text(f"{number:09}\n")
        before = snapshot(repo)
        readme.write_text(f"{number:08}x\n")
        assert changed_paths(before, snapshot(repo, previous=before)) == ("README.md",)


_THEN = StatData(size=9, mtime_ns=5, mode=0o100644, ctime_ns=1_700_000_000_123_456_789, inode=7, device=8)


def test_equal_stat_data_prove_a_content_only_if_it_was_hashed_clearly_after_the_last_change() -> None:
    assert proves_unchanged(_THEN, _THEN, hashed_at_ns=_THEN.ctime_ns + 200_000_000)
    assert not proves_unchanged(_THEN, _THEN, hashed_at_ns=_THEN.ctime_ns + 1_000_000)
    assert not proves_unchanged(_THEN, _THEN, hashed_at_ns=_THEN.ctime_ns - 1)


def test_a_file_system_with_whole_seconds_needs_more_distance() -> None:
    coarse = dataclasses.replace(_THEN, ctime_ns=1_700_000_000_000_000_000)
    assert not proves_unchanged(coarse, coarse, hashed_at_ns=coarse.ctime_ns + 2_000_000_000)
    assert proves_unchanged(coarse, coarse, hashed_at_ns=coarse.ctime_ns + 3_000_000_000)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(StatData)])
def test_any_other_stat_data_prove_nothing(name: str) -> None:
    other = dataclasses.replace(_THEN, **{name: getattr(_THEN, name) + 1})
    assert not proves_unchanged(other, _THEN, hashed_at_ns=_THEN.ctime_ns + 10_000_000_000)


def test_an_earlier_snapshot_gives_the_same_hash(odd_repo: Path) -> None:
    first = snapshot(odd_repo)
    time.sleep(0.2)
    second = snapshot(odd_repo, previous=first)
    third = snapshot(odd_repo, previous=second)
    assert first.digest == second.digest == third.digest == snapshot(odd_repo).digest


def test_a_staged_new_file_and_a_removal_from_the_index_both_show(repo: Path, git) -> None:
    before = snapshot(repo)
    (repo / "new").write_text("x")
    git(repo, "add", "new")
    assert changed_paths(before, snapshot(repo)) == ("new",)
    git(repo, "rm", "-q", "--cached", "new", "README.md")
    assert changed_paths(before, snapshot(repo)) == ("README.md",)


def test_conflicted_files_count_as_they_lie_on_disk(repo: Path, git) -> None:
    git(repo, "switch", "-q", "-c", "other")
    (repo / "README.md").write_text("theirs\n")
    git(repo, "commit", "-q", "-am", "theirs")
    git(repo, "switch", "-q", "main")
    (repo / "README.md").write_text("ours\n")
    git(repo, "commit", "-q", "-am", "ours")
    with pytest.raises(AssertionError):
        git(repo, "merge", "other")
    before = snapshot(repo)
    (repo / "README.md").write_text("resolved\n")
    assert changed_paths(before, snapshot(repo)) == ("README.md",)


def test_a_submodule_counts_by_its_head_and_its_own_files(with_submodule: Path, git) -> None:
    inner = with_submodule / "lib/sub"
    states = [snapshot(with_submodule)]
    assert states[0].entries["lib/sub"].mode == "160000"
    (inner / "inner.txt").write_text("dirty\n")
    states.append(snapshot(with_submodule, previous=states[0]))
    (inner / "inner.txt").write_text("dirtier\n")
    states.append(snapshot(with_submodule, previous=states[1]))
    git(inner, "commit", "-q", "-am", "committed inside")
    states.append(snapshot(with_submodule, previous=states[2]))
    assert len({state.digest for state in states}) == 4
    assert changed_paths(states[0], states[3]) == ("lib/sub",)


def test_files_in_an_unpopulated_submodule_are_seen(with_submodule: Path, git) -> None:
    git(with_submodule, "submodule", "--quiet", "deinit", "-f", "lib/sub")
    before = snapshot(with_submodule)
    assert before.entries["lib/sub"].digest == "unpopulated"
    (with_submodule / "lib/sub/planted.py").write_text("x")
    assert changed_paths(before, snapshot(with_submodule)) == ("lib/sub/planted.py",)


def test_a_snapshot_works_inside_a_submodule_and_in_a_linked_worktree(
    with_submodule: Path, git, tmp_path: Path
) -> None:
    assert set(snapshot(with_submodule / "lib/sub").entries) == {"inner.txt"}
    git(with_submodule, "worktree", "add", "-q", "--detach", str(tmp_path / "side"))
    state = snapshot(tmp_path / "side")
    assert state.entries["lib/sub"].digest == "unpopulated"
    (tmp_path / "side/README.md").write_text("only here")
    assert changed_paths(state, snapshot(tmp_path / "side")) == ("README.md",)


def test_a_path_may_be_deeper_than_python_can_recurse(repo: Path, git) -> None:
    deep = "/".join(["a"] * 480)
    subprocess.run(["mkdir", "-p", deep], cwd=repo, check=True, timeout=30)
    (repo / deep / "f").write_text("x")
    assert f"{deep}/f" in snapshot(repo, ["a"]).entries
    blob = git(repo, "rev-parse", "HEAD:README.md")
    deeper = "/".join(["b"] * 1900)
    git(repo, "update-index", "-z", "--index-info", stdin=f"100644 {blob}\t{deeper}\0".encode())
    assert deeper not in snapshot(repo).entries


def test_submodules_nested_without_end_are_an_error(repo: Path, git) -> None:
    head = git(repo, "rev-parse", "HEAD")
    folder = repo
    for _ in range(MAX_NESTING + 1):
        git(folder, "update-index", "--add", "--cacheinfo", f"160000,{head},s")
        git(folder, "init", "-q", "s")
        folder = folder / "s"
    opened = Repository.open(repo)
    for query in (snapshot, read_status):
        with pytest.raises(GitError, match="nested too deep"):
            query(opened)


def test_an_empty_repository_has_an_empty_state(tmp_path: Path, git) -> None:
    git(tmp_path, "init", "-q")
    assert snapshot(tmp_path).entries == {}
    (tmp_path / "new").write_text("x")
    assert set(snapshot(tmp_path, ["new"]).entries) == {"new"}


def test_a_snapshot_writes_nothing_into_the_repository(with_submodule: Path) -> None:
    (with_submodule / "README.md").touch()
    before = {place: place.stat().st_mtime_ns for place in with_submodule.rglob("*")}
    snapshot(Repository.open(with_submodule))
    assert {place: place.stat().st_mtime_ns for place in with_submodule.rglob("*")} == before


def test_a_second_snapshot_of_many_files_reads_none_of_them(repo: Path, git) -> None:
    for number in range(2_000):
        place = repo / f"d{number % 100}/f{number}"
        place.parent.mkdir(exist_ok=True)
        place.write_text(str(number))
    git(repo, "add", "-A")
    time.sleep(0.2)
    opened = Repository.open(repo)
    first = snapshot(opened)
    for number in range(2_000):
        assert first.entries[f"d{number % 100}/f{number}"] is not None
    started = time.process_time()
    second = snapshot(opened, previous=first)
    spent = time.process_time() - started
    assert second.digest == first.digest
    # Entries are taken over as objects, so nothing was hashed; the time is generous for a loaded machine.
    assert all(second.entries[path] is entry for path, entry in first.entries.items())
    assert spent < 2.0
