"""A network call works on the repository's objects and sees none of its settings; the user's own stay in force."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from touchline.git.isolation import ConfigValue
from touchline.git.repository import Repository
from touchline.git.transport import conditional_settings, steers_transport, transport_settings


def commit(git, repo: Path, name: str) -> str:
    (repo / name).write_text(name)
    git(repo, "add", name)
    git(repo, "commit", "-q", "-m", name)
    return git(repo, "rev-parse", "HEAD")


def bring(repo: Path, url: Path | str, sha: str) -> None:
    done = Repository.open(repo).run(
        "fetch", "--no-write-fetch-head", "--stdin", str(url), stdin=f"{sha}\n".encode(), network=True
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("format", ["sha1", "sha256"])
def test_objects_are_sent_and_brought_and_no_ref_moves(tmp_path: Path, git, format: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for name in ("one", "two"):
        git(tmp_path / name, "init", "-q", "-b", "main", f"--object-format={format}")
    sha = commit(git, tmp_path / "one", "a")
    bring(tmp_path / "two", tmp_path / "one", sha)
    assert git(tmp_path / "two", "cat-file", "-t", sha) == "commit"
    assert git(tmp_path / "two", "for-each-ref") == ""
    opened = Repository.open(tmp_path / "one")
    opened.git("push", str(tmp_path / "two"), f"{sha}:refs/heads/sent", network=True)
    assert git(tmp_path / "two", "rev-parse", "sent") == sha
    assert not [name for name in (tmp_path / "one/.git").iterdir() if name.name == "FETCH_HEAD"]


def test_a_shallow_clone_sends_and_brings(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    for name in "abc":
        last = commit(git, repo, name)
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{repo}", str(tmp_path / "thin")], check=True)
    thin = tmp_path / "thin"
    newer = commit(git, repo, "newer")
    bring(thin, repo, newer)
    assert git(thin, "rev-list", "--count", last) == "1", "the boundary stays where it was"
    mine = commit(git, thin, "mine")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "--bare")
    git(other, "config", "receive.shallowUpdate", "true")
    for host in (repo, other):
        Repository.open(thin).git("push", str(host), f"{mine}:refs/heads/mine", network=True)
        assert git(host, "rev-parse", "mine") == mine


def test_a_clone_without_old_contents_sends_and_brings(repo: Path, git, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    for name in "ab":
        commit(git, repo, name)
    (repo / "a").write_text("changed")
    git(repo, "commit", "-q", "-a", "-m", "changed")
    partial = tmp_path / "partial"
    subprocess.run(["git", "clone", "-q", "--filter=blob:none", f"file://{repo}", str(partial)], check=True)
    git(repo, "repack", "-q", "-a", "-d", "-b")
    # The host, which knows by its bitmap what is here, does not send that old content of `a`; it is not here.
    (repo / "a").write_text("a")
    (repo / "c").write_text("c")
    git(repo, "add", "c")
    git(repo, "commit", "-q", "-a", "-m", "back again")
    bring(partial, f"file://{repo}", git(repo, "rev-parse", "HEAD"))
    mine = commit(git, partial, "mine")
    Repository.open(partial).git("push", f"file://{repo}", f"{mine}:refs/heads/mine", network=True)
    assert git(repo, "rev-parse", "mine") == mine


def test_what_is_here_already_is_not_sent_again(repo: Path, git, tmp_path: Path) -> None:
    (repo / "big").write_bytes(os.urandom(400_000))
    commit(git, repo, "first")
    git(repo, "add", "big")
    git(repo, "commit", "-q", "-m", "big")
    subprocess.run(["git", "clone", "-q", "--no-local", str(repo), str(tmp_path / "clone")], check=True)
    newer = commit(git, repo, "newer")
    git(repo, "config", "--global", "fetch.unpackLimit", "1")  # what is sent is kept as it came
    before = size(tmp_path / "clone/.git/objects")
    bring(tmp_path / "clone", repo, newer)
    assert size(tmp_path / "clone/.git/objects") - before < 100_000


def test_what_the_user_includes_for_this_repository_alone_stays_in_force(
    repo: Path, git, tmp_path: Path, clean_home: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(elsewhere, "init", "-q", "-b", "main")
    sha = commit(git, elsewhere, "a")
    (clean_home / "work").write_text(f'[url "{elsewhere}"]\n\tinsteadOf = work:x\n')
    git(repo, "config", "--global", f"includeIf.gitdir:{repo}/.path", str(clean_home / "work"))
    assert sha.encode() in Repository.open(repo).git("ls-remote", "work:x", network=True)


def test_of_the_repositorys_settings_only_http_and_account_names_are_handed_on() -> None:
    config = [
        ConfigValue("global", "http.proxy", "the user's"),
        ConfigValue("local", "http.sslcainfo", "ca"),
        ConfigValue("worktree", "http.https://h.proxy", "p"),
        ConfigValue("local", "credential.https://h.username", "me"),
        ConfigValue("local", "credential.helper", "evil"),
        ConfigValue("local", "url.x.insteadof", "y"),
        ConfigValue("local", "core.sshcommand", "evil"),
    ]
    assert transport_settings(config) == (
        ("http.sslcainfo", "ca"),
        ("http.https://h.proxy", "p"),
        ("credential.https://h.username", "me"),
    )


def test_values_that_hold_everywhere_are_not_handed_on_twice() -> None:
    everywhere = [ConfigValue("global", "http.extraheader", "a"), ConfigValue("system", "user.name", "n")]
    here = [*everywhere, ConfigValue("global", "http.extraheader", "b"), ConfigValue("local", "http.proxy", "evil")]
    assert conditional_settings(here, everywhere) == (("http.extraheader", "b"),)


def test_what_steers_a_transport_is_known_by_its_section() -> None:
    steering = ["url.a.insteadof", "remote.b.pushurl", "http.proxy", "core.sshcommand", "credential.helper"]
    assert all(
        map(steers_transport, [*steering, "remote.a.b.url", "remote.pushdefault", "url.https://h/.pushinsteadof"])
    )
    others = ["core.hookspath", "user.name", "branch.main.remote", "remote.b.fetch", "remote.b.gh-resolved"]
    assert not any(map(steers_transport, others))


def size(folder: Path) -> int:
    return sum(place.stat().st_size for place in folder.rglob("*") if place.is_file())
