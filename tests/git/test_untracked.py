from __future__ import annotations

from pathlib import Path

from touchline.git.trees import ignore_rules, untracked


def test_every_odd_name_is_listed(repo: Path, odd_names: tuple[str, ...]) -> None:
    for name in odd_names:
        (repo / name).parent.mkdir(exist_ok=True, parents=True)
        (repo / name).write_text("x")
    assert set(untracked(repo)) == set(odd_names)


def test_ignored_files_are_left_out_by_every_kind_of_rule(repo: Path, git, clean_home: Path) -> None:
    git(repo, "config", "--global", "core.excludesFile", str(clean_home / "ignore"))
    (clean_home / "ignore").write_text("*.global\n")
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("*.exclude\n")
    (repo / ".gitignore").write_text("*.top\nbuild/\n")
    (repo / "sub").mkdir()
    (repo / "sub/.gitignore").write_text("*.sub\n")
    for name in ("a.global", "a.exclude", "a.top", "sub/a.sub", "build", "kept", "a.sub"):
        if name == "build":
            (repo / "build").mkdir()
            (repo / "build/x").write_text("x")
        else:
            (repo / name).write_text("x")
    expected = (".gitignore", "a.sub", "kept", "sub/.gitignore")
    assert untracked(repo) == expected
    assert untracked(repo, rules=ignore_rules(repo, clean_home / "rules")) == expected


def test_the_rules_of_the_start_are_not_changed_by_later_ignore_files(repo: Path, tmp_path: Path, git) -> None:
    (repo / ".gitignore").write_text("old-build/\n*.o\n!keep.o\n")
    git(repo, "add", "-A")
    for name in ("old-build/x", "a.o", "keep.o"):
        (repo / name).parent.mkdir(exist_ok=True, parents=True)
        (repo / name).write_text("x")
    rules = ignore_rules(repo, tmp_path / "rules")
    at_start = untracked(repo, rules=rules)
    assert at_start == ("keep.o",)
    (repo / ".gitignore").write_text("hidden*\nhiding/\n")
    for name in ("hidden.py", "hiding/in/x.py", "hiding/in/y.o", "shown.py", "b.o"):
        (repo / name).parent.mkdir(exist_ok=True, parents=True)
        (repo / name).write_text("x")
    assert untracked(repo) == ("a.o", "b.o", "keep.o", "old-build/x", "shown.py")
    assert untracked(repo, rules=rules) == ("hidden.py", "hiding/in/x.py", "keep.o", "shown.py")


def test_an_ignore_file_that_ignores_itself_is_kept(repo: Path, tmp_path: Path) -> None:
    (repo / ".cache").mkdir()
    (repo / ".cache/.gitignore").write_text("*\n")
    (repo / ".cache/data").write_text("x")
    rules = ignore_rules(repo, tmp_path / "rules")
    (repo / ".cache/.gitignore").unlink()
    (repo / ".cache/more").write_text("x")
    assert untracked(repo) == (".cache/data", ".cache/more")
    assert untracked(repo, rules=rules) == ()


def test_a_changed_exclude_file_or_setting_does_not_hide_from_the_rules_of_the_start(
    repo: Path, tmp_path: Path, git
) -> None:
    rules = ignore_rules(repo, tmp_path / "rules")
    (tmp_path / "everything").write_text("*\n")
    git(repo, "config", "core.excludesFile", str(tmp_path / "everything"))
    (repo / "new").write_text("x")
    assert untracked(repo) == ()
    assert untracked(repo, rules=rules) == ("new",)


def test_a_nested_repository_is_named_as_a_folder(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "init", "-q", "nested")
    git(repo / "nested", "commit", "-q", "--allow-empty", "-m", "x")
    (repo / "nested/file").write_text("x")
    assert untracked(repo) == ("nested/",)
    assert untracked(repo, rules=ignore_rules(repo, tmp_path / "rules")) == ("nested/",)


def test_keeping_the_rules_again_replaces_them(repo: Path, tmp_path: Path) -> None:
    ignore_rules(repo, tmp_path / "rules")
    (repo / ".gitignore").write_text("new\n")
    rules = ignore_rules(repo, tmp_path / "rules")
    (repo / "new").write_text("x")
    assert untracked(repo, rules=rules) == (".gitignore",)


def test_a_link_as_ignore_file_is_not_followed(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "rules-outside").write_text("*\n")
    (repo / ".gitignore").symlink_to(tmp_path / "rules-outside")
    (repo / "new").write_text("x")
    assert untracked(repo, rules=ignore_rules(repo, tmp_path / "rules")) == (".gitignore", "new")
