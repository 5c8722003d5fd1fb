from __future__ import annotations

import time
from pathlib import Path

import pytest

from touchline.errors import GitQueryError
from touchline.git.diff import Change, LineCount, compare, compare_work_tree, merge_base
from touchline.git.repository import Repository
from touchline.git.trees import snapshot


def _commit_all(git, folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


def test_two_commits_are_compared_with_renames(repo: Path, git) -> None:
    (repo / "old name").write_text("".join(f"line {n}\n" for n in range(20)))
    (repo / "gone").write_text("gone\n")
    (repo / "run").write_text("x\n")
    (repo / "becomes-link").write_text("x\n")
    base = _commit_all(git, repo)
    git(repo, "mv", "old name", "nëw\tname")
    (repo / "gone").unlink()
    (repo / "run").chmod(0o755)
    (repo / "becomes-link").unlink()
    (repo / "becomes-link").symlink_to("run")
    (repo / "-added").write_text("one\ntwo\n")
    head = _commit_all(git, repo)
    found = compare(Repository.open(repo), base, head)
    assert set(found.changes()) == {
        Change("-added", "added", "000000", "100644"),
        Change("becomes-link", "type-changed", "100644", "120000"),
        Change("gone", "deleted", "100644", "000000"),
        Change("nëw\tname", "renamed", "100644", "100644", "old name"),
        Change("run", "modified", "100644", "100755"),
    }
    assert found.changed_paths() == ("-added", "becomes-link", "gone", "nëw\tname", "old name", "run")
    assert found.renames() == {"old name": "nëw\tname"}
    assert LineCount("-added", 2, 0) in found.numstat()
    assert LineCount("nëw\tname", 0, 0) in found.numstat()
    patch = found.patch(max_bytes=100_000)
    assert patch.left_out == ()
    assert "+two" in patch.text
    assert "rename from old name" in patch.text


def test_the_work_tree_is_compared_as_git_would_commit_it(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    (repo / "moved").write_text("".join(f"line {n}\n" for n in range(20)))
    (repo / "d").mkdir()
    (repo / "d/f").write_text("x\n")
    (repo / "to-folder").write_text("x\n")
    base = _commit_all(git, repo)
    objects = sorted((repo / ".git").rglob("*"))
    (repo / "README.md").write_bytes(b"# example\r\n")
    (repo / "moved").rename(repo / "arrived")
    (repo / "d/f").unlink()
    (repo / "d").rmdir()
    (repo / "d").write_text("now a file\n")
    (repo / "to-folder").unlink()
    (repo / "to-folder").mkdir()
    (repo / "to-folder/inside").write_text("x\n")
    (repo / "new: file").write_text("new\n")
    (repo / "not owned").write_text("new\n")
    opened = Repository.open(repo)
    state = snapshot(opened, ["arrived", "d", "to-folder", "new: file"])
    with compare_work_tree(opened, base, state) as found:
        assert found.renames()["moved"] == "arrived"
        assert found.changed_paths() == ("arrived", "d", "d/f", "moved", "new: file", "to-folder", "to-folder/inside")
        assert "+now a file" in found.patch(max_bytes=10_000).text
    assert sorted((repo / ".git").rglob("*")) == objects


def test_flags_in_the_index_hide_nothing_from_the_comparison(repo: Path, git) -> None:
    base = git(repo, "rev-parse", "HEAD")
    git(repo, "update-index", "--skip-worktree", "README.md")
    (repo / "README.md").write_text("hidden\n")
    opened = Repository.open(repo)
    with compare_work_tree(opened, base, snapshot(opened)) as found:
        assert found.changed_paths() == ("README.md",)


def test_a_sparse_checkout_does_not_look_like_deletions(repo: Path, git) -> None:
    (repo / "in").mkdir()
    (repo / "out").mkdir()
    (repo / "in/f").write_text("x")
    (repo / "out/f").write_text("x")
    base = _commit_all(git, repo)
    git(repo, "sparse-checkout", "set", "in")
    assert not (repo / "out").exists()
    opened = Repository.open(repo)
    with compare_work_tree(opened, base, snapshot(opened)) as found:
        assert found.changes() == ()


def test_every_odd_name_is_compared(odd_repo: Path, git, odd_names: tuple[str, ...]) -> None:
    base = git(odd_repo, "rev-parse", "HEAD")
    for name in odd_names:
        (odd_repo / name).write_text("changed\n")
    opened = Repository.open(odd_repo)
    with compare_work_tree(opened, base, snapshot(opened)) as found:
        assert found.changed_paths() == tuple(sorted(odd_names))
        assert {count.path for count in found.numstat()} == set(odd_names)
        whole = found.patch(max_bytes=1_000_000)
        assert whole.left_out == ()
        short = found.patch(max_bytes=len(whole.data) // 2)
        assert 0 < len(short.data) <= len(whole.data) // 2
        named = {path for path, _ in short.left_out}
        assert 0 < len(named) < len(odd_names)
        assert short.data.count(b"diff --git ") == len(odd_names) - len(named)


def test_a_large_file_does_not_crowd_out_the_small_ones(repo: Path, git) -> None:
    base = git(repo, "rev-parse", "HEAD")
    (repo / "a-lock-file").write_text("x\n" * 50_000)
    (repo / "b").write_text("small\n")
    found = compare(Repository.open(repo), base, _commit_all(git, repo))
    patch = found.patch(max_bytes=5_000)
    assert patch.left_out == (("a-lock-file", "too long"),)
    assert "+small" in patch.text


@pytest.mark.parametrize("length", [50_000, 40_000_000])
def test_chosen_paths_are_shown_alone_also_next_to_a_huge_file(repo: Path, git, length: int) -> None:
    base = git(repo, "rev-parse", "HEAD")
    (repo / "a-huge-file").write_text("x" * length)
    (repo / "*").write_text("star\n")
    (repo / "b").write_text("bee\n")
    (repo / "README.md").unlink()
    (repo / "README.md").mkdir()
    (repo / "README.md/inside").write_text("inside\n")
    found = compare(Repository.open(repo), base, _commit_all(git, repo))
    some = found.patch(max_bytes=5_000, only=["*", "README.md/inside"])
    assert some.left_out == ()
    assert [line for line in some.text.splitlines() if line.startswith("+") and not line.startswith("+++")] == [
        "+star",
        "+inside",
    ]
    assert ("a-huge-file", "too long") in found.patch(max_bytes=5_000).left_out


def test_the_patch_of_thousands_of_files_costs_each_of_them_the_same(repo: Path, git) -> None:
    (repo / "made").mkdir()
    for number in range(5000):
        (repo / f"made/{number}.txt").write_text(f"{number}\n")
    before = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "Many")
    comparison = compare(Repository.open(repo), before, git(repo, "rev-parse", "HEAD").strip())
    begun = time.process_time()  # our own work alone: git and a busy machine do not count
    patch = comparison.patch(max_bytes=64 * 1024 * 1024)
    assert time.process_time() - begun < 2.0
    assert patch.data.count(b"\n+++ ") == 5000


def test_attributes_cannot_blank_out_the_patch_and_binary_files_are_named(repo: Path, git) -> None:
    base = git(repo, "rev-parse", "HEAD")
    (repo / ".gitattributes").write_text("*.py -diff binary\n")
    (repo / "a.py").write_text("import os\n")
    (repo / "b.bin").write_bytes(b"\0\1\2\n")
    patch = compare(Repository.open(repo), base, _commit_all(git, repo)).patch(max_bytes=10_000)
    assert "+import os" in patch.text
    assert patch.left_out == (("b.bin", "binary"),)


def test_content_that_looks_like_a_patch_header_does_not_split_a_section(repo: Path, git) -> None:
    base = git(repo, "rev-parse", "HEAD")
    (repo / "tricky").write_text("diff --git a/x b/x\n+++ b/x\n\ndiff --git a/y b/y\n")
    (repo / "crlf").write_bytes(b"a\r\ndiff --git a/z b/z\r\n")
    found = compare(Repository.open(repo), base, _commit_all(git, repo))
    assert len(found.changes()) == 2
    assert found.patch(max_bytes=10_000).left_out == ()


def test_a_submodule_whose_commit_moved_is_a_change_also_when_it_asks_to_be_ignored(with_submodule: Path, git) -> None:
    base = git(with_submodule, "rev-parse", "HEAD")
    git(with_submodule, "config", "-f", ".gitmodules", "submodule.lib/sub.ignore", "all")
    git(with_submodule / "lib/sub", "commit", "-q", "--allow-empty", "-m", "x")
    opened = Repository.open(with_submodule)
    with compare_work_tree(opened, base, snapshot(opened)) as found:
        assert found.changed_paths() == (".gitmodules", "lib/sub")


def test_an_object_folder_with_a_colon_and_quotes_is_found(tmp_path: Path, git) -> None:
    odd = tmp_path / '"odd: folder"'
    odd.mkdir()
    git(odd, "init", "-q")
    (odd / "f").write_text("one\n")
    base = _commit_all(git, odd)
    (odd / "f").write_text("two\n")
    opened = Repository.open(odd)
    with compare_work_tree(opened, base, snapshot(opened)) as found:
        assert "-one\n+two" in found.patch(max_bytes=1000).text


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_an_unborn_branch_is_compared_with_nothing(tmp_path: Path, git, object_format: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={object_format}")
    (tmp_path / "new").write_text("new\n")
    opened = Repository.open(tmp_path)
    with compare_work_tree(opened, opened.head().commit, snapshot(opened, ["new"])) as found:
        assert found.changes() == (Change("new", "added", "000000", "100644"),)
    first = _commit_all(git, tmp_path)
    assert compare(opened, "", first).changed_paths() == ("new",)


def test_merge_bases(repo: Path, git) -> None:
    opened = Repository.open(repo)
    base = git(repo, "rev-parse", "HEAD")
    git(repo, "switch", "-q", "-c", "side")
    side = _commit_all(git, repo)
    git(repo, "switch", "-q", "--orphan", "alone")
    alone = _commit_all(git, repo)
    assert merge_base(opened, base, side) == base
    assert merge_base(opened, side, alone) == ""
    with pytest.raises(GitQueryError):
        merge_base(opened, "f" * 40, base)


def test_names_are_not_taken_where_ids_are_needed(repo: Path) -> None:
    with pytest.raises(GitQueryError, match="no full object id"):
        compare(Repository.open(repo), "--output=pwned", "HEAD")


def test_replacement_refs_do_not_change_what_is_compared(repo: Path, git) -> None:
    base = git(repo, "rev-parse", "HEAD")
    (repo / "README.md").write_text("changed\n")
    head = _commit_all(git, repo)
    git(repo, "replace", head, base)
    assert git(repo, "diff", "--name-only", base, head) == ""
    assert compare(Repository.open(repo), base, head).changed_paths() == ("README.md",)
