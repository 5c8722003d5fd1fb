"""Owns which configured remote belongs to a repository: by identity, never by its name (spec page 6).

Missing and ambiguous are errors: a guess here would push to the wrong place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from touchline.errors import ForgeAmbiguousError, ForgeNotFoundError
from touchline.forge.remotes import RepositoryId, without_credentials
from touchline.forge.secret import Credential, Secret
from touchline.git.remotes import remote_names
from touchline.git.repository import Repository

Use = Literal["fetch", "push"]
TOKEN_MIN = 20
"""A user name alone in a URL is a person's name, or a token: those are longer."""
SECRET_MIN = 8
"""A shorter password is a word; masking it would garble what is recorded."""


@dataclass(frozen=True, slots=True)
class Remote:
    """One URL of a configured remote as git would use it, `url.*.insteadOf` applied, without credentials.

    `credential` is what stood in the URL.
    """

    name: str
    url: str
    use: Use = "fetch"
    credential: Credential | None = None


def configured_remotes(repo: Repository) -> tuple[Remote, ...]:
    """Every fetch and push URL of the local repository's remotes, by name."""
    found = []
    for name in remote_names(repo):
        uses: tuple[tuple[Use, tuple[str, ...]], ...] = (("fetch", ()), ("push", ("--push",)))
        for use, option in uses:
            done = repo.run("remote", "get-url", *option, "--all", "--", name)
            urls = os.fsdecode(done.stdout).split("\n")[:-1] if done.returncode == 0 else []
            # Git fetches from the first URL alone, and pushes to every one.
            chosen = urls[:1] if use == "fetch" else urls
            found += [_remote(name, _absolute(url, repo), use) for url in chosen if url]
    return tuple(found)


def remote_secrets(repo: Repository) -> tuple[str, ...]:
    """Every password, and lone user name that may be a token, in the URLs of remotes; as written and decoded.

    To be masked wherever something is recorded: a player can read them with `git remote -v`.
    """
    listed = repo.run("config", "--get-regexp", "-z", r"^(remote\..*\.(push)?url|url\..*\.(push)?insteadof)$")
    found: set[str] = set()
    for entry in os.fsdecode(listed.stdout).split("\0"):
        key, _, value = entry.partition("\n")
        for text in (value, key.removeprefix("url.").rpartition(".")[0] if key.startswith("url.") else ""):
            _, user, password = without_credentials(text)
            secret = password or (user if len(user) >= TOKEN_MIN else "")
            found |= {secret, quote(secret, safe="")} if secret else set()
            raw = text.partition("://")[2].partition("/")[0].rpartition("@")[0].partition(":")
            found |= {raw[2]} if secret and raw[2] else set()
    return tuple(sorted(one for one in found if len(one) >= SECRET_MIN))


def find_remote(
    identify: Callable[[str], RepositoryId | None],
    remotes: Iterable[Remote],
    repo: RepositoryId,
    *,
    use: Use,
    provider: str = "",
) -> Remote:
    """The remote of `repo` for that use; several remotes of one and the same URL count as one.

    Raises ForgeNotFoundError and ForgeAmbiguousError, naming the remotes that there are.
    """
    usable = [remote for remote in remotes if remote.use == use]
    fitting = [remote for remote in usable if identify(remote.url) == repo]
    if not fitting:
        known = ", ".join(f"{remote.name} ({remote.url})" for remote in usable) or "none"
        raise ForgeNotFoundError(
            f"no remote of this repository is {repo} for {use}; remotes: {known}",
            fix=f"Add it with `git remote add NAME URL`, where URL names {repo}.",
            operation="preflight",
            provider=provider,
        )
    if len({remote.url for remote in fitting}) > 1:
        named = ", ".join(f"{remote.name} ({remote.url})" for remote in fitting)
        raise ForgeAmbiguousError(
            f"several remotes of this repository are {repo} for {use}: {named}",
            fix="Remove all but one, or give them the same URL.",
            operation="preflight",
            provider=provider,
        )
    return fitting[0]


def _remote(name: str, url: str, use: Use) -> Remote:
    clean, user, password = without_credentials(url)
    credential = Credential(user, Secret(password)) if user or password else None
    return Remote(name, clean, use, credential)


def _absolute(url: str, repo: Repository) -> str:
    local = "://" not in url and ":" not in url.partition("/")[0]
    return os.path.normpath(repo.work_tree / url) if local else url
