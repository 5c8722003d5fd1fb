"""Which repository a remote URL names; contacts nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.forge import RepositoryId, identify_remote, usual_driver, without_credentials
from touchline.forge.remotes import web_origin

ALIASES = {"work-alias": "github.com", "corp": "git.corp.invalid"}


def resolve(alias: str) -> str:
    return ALIASES.get(alias, alias)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Acme/Widget",
        "https://github.com/acme/widget.git",
        "https://github.com/acme/widget/",
        "https://GitHub.com:443/acme/widget.git/",
        "https://x-access-token:ghp_secret@github.com/acme/widget.git",
        "http://github.com:80/acme/widget",
        "git://github.com/acme/widget.git",
        "ssh://git@github.com/acme/widget.git",
        "ssh://git@github.com:22/acme/widget.git",
        "ssh://git@ssh.github.com:443/acme/widget.git",
        "git+ssh://git@github.com/acme/widget",
        "git@github.com:acme/widget.git",
        "git@github.com:/acme/widget.git",
        "github.com:acme/widget",
        "git@work-alias:acme/widget.git",
        "ssh://work-alias/Acme/widget",
        "  https://github.com/acme/widget\n".strip(),
    ],
)
def test_all_spellings_of_one_repository_are_one_identity(url: str) -> None:
    assert identify_remote(url, resolve_alias=resolve) == RepositoryId("github.com", "acme/widget")


@pytest.mark.parametrize(
    ("url", "host", "path"),
    [
        ("https://gitlab.example.com/group/sub/deep/widget.git", "gitlab.example.com", "group/sub/deep/widget"),
        ("https://git.example.com:8443/Team/Widget.git", "git.example.com:8443", "Team/Widget"),
        ("ssh://git@git.example.com:2222/Team/Widget.git", "git.example.com", "Team/Widget"),
        ("git@altssh.gitlab.com:acme/widget.git", "gitlab.com", "acme/widget"),
        ("git@corp:Team/Widget", "git.corp.invalid", "Team/Widget"),
        ("https://[2001:db8::1]:8443/a/b.git", "[2001:db8::1]:8443", "a/b"),
        ("https://git.example.com/widget.git.git", "git.example.com", "widget.git"),
    ],
)
def test_host_port_and_path_are_kept_as_they_count(url: str, host: str, path: str) -> None:
    assert identify_remote(url, resolve_alias=resolve) == RepositoryId(host, path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "https://github.com",
        "https://github.com/",
        "https:///acme/widget",
        "ext::sh -c evil",
        "ftp://host.invalid/a/b",
        "javascript://host.invalid/a",
        "ssh://-oProxyCommand=evil/a/b",
        "-oProxyCommand=evil:a/b",
        "https://host.invalid/../../etc",
        "https://host.invalid/a\nb",
        "https://host.invalid/a\0b",
    ],
)
def test_what_names_no_repository_of_a_forge_is_none(url: str, tmp_path: Path) -> None:
    assert identify_remote(url, resolve_alias=resolve, base=tmp_path) is None


def test_folder_is_a_repository_by_its_real_path(tmp_path: Path) -> None:
    real = tmp_path / "srv" / "widget.git"
    real.mkdir(parents=True)
    link = tmp_path / "link.git"
    link.symlink_to(real)
    ids = {
        identify_remote(url, base=tmp_path)
        for url in (str(real), f"{real}/", f"file://{real}", str(link), "srv/widget.git", "./srv/widget")
    }
    (only,) = ids
    assert only == RepositoryId("file", str(real.resolve()).removesuffix(".git"))
    assert str(only) == f"file:{str(real.resolve()).removesuffix('.git')}"


def test_alias_is_only_asked_for_where_ssh_is_used() -> None:
    asked: list[str] = []

    def ask(alias: str) -> str:
        asked.append(alias)
        return alias

    identify_remote("https://web.invalid/a/b", resolve_alias=ask)
    identify_remote("git@shell.invalid:a/b", resolve_alias=ask)
    assert asked == ["shell.invalid"]


@given(st.text())
def test_any_text_is_an_identity_or_none(text: str) -> None:
    found = identify_remote(text, base=Path("/nowhere"))
    if found is not None and found.host != "file":
        assert found.host
        assert found.path
        assert identify_remote(text, resolve_alias=str) == found


@pytest.mark.parametrize(
    ("url", "clean", "user", "password"),
    [
        ("https://u:p%40ss@host.invalid/a.git", "https://host.invalid/a.git", "u", "p@ss"),
        ("https://ghp_only@host.invalid/a", "https://host.invalid/a", "ghp_only", ""),
        ("https://host.invalid/a", "https://host.invalid/a", "", ""),
        ("ssh://git@host.invalid/a", "ssh://git@host.invalid/a", "", ""),
        ("ssh://git:pw@host.invalid:22/a", "ssh://git@host.invalid:22/a", "", ""),
        ("git@host.invalid:a", "git@host.invalid:a", "", ""),
        ("https://host.invalid/a@b", "https://host.invalid/a@b", "", ""),
    ],
)
def test_credentials_are_taken_out_of_a_url(url: str, clean: str, user: str, password: str) -> None:
    assert without_credentials(url) == (clean, user, password)


def test_origin_is_of_http_urls_alone() -> None:
    assert web_origin("HTTPS://u:p@Host.invalid:8443/a/b") == "https://Host.invalid:8443"
    assert web_origin("ssh://git@host.invalid/a") == ""
    assert web_origin("/srv/a.git") == ""


@pytest.mark.parametrize(
    ("host", "driver"),
    [
        ("github.com", "github"),
        ("github.example.com", "github"),
        ("gitlab.com", "gitlab"),
        ("gitlab.example.com:8443", "gitlab"),
        ("git.example.com", "generic"),
        ("notgithub.com", "generic"),
        ("file", "generic"),
    ],
)
def test_driver_is_guessed_by_the_words_of_the_host(host: str, driver: str) -> None:
    assert usual_driver(host) == driver
