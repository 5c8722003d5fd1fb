"""Traps: every program that a repository can name in its own files, and all our calls next to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from touchline.errors import GitError
from touchline.git.contents import restore, save
from touchline.git.diff import compare, compare_work_tree, merge_base
from touchline.git.facts import git_turn_status, resolve_commit
from touchline.git.fingerprint import take_fingerprint
from touchline.git.folding import fold, mark_start
from touchline.git.index import (
    intend_to_add,
    read_status,
    remove_intent_to_add,
    restore_index,
    restore_staged,
    save_index,
    staged_set,
)
from touchline.git.isolation import ConfigValue, overrides, parse_config_list, ssh_command
from touchline.git.repository import Repository
from touchline.git.trees import changed_paths, ignore_rules, snapshot, untracked
from touchline.git.worktrees import throwaway_worktree

HOOKS = (
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "pre-commit",
    "post-commit",
    "pre-auto-gc",
    "post-rewrite",
    "fsmonitor-watchman",
)


@pytest.fixture
def trap(tmp_path: Path) -> Callable[[str], str]:
    """`trap("name")` gives the path of a program that leaves a file `sprung/name` when it runs."""
    sprung = tmp_path / "sprung"
    sprung.mkdir()
    (tmp_path / "traps").mkdir()

    def make(name: str) -> str:
        place = tmp_path / "traps" / name
        place.write_text(f"#!/bin/sh\necho x >> '{sprung}/{name}'\ncat\nexit 0\n")
        place.chmod(0o755)
        return str(place)

    return make


@pytest.fixture
def trapped(with_submodule: Path, git, trap: Callable[[str], str]) -> Path:
    """A repository and its submodule in which every known way to run a program is armed."""
    repo = with_submodule
    (repo / ".gitattributes").write_text("*.txt filter=evil diff=evil merge=evil\n*.md filter=evil diff=evil\n")
    (repo / "b.txt").write_text("one\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "attributes")
    inner = repo / "lib/sub"
    (repo / ".git/modules/lib/sub/info").mkdir(exist_ok=True)
    (repo / ".git/modules/lib/sub/info/attributes").write_text("* filter=inner\n")
    for folder in (repo / ".git", repo / ".git/modules/lib/sub"):
        for hook in HOOKS:
            place = folder / "hooks" / hook
            place.parent.mkdir(exist_ok=True)
            place.write_text(Path(trap(f"hook-{hook}")).read_text())
            place.chmod(0o755)
    settings = {
        "filter.evil.clean": trap("clean"),
        "filter.evil.smudge": trap("smudge"),
        "filter.evil.process": trap("process"),
        "filter.evil.required": "true",
        "core.fsmonitor": trap("fsmonitor"),
        "core.pager": trap("pager"),
        "core.editor": trap("editor"),
        "core.askPass": trap("askpass"),
        "core.sshCommand": trap("ssh"),
        "core.alternateRefsCommand": trap("alternate"),
        "credential.helper": trap("helper"),
        "credential.https://example.invalid.helper": trap("url-helper"),
        "diff.external": trap("external"),
        "diff.evil.command": trap("driver"),
        "diff.evil.textconv": trap("textconv"),
        "merge.evil.driver": trap("merge"),
        "gpg.program": trap("gpg"),
        "log.showSignature": "true",
        "commit.gpgSign": "true",
        "alias.status": f"!{trap('alias')}",
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
        "remote.origin.url": f"ext::{trap('remote')} %S",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": trap("uploadpack"),
    }
    for key, value in settings.items():
        git(repo, "config", key, value)
    for key in ("clean", "smudge"):
        git(inner, "config", f"filter.inner.{key}", trap(f"inner-{key}"))
    git(inner, "config", "core.fsmonitor", trap("inner-fsmonitor"))
    for sprung in (trap_folder(repo)).iterdir():
        sprung.unlink()
    return repo


def trap_folder(repo: Path) -> Path:
    return repo.parent / "sprung"


def _sprung(repo: Path) -> list[str]:
    return sorted(place.name for place in trap_folder(repo).iterdir())


def test_the_traps_are_live_for_plain_git(trapped: Path, git) -> None:
    git(trapped, "config", "--unset", "filter.evil.process")
    (trapped / "b.txt").write_text("two\n")
    (trapped / "lib/sub/inner.txt").write_text("INNER\n")
    git(trapped, "status")
    git(trapped, "add", "b.txt")
    git(trapped, "diff", "HEAD")
    git(trapped, "update-ref", "refs/heads/x", "HEAD")
    expected = {"clean", "fsmonitor", "inner-clean", "inner-fsmonitor", "hook-reference-transaction"}
    assert expected <= set(_sprung(trapped))


def test_no_call_of_ours_springs_a_trap(trapped: Path, git, tmp_path: Path) -> None:
    opened = Repository.open(trapped)
    head = opened.head().commit
    start = mark_start(opened)
    rules = ignore_rules(opened, tmp_path / "rules")
    before = snapshot(opened)
    save(opened, before, tmp_path / "saved")
    (trapped / "b.txt").write_text("two\n")
    (trapped / "lib/sub/inner.txt").write_text("INNER\n")
    (trapped / "new.txt").write_text("new\n")
    git_turn_status(opened, head)
    resolve_commit(opened, head[:8])
    resolve_commit(opened, "f" * 40)
    status = read_status(opened)
    assert status.unstaged == ("b.txt",)
    assert status.modified_submodules == ("lib/sub",)
    staged = staged_set(opened)
    assert "new.txt" in untracked(opened, rules=rules)
    intend_to_add(opened, ["new.txt"])
    after = snapshot(opened, ["new.txt"])
    with compare_work_tree(opened, head, after) as found:
        assert found.patch(max_bytes=100_000).text.count("+two") == 1
        found.numstat()
        found.renames()
    remove_intent_to_add(opened, ["new.txt"])
    restore_staged(opened, staged)
    restore_index(opened, save_index(opened))
    take_fingerprint(opened)
    parent = resolve_commit(opened, "main")
    assert parent == head
    first = opened.git("rev-list", "--max-parents=0", "HEAD").decode().strip()
    merge_base(opened, first, head)
    compare(opened, first, head).patch(max_bytes=100_000)
    restore(opened, before, changed_paths(before, after), tmp_path / "saved")
    with throwaway_worktree(opened, head, tmp_path / "side") as side:
        assert (side.path / "b.txt").read_text() == "one\n"
        read_status(side.repository)
    tree = opened.git("write-tree").decode().strip()
    made = opened.git("commit-tree", tree, "-p", "HEAD", "-m", "x", error=GitError).decode().strip()
    opened.git("update-ref", "HEAD", made)
    assert fold(opened, start, label="t").kind == "folded"
    assert _sprung(trapped) == []


def test_a_missing_object_is_an_error_and_not_a_fetch_from_a_remote_of_the_repositorys_choice(
    trapped: Path, git
) -> None:
    opened = Repository.open(trapped)
    blob = git(trapped, "rev-parse", "HEAD:b.txt")
    (trapped / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GitError):
        opened.git("cat-file", "blob", blob)
    assert _sprung(trapped) == []


def test_a_network_call_uses_the_users_programs_and_not_the_repositorys(trapped: Path, git) -> None:
    opened = Repository.open(trapped)
    for url in ("ext::sh -c x", "https://127.0.0.1:1/x.git", str(trapped)):
        opened.run("ls-remote", url, network=True, timeout_s=10)
    assert b"refs/heads/main" in opened.git("ls-remote", str(trapped), network=True, timeout_s=10)
    git(trapped, "config", "remote.origin.url", str(trapped))
    with pytest.raises(GitError):
        opened.git("ls-remote", "origin", network=True, timeout_s=10)
    assert _sprung(trapped) == []


def test_a_filter_of_the_users_own_configuration_can_be_allowed(trapped: Path, git, trap, tmp_path: Path) -> None:
    for key in ("clean", "smudge"):
        git(trapped, "config", "--global", f"filter.evil.{key}", "tr a-z A-Z")
    git(trapped, "config", "--unset", "filter.evil.process")
    opened = Repository.open(trapped)
    (trapped / "b.txt").write_text("two\n")
    with compare_work_tree(opened, opened.head().commit, snapshot(opened), filters="user") as found:
        assert "+TWO" in found.patch(max_bytes=10_000).text
    assert _sprung(trapped) == []


def test_a_key_without_a_value_and_odd_names_are_read() -> None:
    listing = b"local\0core.bare\0global\0filter.a b=c.d.clean\nx\ny\0"
    assert parse_config_list(listing) == (
        ConfigValue("local", "core.bare", "true"),
        ConfigValue("global", "filter.a b=c.d.clean", "x\ny"),
    )


def test_the_users_credential_helpers_follow_the_reset() -> None:
    config = (
        ConfigValue("global", "credential.helper", "store"),
        ConfigValue("local", "credential.helper", "!evil"),
        ConfigValue("global", "credential.https://h.helper", "special"),
    )
    assert overrides(config) == (
        ("credential.helper", ""),
        ("credential.helper", "store"),
        ("credential.https://h.helper", "special"),
    )


def test_ssh_is_the_users_and_never_asks() -> None:
    config = (
        ConfigValue("global", "core.sshcommand", "ssh -i key"),
        ConfigValue("local", "core.sshcommand", "evil"),
    )
    assert ssh_command(config, {}) == "ssh -i key -oBatchMode=yes"
    assert ssh_command(config[1:], {}) == "ssh -oBatchMode=yes"
    assert ssh_command(config, {"GIT_SSH_COMMAND": "mine -o BatchMode=no"}) == "mine -o BatchMode=no"
    assert ssh_command(config[1:], {"GIT_SSH": "/my programs/ssh"}) == "'/my programs/ssh' -oBatchMode=yes"
    assert ssh_command(config[1:], {"GIT_SSH": "/opt/putty/plink"}) == "/opt/putty/plink -batch"
