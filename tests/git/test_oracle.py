"""What the git room says of a repository is what an independent reader of the same files says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from touchline.git.diff import compare
from touchline.git.facts import git_turn_status
from touchline.git.repository import Repository
from touchline.git.trees import snapshot
from touchline.testing.repositories import head_of, oracle


def commit(folder: Path, message: str) -> None:
    for argv in (["add", "--all"], ["commit", "-q", "-m", message]):
        subprocess.run(["git", *argv], cwd=folder, check=True, timeout=30)


def test_head_tree_and_differences_agree_with_an_independent_reader(repo: Path) -> None:
    before = head_of(repo)
    (repo / "a b.txt").write_text("one\n")
    (repo / "käse.md").write_text("two\n")  # other bytes than UTF-8 are beyond this reader
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("README.md")
    (repo / "deep/er").mkdir(parents=True)
    (repo / "deep/er/file").write_text("three\n")
    commit(repo, "Add files of every kind")
    (repo / "README.md").unlink()
    commit(repo, "Remove one")

    ours = Repository.open(repo)
    with oracle(repo) as theirs:
        head = theirs.head.commit
        blobs = {blob.path: (f"{blob.mode:o}", blob.hexsha) for blob in head.tree.traverse() if blob.type == "blob"}
        changed = {
            path
            for difference in theirs.commit(before).diff(head)
            for path in (difference.a_path, difference.b_path)
            if path
        }
        status = git_turn_status(ours, before)
        assert (status.branch, status.commit, status.has_new) == (theirs.active_branch.name, head.hexsha, True)
    entries = snapshot(ours).entries
    assert {os.fsencode(path): (entry.mode, entry.blob) for path, entry in entries.items()} == {
        os.fsencode(path): value for path, value in blobs.items()
    }
    assert {os.fsencode(path) for path in compare(ours, before, head.hexsha).changed_paths()} == {
        os.fsencode(path) for path in changed
    }
