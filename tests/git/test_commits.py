"""One commit a turn: exactly the owned paths, nothing of the user's (spec page 5, "one semantic commit")."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from touchline.errors import GitError
from touchline.git.commits import CommitKind, Committed, commit_turn, intended_tree, is_turn_commit
from touchline.git.hooks import keep_commit_setup, load_commit_setup
from touchline.git.index import read_status, staged_set
from touchline.git.messages import message_digest
from touchline.git.repository import Repository

Git = Callable[..., str]


def write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8", errors="surrogateescape")


def commit(
    folder: Path, paths: Sequence[str], message: str = "Add work\n", *, tmp: Path, parents: Sequence[str] = ()
) -> Committed:
    repo = Repository.open(folder)
    setup = keep_commit_setup(repo, tmp / "setup")
    start = repo.head().commit
    return commit_turn(repo, intended_tree(repo, paths, start=start), message, setup=setup, parents=parents)


def in_commit(git: Git, folder: Path) -> set[str]:
    return set(git(folder, "-c", "core.quotePath=false", "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")) - {
        ""
    }


def test_every_odd_file_name_is_committed_as_it_is(
    repo: Path, git: Git, odd_names: tuple[str, ...], tmp_path: Path
) -> None:
    for name in odd_names:
        write(repo / name, f"content of {name!r}\n")
    done = commit(repo, odd_names, tmp=tmp_path)
    assert done.kind is CommitKind.COMMITTED
    assert in_commit(git, repo) == {"README.md", *odd_names}
    assert read_status(Repository.open(repo)).clean
    assert git(repo, "show", "-s", "--format=%an <%ae>|%cn|%P|%B") == (
        f"Test <test@example.invalid>|Test|{git(repo, 'rev-parse', 'HEAD~1')}|Add work\n"
    )


def test_deletions_of_odd_names_are_committed(
    odd_repo: Path, git: Git, odd_names: tuple[str, ...], tmp_path: Path
) -> None:
    for name in odd_names:
        (odd_repo / name).unlink()
    assert commit(odd_repo, odd_names, tmp=tmp_path).kind is CommitKind.COMMITTED
    assert in_commit(git, odd_repo) == {"README.md"}
    assert read_status(Repository.open(odd_repo)).clean


def test_a_rename_a_mode_change_a_link_and_a_type_change_are_committed(repo: Path, git: Git, tmp_path: Path) -> None:
    write(repo / "old.txt", "the same content\n" * 20)
    write(repo / "run.sh", "#!/bin/sh\n")
    write(repo / "becomes-folder", "file\n")
    write(repo / "becomes-file/inner.txt", "inner\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "before")
    (repo / "old.txt").rename(repo / "new.txt")
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("../outside/nowhere")
    (repo / "becomes-folder").unlink()
    write(repo / "becomes-folder/inner.txt", "inner\n")
    (repo / "becomes-file/inner.txt").unlink()
    (repo / "becomes-file").rmdir()
    write(repo / "becomes-file", "file\n")
    paths = [
        *("old.txt", "new.txt", "run.sh", "link", "becomes-folder", "becomes-folder/inner.txt"),
        *("becomes-file/inner.txt", "becomes-file"),
    ]
    assert commit(repo, paths, tmp=tmp_path).kind is CommitKind.COMMITTED
    listed = git(repo, "ls-tree", "-r", "HEAD").splitlines()
    modes = {line.split("\t")[1]: line.split(" ")[0] for line in listed}
    assert modes == {
        "README.md": "100644",
        "becomes-file": "100644",
        "becomes-folder/inner.txt": "100644",
        "link": "120000",
        "new.txt": "100644",
        "run.sh": "100755",
    }
    assert read_status(Repository.open(repo)).clean


def test_what_the_user_staged_stays_out_and_stays_staged(repo: Path, git: Git, tmp_path: Path) -> None:
    for name in ("theirs.txt", "deleted.txt", "both.txt"):
        write(repo / name, "base\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "before")
    write(repo / "theirs.txt", "staged\n")
    write(repo / "added.txt", "new of the user\n")
    git(repo, "add", "theirs.txt", "added.txt")
    git(repo, "rm", "-q", "deleted.txt")
    write(repo / "theirs.txt", "staged and changed again\n")
    write(repo / "loose.txt", "untracked\n")
    write(repo / "mine.txt", "the player's\n")
    before = staged_set(Repository.open(repo))
    assert commit(repo, ["mine.txt"], tmp=tmp_path).kind is CommitKind.COMMITTED
    assert in_commit(git, repo) == {"README.md", "theirs.txt", "deleted.txt", "both.txt", "mine.txt"}
    assert git(repo, "show", "HEAD:theirs.txt") == "base"
    assert staged_set(Repository.open(repo)) == before
    assert (repo / "theirs.txt").read_text() == "staged and changed again\n"
    assert read_status(Repository.open(repo)).untracked == ("loose.txt",)


def test_files_of_the_run_or_of_others_are_never_swept_in(repo: Path, git: Git, tmp_path: Path) -> None:
    write(repo / "src/a.py", "a\n")
    write(repo / "src/of-another.py", "b\n")
    write(repo / ".touchline/ledger.json", "{}\n")
    done = commit(repo, ["src/a.py", "src"], tmp=tmp_path)
    assert done.kind is CommitKind.COMMITTED
    assert in_commit(git, repo) == {"README.md", "src/a.py"}


def test_a_folder_as_a_path_is_named_and_not_committed(repo: Path, tmp_path: Path) -> None:
    write(repo / "src/a.py", "a\n")
    found = intended_tree(Repository.open(repo), ["src"], start=Repository.open(repo).head().commit)
    assert found.left_out == (("src", "a folder"),)


def test_the_tree_is_known_beforehand_and_is_what_is_committed(repo: Path, git: Git, tmp_path: Path) -> None:
    opened = Repository.open(repo)
    write(repo / "a.txt", "scanned\n")
    index = (repo / ".git/index").read_bytes()
    intended = intended_tree(opened, ["a.txt"], start=opened.head().commit)
    assert (repo / ".git/index").read_bytes() == index
    write(repo / "a.txt", "changed after the scan\n")
    setup = keep_commit_setup(opened, tmp_path / "setup")
    assert commit_turn(opened, intended, "Add a\n", setup=setup).kind is CommitKind.COMMITTED
    assert git(repo, "rev-parse", "HEAD^{tree}") == intended.tree
    assert git(repo, "show", "HEAD:a.txt") == "scanned"
    assert read_status(opened).unstaged == ("a.txt",)


def test_nothing_changed_is_no_commit(repo: Path, git: Git, tmp_path: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    assert commit(repo, ["README.md", "never-was.txt"], tmp=tmp_path).kind is CommitKind.NOTHING
    assert git(repo, "rev-parse", "HEAD") == head


def test_line_endings_alone_are_no_change(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    (repo / "README.md").write_bytes(b"# example\r\n")
    assert commit(repo, ["README.md"], tmp=tmp_path).kind is CommitKind.NOTHING


def test_the_first_commit_of_an_unborn_branch(tmp_path: Path, git: Git) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write(folder / "a.txt", "a\n")
    assert commit(folder, ["a.txt"], tmp=tmp_path).kind is CommitKind.COMMITTED
    assert git(folder, "rev-list", "--count", "HEAD") == "1"
    assert read_status(Repository.open(folder)).clean


def test_a_head_that_moved_is_never_overwritten(repo: Path, git: Git, tmp_path: Path) -> None:
    opened = Repository.open(repo)
    setup = keep_commit_setup(opened, tmp_path / "setup")
    write(repo / "a.txt", "a\n")
    intended = intended_tree(opened, ["a.txt"], start=opened.head().commit)
    git(repo, "commit", "-q", "--allow-empty", "-m", "of somebody else")
    theirs = git(repo, "rev-parse", "HEAD")
    with pytest.raises(GitError, match="not at"):
        commit_turn(opened, intended, "Add a\n", setup=setup)
    assert git(repo, "rev-parse", "HEAD") == theirs


def test_a_ref_that_cannot_move_leaves_the_index_as_it_was(repo: Path, git: Git, tmp_path: Path) -> None:
    write(repo / "a.txt", "a\n")
    write(repo / "staged.txt", "s\n")
    git(repo, "add", "staged.txt")
    before = staged_set(Repository.open(repo))
    (repo / ".git/refs/heads/main.lock").write_text("")
    with pytest.raises(GitError):
        commit(repo, ["a.txt"], tmp=tmp_path)
    assert staged_set(Repository.open(repo)) == before
    (repo / ".git/refs/heads/main.lock").unlink()
    assert commit(repo, ["a.txt"], tmp=tmp_path).kind is CommitKind.COMMITTED


def test_a_locked_index_is_an_error_that_names_the_lock(repo: Path, tmp_path: Path) -> None:
    write(repo / "a.txt", "a\n")
    lock = repo / ".git/index.lock"
    lock.write_text("")
    os.utime(lock, (time.time() - 600, time.time() - 600))
    with pytest.raises(GitError, match=r"index\.lock"):
        commit(repo, ["a.txt"], tmp=tmp_path)
    assert lock.exists()


def test_a_submodule_moves_with_its_commit(with_submodule: Path, git: Git, tmp_path: Path) -> None:
    inner = with_submodule / "lib/sub"
    git(inner, "commit", "-q", "--allow-empty", "-m", "further")
    assert commit(with_submodule, ["lib/sub"], tmp=tmp_path).kind is CommitKind.COMMITTED
    assert git(with_submodule, "rev-parse", "HEAD:lib/sub") == git(inner, "rev-parse", "HEAD")


def test_a_new_submodule_comes_with_its_declaration(with_submodule: Path, repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "rm", "-q", "--cached", "lib/sub", ".gitmodules")
    git(repo, "commit", "-q", "-m", "without")
    assert commit(repo, [".gitmodules", "lib/sub"], tmp=tmp_path).kind is CommitKind.COMMITTED
    assert git(repo, "ls-tree", "HEAD", "lib/sub").startswith("160000")


def test_a_nested_repository_is_named_and_left_out(repo: Path, git: Git) -> None:
    write(repo / "nested/a.txt", "a\n")
    git(repo / "nested", "init", "-q")
    opened = Repository.open(repo)
    found = intended_tree(opened, ["nested/"], start=opened.head().commit)
    assert found.left_out == (("nested", "a repository of its own that is no submodule"),)
    assert found.tree == git(repo, "rev-parse", "HEAD^{tree}")


def test_a_path_behind_a_link_that_leads_out_is_a_deletion(repo: Path, git: Git, tmp_path: Path) -> None:
    write(repo / "lib/a.txt", "a\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "lib")
    outside = tmp_path / "outside"
    (repo / "lib").rename(outside)
    (repo / "lib").symlink_to(outside)
    assert commit(repo, ["lib/a.txt", "lib"], tmp=tmp_path).kind is CommitKind.COMMITTED
    assert git(repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["README.md", "lib"]


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", ".git/config", "a/../../b", ""])
def test_a_path_outside_of_the_work_tree_is_refused(repo: Path, path: str) -> None:
    opened = Repository.open(repo)
    with pytest.raises(GitError, match="not a path inside"):
        intended_tree(opened, [path], start=opened.head().commit)


def test_a_merge_in_progress_becomes_one_commit_with_both_parents(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "checkout", "-q", "-b", "target")
    write(repo / "README.md", "# theirs\n")
    write(repo / "theirs.txt", "t\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "target")
    target = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "main")
    write(repo / "README.md", "# ours\n")
    git(repo, "commit", "-q", "-am", "ours")
    start = git(repo, "rev-parse", "HEAD")
    merging = subprocess.run(
        ["git", "merge", "--no-commit", "--no-ff", target], cwd=repo, capture_output=True, timeout=30
    )
    assert merging.returncode == 1
    write(repo / "README.md", "# both\n")
    done = commit(repo, ["README.md", "theirs.txt"], tmp=tmp_path, parents=[target])
    assert done.kind is CommitKind.COMMITTED
    assert git(repo, "show", "-s", "--format=%P") == f"{start} {target}"
    assert read_status(Repository.open(repo)).clean
    assert not (repo / ".git/MERGE_HEAD").exists()


def test_a_filter_that_only_the_repository_defines_is_refused_not_skipped(repo: Path, git: Git, tmp_path: Path) -> None:
    write(repo / ".gitattributes", "*.bin filter=own\n")
    git(repo, "config", "filter.own.clean", f"touch {tmp_path}/pwned; cat")
    write(repo / "a.bin", "a\n")
    with pytest.raises(GitError, match="'own'"):
        commit(repo, ["a.bin", ".gitattributes"], tmp=tmp_path)
    assert not (tmp_path / "pwned").exists()


def test_the_users_own_filter_is_used(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "config", "--global", "filter.upper.clean", "tr a-z A-Z")
    write(repo / ".gitattributes", "*.up filter=upper\n")
    write(repo / "a.up", "abc\n")
    assert commit(repo, ["a.up", ".gitattributes"], tmp=tmp_path).kind is CommitKind.COMMITTED
    assert git(repo, "show", "HEAD:a.up") == "ABC"
    assert read_status(Repository.open(repo), filters="user").clean


def test_without_an_identity_the_error_says_what_to_do(repo: Path, clean_home: Path, tmp_path: Path) -> None:
    (clean_home / "gitconfig").write_text("[user]\n\tname = Only A Name\n")
    with pytest.raises(GitError, match=r"git config --global user\.email"):
        keep_commit_setup(Repository.open(repo), tmp_path / "setup")


def test_the_identity_is_the_one_of_before_the_turn(repo: Path, git: Git, tmp_path: Path) -> None:
    opened = Repository.open(repo)
    keep_commit_setup(opened, tmp_path / "setup")
    git(repo, "config", "user.name", "Somebody Else")
    git(repo, "config", "user.email", "else@example.invalid")
    write(repo / "a.txt", "a\n")
    intended = intended_tree(opened, ["a.txt"], start=opened.head().commit)
    commit_turn(opened, intended, "Add a\n", setup=load_commit_setup(tmp_path / "setup"))
    assert git(repo, "show", "-s", "--format=%an %ae %cn") == "Test test@example.invalid Test"


def test_no_signing_unless_the_user_asks_for_it_and_then_a_failure_is_an_error(
    repo: Path, git: Git, clean_home: Path, tmp_path: Path
) -> None:
    opened = Repository.open(repo)
    write(repo / "a.txt", "a\n")
    program = tmp_path / "gpg"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\necho no secret key >&2\nexit 2\n")
    program.chmod(0o755)
    git(repo, "config", "--global", "gpg.program", str(program))
    unsigned = keep_commit_setup(opened, tmp_path / "unsigned")
    assert not unsigned.sign
    git(repo, "config", "--global", "commit.gpgSign", "true")
    signed = keep_commit_setup(opened, tmp_path / "signed")
    intended = intended_tree(opened, ["a.txt"], start=opened.head().commit)
    with pytest.raises(GitError, match="could not be signed"):
        commit_turn(opened, intended, "Add a\n", setup=signed)
    assert (tmp_path / "asked").exists()
    assert commit_turn(opened, intended, "Add a\n", setup=unsigned).kind is CommitKind.COMMITTED


def test_a_signed_commit_carries_the_signature_of_the_users_program(repo: Path, git: Git, tmp_path: Path) -> None:
    program = tmp_path / "gpg"
    program.write_text(
        "#!/bin/sh\ncat >/dev/null\nprintf '[GNUPG:] SIG_CREATED \\n' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nabc\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    program.chmod(0o755)
    git(repo, "config", "--global", "gpg.program", str(program))
    git(repo, "config", "--global", "commit.gpgSign", "true")
    write(repo / "a.txt", "a\n")
    assert commit(repo, ["a.txt"], tmp=tmp_path).kind is CommitKind.COMMITTED
    assert "BEGIN PGP SIGNATURE" in git(repo, "cat-file", "commit", "HEAD")


def test_a_commit_of_a_killed_turn_is_known_again(repo: Path, git: Git, tmp_path: Path) -> None:
    opened = Repository.open(repo)
    start = opened.head().commit
    write(repo / "a.txt", "a\n")
    intended = intended_tree(opened, ["a.txt"], start=start)
    message = "Add a\n\nWith a body.\n"
    digest = message_digest(message)
    assert not is_turn_commit(opened, start, intended.tree, digest)
    commit_turn(opened, intended, message, setup=keep_commit_setup(opened, tmp_path / "setup"))
    assert is_turn_commit(opened, start, intended.tree, digest)
    assert not is_turn_commit(opened, start, intended.tree, message_digest("Another\n"))
    assert not is_turn_commit(opened, start, opened.empty_tree, digest)
    git(repo, "commit", "-q", "--allow-empty", "-m", "Add a", "-m", "With a body.")
    assert not is_turn_commit(opened, start, intended.tree, digest)


def test_a_message_in_any_language_is_committed_as_utf8(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "config", "i18n.commitEncoding", "ISO-8859-1")
    write(repo / "a.txt", "a\n")
    commit(repo, ["a.txt"], "Füge 日本語 hinzu\n", tmp=tmp_path)
    raw = git(repo, "cat-file", "commit", "HEAD")
    assert "encoding" not in raw
    assert raw.endswith("\n\nFüge 日本語 hinzu")


@pytest.mark.parametrize("message", ["", "  \n", "a\0b"])
def test_an_empty_or_broken_message_is_refused(repo: Path, tmp_path: Path, message: str) -> None:
    write(repo / "a.txt", "a\n")
    with pytest.raises(GitError, match="commit message"):
        commit(repo, ["a.txt"], message, tmp=tmp_path)


def test_a_linked_worktree_commits_on_its_own_branch(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "task", str(tmp_path / "linked"))
    write(tmp_path / "linked/a.txt", "a\n")
    main = git(repo, "rev-parse", "main")
    assert commit(tmp_path / "linked", ["a.txt"], tmp=tmp_path).kind is CommitKind.COMMITTED
    assert git(repo, "rev-parse", "main") == main
    assert git(repo, "ls-tree", "--name-only", "task").splitlines() == ["README.md", "a.txt"]
