"""Owns which repository a remote URL names (spec page 6, `identify`). Pure: contacts nobody, reads nothing.

The form is that of `touchline.state.canonical_identity`, so that a project and its forge never disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from touchline.state import canonical_identity

LOCAL_HOST = "file"
"""Host of repositories that are folders of this machine or of a mounted share."""

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL)
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
"""A remote that is spoken to by a helper program of git's."""
_SSH_SCHEMES = frozenset({"ssh", "git+ssh", "ssh+git"})
_NETWORK_SCHEMES = frozenset({"https", "http", "git"}) | _SSH_SCHEMES
# The same service behind a door for networks that let only port 443 through.
_SAME_HOST = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}


@dataclass(frozen=True, slots=True)
class RepositoryId:
    """A repository by canonical host (with a web port of its own) and path, subgroups included."""

    host: str
    path: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.host}:{self.path}" if self.host == LOCAL_HOST else f"{self.host}/{self.path}"


def identify_remote(
    remote_url: str, *, resolve_alias: Callable[[str], str] | None = None, base: Path | None = None
) -> RepositoryId | None:
    """The repository that `remote_url` names, `url.*.insteadOf` already applied; None for anything else.

    `resolve_alias` gives the host behind a name of the user's ssh configuration. A relative path is taken from
    `base`. Two ids are equal exactly when the URLs name one repository, as far as text can tell.
    """
    text = remote_url.strip()
    if not text or any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in text):
        return None
    url = _URL.match(text)
    if _HELPER.match(text):
        return None
    if url and url["scheme"].lower() not in _NETWORK_SCHEMES | {"file"}:
        return None
    identity = canonical_identity(text, base=base)
    if identity.startswith(f"{LOCAL_HOST}:"):
        path = identity.removeprefix(f"{LOCAL_HOST}:")
        return RepositoryId(LOCAL_HOST, path) if path else None
    host, _, path = identity.partition("/")
    if not host or not path or host.startswith("-") or ".." in path.split("/"):
        return None
    named = host
    if resolve_alias is not None and (url is None or url["scheme"].lower() in _SSH_SCHEMES):
        host = _behind(host, resolve_alias)
    host = _SAME_HOST.get(host, host)
    if host != named:
        # Of the host depends whether the letter case of the path counts. One ".git" goes again.
        host, _, path = canonical_identity(f"{host}:{path}.git").partition("/")
    return RepositoryId(host, path)


def without_credentials(remote_url: str) -> tuple[str, str, str]:
    """The URL without its password, and the user and password that stood in it ("" each where there were none).

    A user name alone is no secret and stays: ssh needs it. Over http a lone user name may be a token, so it goes.
    """
    url = _URL.match(remote_url)
    if not url or "@" not in url["authority"]:
        return remote_url, "", ""
    scheme = url["scheme"]
    userinfo, _, server = url["authority"].rpartition("@")
    user, colon, password = userinfo.partition(":")
    if scheme.lower() in _SSH_SCHEMES:
        return (f"{scheme}://{user}@{server}{url['rest']}" if colon else remote_url), "", ""
    clean = f"{scheme}://{server}{url['rest']}"
    return clean, unquote(user), unquote(password)


def web_origin(remote_url: str) -> str:
    """`scheme://host[:port]` of an http URL without credentials, "" for any other."""
    url = _URL.match(remote_url)
    if not url or url["scheme"].lower() not in ("http", "https"):
        return ""
    return f"{url['scheme'].lower()}://{url['authority'].rpartition('@')[2]}"


def usual_driver(host: str) -> Literal["github", "gitlab", "generic"]:
    """The driver for a host that the configuration does not name; the name is a hint, never a proof."""
    labels = host.partition(":")[0].split(".")
    if host == "github.com" or "github" in labels or "ghe" in labels:
        return "github"
    return "gitlab" if "gitlab" in labels else "generic"


def _behind(host: str, resolve_alias: Callable[[str], str]) -> str:
    resolved = resolve_alias(host).strip().lower().rstrip(".")
    return resolved or host
