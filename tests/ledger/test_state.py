"""Places on disk and the slugs that name them (spec page 3, "Place")."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import ConfigError, UsageError
from touchline.state import (
    RunFolder,
    canonical_identity,
    change_key,
    config_home,
    is_slug,
    make_private_folder,
    project_key,
    require_outside,
    run_folder,
    run_folders,
    slug,
    state_root,
)

COMMON = Path("/srv/checkouts/tool/.git")
anything = st.text(alphabet=st.characters(exclude_categories=()), max_size=300) | st.sampled_from(
    ["..", "../../etc", "/etc/passwd", "a/../../..", "~", ".", "", "C:\\x", "\0", "a\n..", "%2e%2e%2f", "-rf"]
)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/owner/repo",
        "https://github.com/owner/repo.git",
        "https://github.com/owner/repo.git/",
        "https://github.com//owner/repo/",
        "https://GitHub.com/Owner/Repo.git",
        "https://user:secret@github.com:443/owner/repo.git",
        "https://github.com/owner/repo?access=1#readme",
        "http://github.com:80/owner/repo",
        "git://github.com/owner/repo.git",
        "ssh://git@github.com/owner/repo.git",
        "ssh://git@github.com:22/owner/repo",
        "ssh://git@github.com:2222/owner/repo",
        "git@github.com:owner/repo.git",
        "github.com:owner/repo",
        "git@github.com:/owner/repo",
        " https://github.com/owner/repo\n",
    ],
)
def test_every_way_to_write_a_remote_gives_one_project(url: str) -> None:
    assert canonical_identity(url) == "github.com/owner/repo"
    assert project_key(url, COMMON) == project_key("https://github.com/owner/repo", Path("/elsewhere/.git"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://github.com/owner/repo", "https://gitlab.com/owner/repo"),
        ("https://example.test/a/sub/repo", "https://example.test/b/sub/repo"),
        ("https://example.test/sub/repo", "https://example.test/a/sub/repo"),
        ("https://example.test/Owner/repo", "https://example.test/owner/repo"),
        ("http://127.0.0.1:8001/o/r", "http://127.0.0.1:8002/o/r"),
        ("/srv/git/one.git", "/srv/git/two.git"),
        ("https://example.test/o/r-s", "https://example.test/o-r/s"),
    ],
)
def test_different_remotes_are_different_projects(one: str, other: str) -> None:
    assert project_key(one, COMMON) != project_key(other, COMMON)


def test_a_project_is_named_by_owner_and_repository_and_eight_hex_digits() -> None:
    name, _, digits = project_key("git@example.test:group/sub/My.Tool.git", COMMON).rpartition("-")
    assert name == "sub-my-tool"
    assert len(digits) == 8
    assert set(digits) <= set("0123456789abcdef")


def test_credentials_of_a_remote_do_not_reach_its_identity() -> None:
    identity = canonical_identity("https://x:ghp_secret@example.test:8443/o/r?token=ghp_secret")
    assert identity == "example.test:8443/o/r"


def test_local_remotes_are_resolved_so_that_one_folder_is_one_project(tmp_path: Path) -> None:
    bare = tmp_path / "remote.git"
    bare.mkdir()
    (tmp_path / "link").symlink_to(bare)
    work = tmp_path / "work"
    names = [str(bare), f"file://{bare}/", "../remote.git", str(tmp_path / "link")]
    assert len({project_key(name, work / ".git") for name in names}) == 1


def test_without_a_remote_the_real_common_git_folder_is_the_project(tmp_path: Path) -> None:
    git = tmp_path / "Tool" / ".git"
    git.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "Tool")
    assert project_key(None, git) == project_key(None, tmp_path / "link" / ".git")
    assert project_key(None, git).startswith("tool-")
    assert project_key("  ", git) == project_key(None, git)
    assert project_key(None, git) != project_key(None, tmp_path / "other" / ".git")


def test_a_plain_branch_is_its_own_key_and_local_runs_have_theirs() -> None:
    assert change_key("fix-parser") == "fix-parser"
    assert change_key("fix-parser", local=True) == "fix-parser-local"
    assert change_key(None, detached_sha="AB" * 20) == "detached-abababababab"
    assert change_key(None, local=True, detached_sha="ab" * 32) == "detached-abababababab-local"
    with pytest.raises(ValueError, match="neither a branch"):
        change_key(None, detached_sha="main")


def test_branches_whose_slugs_collide_have_distinct_keys() -> None:
    branches = ["feature/x", "feature-x", "Feature-X", "feature--x", "feature-x-", "f" * 80, "f" * 81, "日本", "中国"]
    keys = [change_key(branch, local=local) for branch in branches for local in (False, True)]
    assert len(set(keys)) == len(keys)
    # A branch may be called like the key of another one.
    called_alike = [change_key("feature/x"), "x-local", "detached-" + "ab" * 6]
    assert not {change_key(name) for name in called_alike} & {
        *called_alike,
        change_key("x", local=True),
        change_key(None, detached_sha="ab" * 20),
    }


@given(st.lists(anything.filter(bool), min_size=2, max_size=2, unique=True), st.booleans(), st.booleans())
def test_no_two_changes_share_a_key(branches: list[str], one_local: bool, other_local: bool) -> None:
    assert change_key(branches[0], local=one_local) != change_key(branches[1], local=other_local)


@given(anything, anything, st.booleans())
def test_no_input_leaves_the_state_folder(remote: str, branch: str, local: bool) -> None:
    root = Path("/state/player-coach")
    project = project_key(remote, COMMON)
    key = change_key(branch or None, local=local, detached_sha="0" * 40)
    assert is_slug(project)
    assert is_slug(key)
    folder = run_folder(root, project, key).path
    assert Path(os.path.normpath(folder)) == folder
    assert folder.parent.parent == root
    assert len(project) <= 100
    assert len(key) <= 100


@given(anything, anything)
def test_a_typed_name_is_a_slug_or_refused(project: str, key: str) -> None:
    root = Path("/state/player-coach")
    if is_slug(project) and is_slug(key):
        folder = run_folder(root, project, key).path
        assert folder.relative_to(root).parts == (project, key)
        assert ".." not in folder.parts
    else:
        with pytest.raises(UsageError, match="touchline runs"):
            run_folder(root, project, key)


@given(anything)
def test_a_slug_is_empty_or_one_safe_name(text: str) -> None:
    found = slug(text)
    assert found == "" or is_slug(found)
    assert slug(found) == found


def test_numbers_in_a_run_folder_cannot_be_paths() -> None:
    folder = RunFolder(Path("/s/p/c"))
    assert folder.feedback("20260101000000", 2) == Path("/s/p/c/feedback/20260101000000/turn-2.md")
    assert folder.report(3) == Path("/s/p/c/reports/3.json")
    assert folder.evidence(1) == Path("/s/p/c/evidence/1.json")
    for bad in ("../1", "", "1/2", "١"):
        with pytest.raises(ValueError, match="not a run number"):
            folder.feedback(bad, 1)
    with pytest.raises(ValueError, match="counted from 1"):
        folder.report(0)


def test_runs_of_one_second_in_two_places_do_not_share_the_mark_of_their_programs(tmp_path: Path) -> None:
    one, other, link = (RunFolder(tmp_path / name) for name in ("one", "other", "link"))
    one.path.mkdir()
    link.path.symlink_to(one.path)
    mark = one.process_mark("20260101000000")
    assert mark.startswith("20260101000000-")
    assert other.process_mark("20260101000000") != mark
    assert one.process_mark("20260101000001") != mark
    assert link.process_mark("20260101000000") == mark


def test_the_state_root_follows_xdg_then_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    xdg = tmp_path / "xdg"
    assert state_root({"XDG_STATE_HOME": str(xdg), "HOME": str(home)}) == xdg / "player-coach"
    assert state_root({"HOME": str(home)}) == home / ".local/state/player-coach"
    assert state_root({"HOME": str(home), "XDG_STATE_HOME": ""}) == home / ".local/state/player-coach"
    assert state_root({"HOME": str(home), "XDG_STATE_HOME": "state"}) == home / ".local/state/player-coach"
    assert list(tmp_path.iterdir()) == [home]
    assert list(home.iterdir()) == []


def test_a_state_folder_that_cannot_be_written_falls_back_or_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".local").write_text("a file where a folder should be")
    assert state_root({"HOME": str(home)}) == home / ".player-coach"
    (home / ".player-coach").write_text("another")
    with pytest.raises(ConfigError, match="no place to keep runs"):
        state_root({"HOME": str(home)})
    with pytest.raises(ConfigError, match="XDG_STATE_HOME at a folder that is"):
        state_root({"HOME": str(home), "XDG_STATE_HOME": str(home / ".local")})


def test_a_state_folder_inside_the_repository_is_refused(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "link").symlink_to(tree)
    require_outside(tmp_path / "state", tree)
    require_outside(tmp_path / "tree-state", tree)
    for inside in (tree, tree / "state", tmp_path / "link" / "state", tmp_path / "other" / ".." / "tree" / "s"):
        with pytest.raises(ConfigError, match="inside the repository"):
            require_outside(inside, tree)


def test_run_folders_are_listed_without_links_files_and_foreign_names(tmp_path: Path) -> None:
    for name in ("p-1/b", "p-1/a", "p-2/c", ".hidden/d", "p-1/.pruned-x"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "p-1" / "file").write_text("")
    (tmp_path / "p-2" / "link").symlink_to(tmp_path / "p-1" / "a")
    (tmp_path / "p-3").symlink_to(tmp_path / "p-1")
    assert [folder.path.relative_to(tmp_path).as_posix() for folder in run_folders(tmp_path)] == [
        "p-1/a",
        "p-1/b",
        "p-2/c",
    ]
    assert list(run_folders(tmp_path / "absent")) == []


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_private_folders_are_0700_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    code = (
        "import os, sys, pathlib\n"
        "from touchline.state import make_private_folder\n"
        f"os.umask({umask})\n"
        "make_private_folder(pathlib.Path(sys.argv[1]))\n"
    )
    made = tmp_path / "a" / "b" / "c"
    subprocess.run([sys.executable, "-c", code, str(made)], check=True, timeout=30)
    assert [folder.stat().st_mode & 0o777 for folder in (made, made.parent, made.parent.parent)] == [0o700] * 3
    make_private_folder(made)


def test_the_configuration_lives_in_its_own_home() -> None:
    assert config_home({"HOME": "/h"}) == Path("/h/.config/touchline")
    assert config_home({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == Path("/c/touchline")
    assert config_home({"HOME": "/h", "XDG_CONFIG_HOME": "c"}) == Path("/h/.config/touchline")


def test_the_module_imports_the_standard_library_only() -> None:
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import touchline.state\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names)))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "['touchline']"
