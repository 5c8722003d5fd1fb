"""Nothing secret is committed or pushed, wherever it hides in a change (spec page 5, "before each commit and push")."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from touchline.git.commits import intended_tree
from touchline.git.repository import Repository
from touchline.secrets.changes import scan_change, scan_commits
from touchline.secrets.scan import Scanner


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout.strip()


def save(folder: Path, message: str = "work") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def test_a_new_file_a_binary_a_renamed_file_and_a_link_hide_nothing(
    repo: Path, scanner: Scanner, secrets: dict[str, str]
) -> None:
    start = git(repo, "rev-parse", "HEAD")
    value = secrets["github classic"]
    (repo / "plain.py").write_text(f"x = '{value}'\n")
    (repo / "image.png").write_bytes(b"\x89PNG\0\0" + value.encode() + b"\0")
    (repo / "wide.txt").write_bytes(f"token {value}\n".encode("utf-16"))
    (repo / "latin-é.txt").write_bytes(b"\xe9 " + value.encode())
    (repo / "link").symlink_to(f"/tmp/{value}")
    (repo / "-dash name.txt").write_text(value)
    (repo / ".gitattributes").write_text("*.py -diff binary\n")
    names = ["plain.py", "image.png", "wide.txt", "latin-é.txt", "link", "-dash name.txt", ".gitattributes"]
    intended = intended_tree(Repository.open(repo), names, start=start)
    scan = scan_change(scanner, Repository.open(repo), start, intended.tree)
    assert {hit.path for hit in scan.stopping} == set(names) - {".gitattributes"}
    assert value not in repr(scan)


def test_a_secret_file_that_is_renamed_into_the_repository_is_found(
    repo: Path, scanner: Scanner, secrets: dict[str, str]
) -> None:
    (repo / ".gitignore").write_text(".env\n")
    (repo / ".env").write_text(f"TOKEN={secrets['stripe']}\n")
    start = save(repo)
    (repo / ".env").rename(repo / "settings.txt")
    intended = intended_tree(Repository.open(repo), ["settings.txt"], start=start)
    assert scan_change(scanner, Repository.open(repo), start, intended.tree).stops


def test_removing_a_secret_is_no_secret(repo: Path, scanner: Scanner, secrets: dict[str, str]) -> None:
    (repo / "a.txt").write_text(secrets["npm"])
    start = save(repo)
    (repo / "a.txt").unlink()
    assert not scan_change(scanner, Repository.open(repo), start, save(repo)).hits


def test_a_secret_of_an_earlier_commit_that_was_removed_again_is_found(
    repo: Path, scanner: Scanner, secrets: dict[str, str]
) -> None:
    start = git(repo, "rev-parse", "HEAD")
    (repo / "a.txt").write_text(secrets["npm"])
    bad = save(repo)
    (repo / "a.txt").write_text("clean\n")
    end = save(repo)
    opened = Repository.open(repo)
    assert not scan_change(scanner, opened, start, end).stops
    scan = scan_commits(scanner, opened, end, since=[start])
    assert [(hit.path, hit.commit) for hit in scan.stopping] == [("a.txt", bad)]
    assert scan.reasons() == (f"a.txt:1 (commit {bad[:12]}): npm-token",)


def test_a_secret_in_a_commit_message_is_found(repo: Path, scanner: Scanner, secrets: dict[str, str]) -> None:
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "commit", "-q", "--allow-empty", "-m", "title", "-m", f"uses {secrets['gitlab personal']}")
    scan = scan_commits(scanner, Repository.open(repo), git(repo, "rev-parse", "HEAD"), since=[start])
    assert [hit.path for hit in scan.stopping] == ["(commit message)"]


def test_what_the_target_already_holds_is_left_out_of_a_merge_and_the_rest_is_not(
    repo: Path, scanner: Scanner, secrets: dict[str, str]
) -> None:
    git(repo, "checkout", "-q", "-b", "target")
    (repo / "published.txt").write_text(secrets["npm"])
    (repo / "both.txt").write_text(f"{secrets['github classic']}\n")
    (repo / "image.bin").write_bytes(b"\0" + secrets["stripe"].encode())
    target = save(repo, "target")
    git(repo, "checkout", "-q", "main")
    (repo / "mine.txt").write_text("mine\n")
    start = save(repo, "mine")
    git(repo, "merge", "-q", "--no-commit", "--no-ff", target)
    opened = Repository.open(repo)
    paths = ["published.txt", "both.txt", "image.bin"]
    clean = intended_tree(opened, paths, start=start)
    assert not scan_change(scanner, opened, start, clean.tree, known=[target]).hits
    assert scan_change(scanner, opened, start, clean.tree).stops
    (repo / "both.txt").write_text(f"{secrets['github classic']}\n{secrets['gitlab personal']}\n")
    dirty = intended_tree(opened, paths, start=start)
    scan = scan_change(scanner, opened, start, dirty.tree, known=[target])
    assert [(hit.path, hit.line, hit.kind) for hit in scan.stopping] == [("both.txt", 2, "gitlab-token")]
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "merge")
    merged = git(repo, "rev-parse", "HEAD")
    found = scan_commits(scanner, opened, merged, since=[start, target])
    assert [(hit.path, hit.line) for hit in found.stopping] == [("both.txt", 2)]


def test_the_first_commit_of_a_repository_is_scanned(tmp_path: Path, scanner: Scanner, secrets: dict[str, str]) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text(secrets["npm"])
    intended = intended_tree(Repository.open(folder), ["a.txt"], start="")
    assert scan_change(scanner, Repository.open(folder), "", intended.tree).stops
    assert scan_commits(scanner, Repository.open(folder), save(folder), since=[]).stops


def test_a_secret_as_the_name_of_an_empty_file_stops(repo: Path, scanner: Scanner, secrets: dict[str, str]) -> None:
    start = git(repo, "rev-parse", "HEAD")
    (repo / secrets["npm"]).write_text("")
    assert scan_change(scanner, Repository.open(repo), start, save(repo)).stops


@pytest.mark.slow
def test_a_binary_that_is_too_large_stops_and_is_named(repo: Path, scanner: Scanner) -> None:
    start = git(repo, "rev-parse", "HEAD")
    (repo / "large.bin").write_bytes(b"\0" * 20_000_000)
    scan = scan_change(scanner, Repository.open(repo), start, save(repo))
    assert scan.reasons() == ("large.bin: too long to be scanned",)
