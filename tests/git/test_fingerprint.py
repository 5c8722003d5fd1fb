from __future__ import annotations

import os
from pathlib import Path

import pytest

from touchline.git.fingerprint import compare_fingerprints, take_fingerprint
from touchline.git.index import intend_to_add, read_status, remove_intent_to_add
from touchline.git.repository import Repository
from touchline.git.worktrees import throwaway_worktree


def _differences(repo: Path, change) -> tuple[str, ...]:
    opened = Repository.open(repo)
    before = take_fingerprint(opened)
    change()
    return compare_fingerprints(before, take_fingerprint(opened))


def test_ordinary_work_and_our_own_calls_leave_the_fingerprint_alone(repo: Path, git, tmp_path: Path) -> None:
    def work() -> None:
        (repo / "new").write_text("x")
        opened = Repository.open(repo)
        intend_to_add(opened, ["new"])
        read_status(opened)
        remove_intent_to_add(opened, ["new"])
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "x")
        git(repo, "branch", "other")
        git(repo, "tag", "t")
        with throwaway_worktree(opened, opened.head().commit, tmp_path / "side"):
            pass

    assert _differences(repo, work) == ()


def test_a_changed_setting_is_named_without_its_value(repo: Path, git) -> None:
    git(repo, "config", "http.extraHeader", "Authorization: s3cret-old")

    def change() -> None:
        git(repo, "config", "http.extraHeader", "Authorization: s3cret-new")
        git(repo, "config", "filter.evil.clean", "evil s3cret")
        git(repo, "config", "--unset", "core.logAllRefUpdates")

    found = _differences(repo, change)
    assert found == (
        "file .git/config was changed",
        "setting core.logallrefupdates was removed",
        "setting filter.evil.clean was added",
        "setting http.extraheader was changed",
    )


def test_what_an_included_file_sets_is_seen(repo: Path, git, tmp_path: Path) -> None:
    included = tmp_path / "included"
    included.write_text("[core]\n\tpager = less\n")
    git(repo, "config", "include.path", str(included))
    assert _differences(repo, lambda: included.write_text("[core]\n\tpager = evil\n")) == (
        "setting core.pager was changed",
    )


def test_the_users_own_configuration_is_not_the_repositorys(repo: Path, git) -> None:
    assert _differences(repo, lambda: git(repo, "config", "--global", "alias.x", "status")) == ()


def test_a_hook_that_is_added_edited_or_made_executable_is_named(repo: Path) -> None:
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-push").write_text("one")
    (hooks / "post-merge").write_text("x")

    def change() -> None:
        (hooks / "pre-commit").write_text("new")
        (hooks / "pre-push").write_text("two")
        (hooks / "post-merge").chmod(0o755)

    assert _differences(repo, change) == (
        "hook post-merge was changed",
        "hook pre-commit was added",
        "hook pre-push was changed",
    )


def test_the_hooks_folder_of_the_configuration_is_covered(repo: Path, git) -> None:
    git(repo, "config", "core.hooksPath", ".husky")
    (repo / ".husky/_").mkdir(parents=True)
    (repo / ".husky/_/pre-commit").write_text("one")
    assert _differences(repo, lambda: (repo / ".husky/_/pre-commit").write_text("two")) == (
        "hook in .husky/ _/pre-commit was changed",
    )


def test_a_hook_that_is_a_link_counts_by_its_target_and_the_content_there(repo: Path, tmp_path: Path) -> None:
    (repo / ".git/hooks").mkdir(exist_ok=True)
    (tmp_path / "script").write_text("one")
    (repo / ".git/hooks/pre-commit").symlink_to(tmp_path / "script")
    assert _differences(repo, lambda: (tmp_path / "script").write_text("two")) == ("hook pre-commit was changed",)


def test_a_hooks_folder_swapped_for_a_link_is_seen(repo: Path, tmp_path: Path) -> None:
    (repo / ".git/hooks").mkdir(exist_ok=True)

    def swap() -> None:
        (repo / ".git/hooks").rename(tmp_path / "hooks")
        (repo / ".git/hooks").symlink_to(tmp_path / "hooks")

    assert "hook folder, a link was added" in _differences(repo, swap)


@pytest.mark.parametrize(
    "name", ["info/attributes", "info/exclude", "info/grafts", "config.worktree", "objects/info/alternates"]
)
def test_each_special_file_is_covered(repo: Path, name: str) -> None:
    (repo / ".git" / name).parent.mkdir(exist_ok=True)
    text = "" if name == "objects/info/alternates" else "# x\n"
    (repo / ".git" / name).unlink(missing_ok=True)
    assert _differences(repo, lambda: (repo / ".git" / name).write_text(text)) == (f"file .git/{name} was added",)


def test_index_flags_and_replacement_refs_are_named(repo: Path, git) -> None:
    def change() -> None:
        git(repo, "update-index", "--assume-unchanged", "README.md")
        git(repo, "replace", "HEAD", "HEAD~1")

    flags, ref = _differences(repo, change)
    assert flags == "index flags that hide changes (assume-unchanged, skip-worktree) was added"
    assert ref.startswith("replacement ref refs/replace/")


def test_a_submodules_configuration_and_hooks_are_covered(with_submodule: Path, git) -> None:
    def change() -> None:
        git(with_submodule / "lib/sub", "config", "core.pager", "evil")
        hook = with_submodule / ".git/modules/lib/sub/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("x")

    assert _differences(with_submodule, change) == (
        "file .git/modules/lib/sub/config was changed",
        "hook of submodule lib/sub pre-commit was added",
    )


def test_a_linked_worktree_sees_shared_and_own_settings(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "config", "extensions.worktreeConfig", "true")
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "side"))

    def change() -> None:
        git(tmp_path / "side", "config", "--worktree", "core.pager", "evil")
        git(repo, "config", "user.name", "x")

    found = _differences(tmp_path / "side", change)
    assert "file this worktree's config.worktree was added" in found
    assert "setting core.pager was added" in found
    assert "file .git/config was changed" in found


def test_a_configuration_that_git_refuses_is_itself_a_difference(repo: Path) -> None:
    found = _differences(repo, lambda: (repo / ".git/config").write_text("[broken"))
    assert "file .git/config was changed" in found
    assert "readability of the configuration was added" in found


def test_a_pipe_in_the_hooks_folder_is_not_waited_for(repo: Path) -> None:
    (repo / ".git/hooks").mkdir(exist_ok=True)
    assert _differences(repo, lambda: os.mkfifo(repo / ".git/hooks/pre-commit")) == ("hook pre-commit was added",)


def test_a_fingerprint_holds_texts_only_and_no_value(repo: Path, git) -> None:
    git(repo, "config", "remote.origin.url", "https://me:s3cret@example.invalid/x")
    parts = take_fingerprint(Repository.open(repo)).parts
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in parts.items())
    assert "s3cret" not in repr(parts)
