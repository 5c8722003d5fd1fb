"""The repository that a network call of git's works in: the real objects, none of the real settings (DESIGN.md).

`.git/config`, `.git/remotes` and hooks can be edited by a player, and several of their settings send a push or a
credential elsewhere: `url.*.insteadOf`, a remote that is called like a URL, `http.proxy`, `http.curloptResolve`,
credential helpers, the program of the other side. None can be taken back by a stronger one. So a network call never
reads them: it works in a folder of its own that lives as long as the call and holds what the transport needs (HEAD,
the refs that a fetch tells what is here, shallow boundaries). The user's own configuration stays in force; what the
repository set for the transport before the run is handed in as values that were read then (`transport_settings`).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from touchline.git.isolation import USER_SCOPES, ConfigValue

if TYPE_CHECKING:
    from touchline.git.repository import Repository

_SHARED = re.compile(r"[A-Za-z0-9]{1,8}")
_STEERS = frozenset({"url", "http", "credential", "include", "includeif", "protocol", "ssh"})
_STEERS_REMOTE = frozenset({"url", "pushurl", "proxy", "proxyauthmethod", "vcs", "receivepack", "uploadpack"})
_STEERING_KEYS = frozenset({"core.sshcommand", "core.gitproxy", "core.askpass", "remote.pushdefault"})
_PROMISOR = '[extensions]\n\tpartialClone = promisor\n[remote "promisor"]\n\tpromisor = true\n\turl = /dev/null\n'


def transport_settings(config: Iterable[ConfigValue]) -> tuple[tuple[str, str], ...]:
    """What the repository's own configuration says about http and accounts, for calls that do not read it.

    Never a program: a credential helper and an ssh command are the user's own choice alone.
    """
    found = []
    for item in config:
        if item.scope not in ("local", "worktree"):
            continue
        account = item.section == "credential" and item.variable in ("username", "usehttppath")
        if item.section == "http" or account:
            found.append((item.key, item.value))
    return tuple(found)


def steers_transport(key: str) -> bool:
    """Whether a setting can change where a push goes, through whom, or who gets a credential."""
    section, _, rest = key.partition(".")
    if section == "remote" and rest.rpartition(".")[2] in _STEERS_REMOTE:
        return True
    return section in _STEERS or key in _STEERING_KEYS


def conditional_settings(real: Iterable[ConfigValue], plain: Iterable[ConfigValue]) -> tuple[tuple[str, str], ...]:
    """What the user's configuration says about the transport for this repository alone (`includeIf`)."""
    there = Counter((item.key, item.value) for item in plain if item.scope in USER_SCOPES)
    found = []
    for item in real:
        if item.scope not in USER_SCOPES or item.section in ("include", "includeif"):
            continue
        if there[item.key, item.value]:
            there[item.key, item.value] -= 1
        elif steers_transport(item.key) and item.variable != "helper":
            found.append((item.key, item.value))
    return tuple(found)


def has_conditions(config: Iterable[ConfigValue]) -> bool:
    """Whether the user's configuration includes files on a condition that the folder of a call may not meet."""
    return any(item.section == "includeif" and item.scope in USER_SCOPES for item in config)


@contextmanager
def transport_folder(repo: Repository, command: str, config: Iterable[ConfigValue]) -> Iterator[Path]:
    """A git folder for one network call of `command`; use it with the objects of `object_folder`."""
    with tempfile.TemporaryDirectory(prefix="touchline-transport-") as name:
        folder = Path(name)
        for part in ("refs", "objects"):
            (folder / part).mkdir()
        (folder / "config").write_text(_own_config(repo, tuple(config)))
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        if command != "ls-remote":
            head = repo.head().commit
            if head:
                (folder / "HEAD").write_text(f"{head}\n")
            shallow = repo.common_dir / "shallow"
            if shallow.is_file():
                (folder / "shallow").write_bytes(shallow.read_bytes())
        if command == "fetch":
            (folder / "packed-refs").write_bytes(repo.git("for-each-ref", "--format=%(objectname) %(refname)"))
        yield folder


def object_folder(repo: Repository) -> str:
    """Where the objects of `repo` lie, with whatever alternates they name."""
    return os.fspath(repo.common_dir / "objects")


def _own_config(repo: Repository, config: tuple[ConfigValue, ...]) -> str:
    lines = ["[core]\n\tbare = true\n\trepositoryFormatVersion = 1\n"]
    shared = [item.value for item in config if item.key == "core.sharedrepository" and _SHARED.fullmatch(item.value)]
    if shared:
        lines.append(f"\tsharedRepository = {shared[-1]}\n")
    if repo.hash_length == 64:
        lines.append("[extensions]\n\tobjectFormat = sha256\n")
    if any(item.key == "extensions.partialclone" or item.variable == "promisor" for item in config):
        lines.append(_PROMISOR)
    return "".join(lines)
