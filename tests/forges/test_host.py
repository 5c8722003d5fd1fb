"""Credentials reach one host, in no argv and no message; remotes are bound by identity; git asks nobody."""

from __future__ import annotations

import pickle
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from touchline.errors import (
    ForgeAmbiguousError,
    ForgeAuthError,
    ForgeError,
    ForgeNotFoundError,
    ForgeUnavailable,
)
from touchline.forge import (
    Credential,
    Forge,
    ForgeCapability,
    ForgeSettings,
    LocalForgeHost,
    RepositoryId,
    Secret,
    configured_remotes,
    find_remote,
    identify_remote,
    remote_secrets,
)
from touchline.forge.host import credential_additions
from touchline.git.call import redact
from touchline.git.repository import Repository
from touchline.process.cancel import Cancellation
from touchline.testing.forges import GitHttpServer, make_hosted
from touchline_forges.generic import GenericForge

TOKEN = "tok-6b1f2c-very-secret"


class WatchingServer(GitHttpServer):
    """Looks at every process of the machine and at every credential while a request is answered."""

    def __init__(self, root: Path, *, token: str = "") -> None:
        super().__init__(root, token=token)
        self.argv_with_token: list[str] = []
        self.authorizations: list[str] = []
        self.redirect_to = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                argv = cmdline.read_bytes()
            except OSError:
                continue
            if TOKEN.encode() in argv:
                self.argv_with_token.append(argv.replace(b"\0", b" ").decode())
        if "Authorization" in request.headers:
            self.authorizations.append(request.headers["Authorization"])
        if self.redirect_to:
            self._send(request, 302, {"Location": self.redirect_to + request.path}, b"")
        else:
            super().answer(request)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchingServer]:
    make_hosted(tmp_path / "srv" / "widget.git")
    with WatchingServer(tmp_path / "srv", token=TOKEN) as running:
        yield running


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True, timeout=30).stdout


def forge_on(
    repo: Path, *, token: str = "", said: list[str] | None = None, cancel: Cancellation | None = None
) -> Forge:
    say = (lambda text: None) if said is None else said.append
    return GenericForge(
        ForgeSettings(token=Secret(token)), LocalForgeHost(Repository.open(repo), say=say, cancel=cancel)
    )


def bound(forge: Forge, url: str) -> RepositoryId:
    repo = forge.identify(url)
    assert repo is not None
    return repo


def push_something(forge: Forge, repo: Path, to: RepositoryId) -> None:
    git(repo, "fetch", "-q", str(repo.parent / "srv" / "widget.git"), "main")
    git(repo, "reset", "-q", "--hard", "FETCH_HEAD")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Something")
    sha = git(repo, "rev-parse", "HEAD").strip()
    assert forge.push(to, sha, "feature").sha == sha


def test_token_pushes_and_stands_in_no_argv(server: WatchingServer, repo: Path) -> None:
    git(repo, "remote", "add", "up", f"{server.url}/widget.git")
    forge = forge_on(repo, token=TOKEN)
    push_something(forge, repo, bound(forge, f"{server.url}/widget.git"))
    assert server.authorizations
    assert server.argv_with_token == []


def test_password_in_a_remote_url_works_and_is_seen_nowhere(server: WatchingServer, repo: Path) -> None:
    url = f"{server.url}/widget.git"
    git(repo, "remote", "add", "up", url.replace("http://", f"http://someone:{TOKEN}@"))
    said: list[str] = []
    forge = forge_on(repo, said=said)
    push_something(forge, repo, bound(forge, url))
    assert server.argv_with_token == []
    server.token = "another one now"
    with pytest.raises(ForgeAuthError) as caught:
        forge_on(repo, said=said).default_target(bound(forge, url))
    remotes = configured_remotes(Repository.open(repo))
    assert TOKEN not in f"{caught.value}{caught.value.__dict__}{remotes}{said}"
    assert {remote.url for remote in remotes} == {url}


def test_token_does_not_follow_a_redirection_to_another_host(
    server: WatchingServer, repo: Path, tmp_path: Path
) -> None:
    with WatchingServer(tmp_path / "srv", token=TOKEN) as other:
        server.redirect_to = other.url
        git(repo, "remote", "add", "up", f"{server.url}/widget.git")
        forge = forge_on(repo, token=TOKEN)
        with pytest.raises(ForgeAuthError):
            forge.default_target(bound(forge, f"{server.url}/widget.git"))
        assert other.requests
        assert other.authorizations == []


def test_repository_cannot_send_the_token_elsewhere_by_rewriting_urls(
    server: WatchingServer, repo: Path, tmp_path: Path
) -> None:
    with WatchingServer(tmp_path / "srv", token=TOKEN) as other:
        git(repo, "remote", "add", "up", f"{server.url}/widget.git")
        forge = forge_on(repo, token=TOKEN)
        target = bound(forge, f"{server.url}/widget.git")
        assert forge.default_target(target) == "main"
        git(repo, "config", f"url.{other.url}/.insteadOf", f"{server.url}/")
        assert forge.default_target(target) == "main"
        assert other.requests == []


def test_credential_helper_of_the_repository_does_not_see_the_token(server: WatchingServer, repo: Path) -> None:
    seen = repo.parent / "seen"
    git(repo, "config", "credential.helper", f"!f() {{ cat > {seen}; }}; f")
    git(repo, "remote", "add", "up", f"{server.url}/widget.git")
    forge = forge_on(repo, token=TOKEN)
    forge.default_target(bound(forge, f"{server.url}/widget.git"))
    assert not seen.exists()


def test_credential_of_the_users_own_helper_is_used(server: WatchingServer, repo: Path) -> None:
    helper = f"!f() {{ echo username=me; echo password={TOKEN}; }}; f"
    git(repo, "config", "--global", "credential.helper", helper)
    git(repo, "remote", "add", "up", f"{server.url}/widget.git")
    forge = forge_on(repo)
    assert forge.default_target(bound(forge, f"{server.url}/widget.git")) == "main"


def test_only_a_web_address_gets_a_credential() -> None:
    credential = Credential("me", Secret(TOKEN))
    settings, added = credential_additions("https://host.invalid/a", credential)
    assert ("credential.https://host.invalid.helper") in dict(settings)
    assert TOKEN not in str(settings)
    assert TOKEN in added.values()
    assert credential_additions("ssh://git@host.invalid/a", credential) == ((), {})
    assert credential_additions("https://host.invalid/a", None) == ((), {})


def test_secret_shows_itself_nowhere() -> None:
    secret = Secret(TOKEN)
    settings = ForgeSettings(token=secret)
    assert TOKEN not in f"{secret} {secret!r} {settings} {[secret]}"
    assert TOKEN.encode() not in pickle.dumps(secret)
    assert secret.reveal() == TOKEN
    assert bool(secret)
    assert not Secret("")


def test_login_that_ssh_refuses_ends_in_seconds(ssh_host, ssh_refusal: Path, repo: Path) -> None:  # type: ignore[no-untyped-def]
    ssh_refusal.touch()
    git(repo, "remote", "add", "up", ssh_host.url)
    forge = forge_on(repo)
    began = time.monotonic()
    with pytest.raises(ForgeAuthError) as caught:
        forge.default_target(bound(forge, ssh_host.url))
    assert time.monotonic() - began < 10
    assert "ssh key" in caught.value.fix


def test_host_that_nobody_answers_for_is_unavailable_after_few_tries(repo: Path) -> None:
    with GitHttpServer(repo.parent) as server:
        url = f"{server.url}/widget.git"
    git(repo, "remote", "add", "up", url)
    said: list[str] = []
    forge = forge_on(repo, said=said)
    with pytest.raises(ForgeUnavailable):
        forge.default_target(bound(forge, url))
    assert [text.endswith(ending) for text, ending in zip(said, ("in 0.5 s", "in 2 s"), strict=True)] == [True, True]


class HangingServer(GitHttpServer):
    """Takes every request and answers none until it is told to."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.released = threading.Event()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.released.wait(timeout=30)
        request.close_connection = True


def test_host_that_never_answers_is_left_at_the_limit_of_time(repo: Path) -> None:
    with HangingServer(repo.parent) as server:
        git(repo, "remote", "add", "up", f"{server.url}/widget.git")
        forge = GenericForge(ForgeSettings(read_timeout_s=1.0), LocalForgeHost(Repository.open(repo)))
        began = time.monotonic()
        try:
            with pytest.raises(ForgeUnavailable, match="limit of time"):
                forge.default_target(bound(forge, f"{server.url}/widget.git"))
        finally:
            server.released.set()
        assert time.monotonic() - began < 10


def test_cancelled_run_does_not_wait(repo: Path) -> None:
    with GitHttpServer(repo.parent) as server:
        url = f"{server.url}/widget.git"
    git(repo, "remote", "add", "up", url)
    cancel = Cancellation()
    cancel.set()
    said: list[str] = []
    with pytest.raises(ForgeUnavailable, match="cancelled"):
        forge_on(repo, said=said, cancel=cancel).default_target(RepositoryId(url[7:].split("/")[0], "widget"))
    assert said == []
    cancel.close()


def test_remote_without_a_repository_behind_it_is_not_found(repo: Path, tmp_path: Path) -> None:
    git(repo, "remote", "add", "up", str(tmp_path / "gone.git"))
    forge = forge_on(repo)
    with pytest.raises(ForgeNotFoundError):
        forge.preflight([ForgeCapability.INSPECT], repo=bound(forge, str(tmp_path / "gone.git")))


def test_urls_are_those_that_git_would_use(repo: Path) -> None:
    git(repo, "config", "url.ssh://git@host.invalid/.insteadOf", "h:")
    git(repo, "config", "url.ssh://git@push.invalid/.pushInsteadOf", "https://pull.invalid/")
    git(repo, "remote", "add", "a", "h:team/widget")
    git(repo, "remote", "add", "b", "https://pull.invalid/team/widget")
    git(repo, "remote", "add", "c", "../elsewhere/widget.git")
    found = {(remote.name, remote.use): remote.url for remote in configured_remotes(Repository.open(repo))}
    assert found == {
        ("a", "fetch"): "ssh://git@host.invalid/team/widget",
        ("a", "push"): "ssh://git@host.invalid/team/widget",
        ("b", "fetch"): "https://pull.invalid/team/widget",
        ("b", "push"): "ssh://git@push.invalid/team/widget",
        ("c", "fetch"): str(repo.parent / "elsewhere" / "widget.git"),
        ("c", "push"): str(repo.parent / "elsewhere" / "widget.git"),
    }


def test_name_of_a_remote_means_nothing(repo: Path) -> None:
    git(repo, "remote", "add", "origin", "https://host.invalid/fork/widget")
    git(repo, "remote", "add", "zzz", "https://host.invalid/team/widget.git")
    remotes = configured_remotes(Repository.open(repo))
    assert find_remote(identify_remote, remotes, RepositoryId("host.invalid", "team/widget"), use="push").name == "zzz"


def test_missing_and_ambiguous_remotes_are_named(repo: Path) -> None:
    git(repo, "remote", "add", "a", f"https://me:{TOKEN}@host.invalid/team/widget")
    git(repo, "remote", "add", "b", "ssh://git@host.invalid/team/widget")
    remotes = configured_remotes(Repository.open(repo))
    with pytest.raises(ForgeAmbiguousError, match=r"a .*b "):
        find_remote(identify_remote, remotes, RepositoryId("host.invalid", "team/widget"), use="fetch")
    with pytest.raises(ForgeNotFoundError, match=r"a .*b ") as caught:
        find_remote(identify_remote, remotes, RepositoryId("host.invalid", "other/widget"), use="fetch")
    assert TOKEN not in str(caught.value)


def test_alias_of_the_users_ssh_configuration_is_resolved(repo: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ntest "$1" = -G && printf "user git\\nhostname real.invalid\\n"\n')
    program.chmod(0o755)
    environ = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    host = LocalForgeHost(Repository.open(repo), environ=environ)
    assert host.ssh_hostname("alias") == "real.invalid"
    assert host.ssh_hostname("-oProxyCommand=evil") == "-oProxyCommand=evil"
    assert LocalForgeHost(Repository.open(repo), environ={"PATH": str(tmp_path)}).ssh_hostname("alias") == "alias"


def test_error_of_the_family_says_what_where_and_what_to_do(repo: Path) -> None:
    with pytest.raises(ForgeError) as caught:
        forge_on(repo).default_target(RepositoryId("host.invalid", "team/widget"))
    assert "host.invalid/team/widget" in caught.value.what
    assert "git remote add" in caught.value.fix
    assert caught.value.exit_code == 5


def test_every_credential_of_a_remotes_url_is_known_as_written_and_decoded(repo: Path) -> None:
    git(repo, "remote", "add", "a", "https://me:p%40ss%2Fword-1@host.invalid/x")
    git(repo, "remote", "set-url", "--push", "a", "https://ghp_0123456789abcdefghij@host.invalid/x")
    git(repo, "config", "url.https://you:another-secret@host.invalid/.insteadOf", "h:")
    git(repo, "remote", "add", "b", "ssh://git@host.invalid/x")
    git(repo, "remote", "add", "c", "https://jane@host.invalid/x")
    assert set(remote_secrets(Repository.open(repo))) == {
        "p@ss/word-1",
        "p%40ss%2Fword-1",
        "ghp_0123456789abcdefghij",
        "another-secret",
    }


def test_password_with_an_at_sign_is_redacted_whole() -> None:
    assert redact("fatal: 'https://me:p@ss@host.invalid/x' and ssh://git@h/y") == (
        "fatal: 'https://***@host.invalid/x' and ssh://***@h/y"
    )
