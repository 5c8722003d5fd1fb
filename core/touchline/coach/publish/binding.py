"""Which forge a run publishes with, and which remotes are meant: by canonical identity, never by name (spec page 5).

Everything is found out and tried before a turn is spent: driver, credential, target, the whole life cycle's
capabilities.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from touchline.documents.settings import Settings
from touchline.errors import ForgeAmbiguousError, ForgeNotFoundError
from touchline.forge import (
    Forge,
    ForgeCapability,
    ForgeHost,
    RepositoryId,
    find_remote,
    identify_remote,
    usual_driver,
)
from touchline.forge.choice import choose_forge
from touchline.plugins.load import driver_names, load_forge

ASK_S = 30.0
FALLBACK = "generic"
"""The driver for a host whose own is not installed: it needs nothing but git."""
LIFE_CYCLE = frozenset(
    {
        ForgeCapability.INSPECT,
        ForgeCapability.FETCH,
        ForgeCapability.PUSH,
        ForgeCapability.CREATE_DRAFT,
        ForgeCapability.UPDATE,
        ForgeCapability.MARK_READY,
    }
)
"""What a run may need of a forge, tried in phase 0."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The forge of a run. `base` is where the change goes, `head` where its branch lives; remotes by local name."""

    forge: Forge
    provider: str
    base: RepositoryId
    head: RepositoryId
    base_remote: str
    push_remote: str


def bind(
    host: ForgeHost, settings: Settings, *, named: str | None, environ: Mapping[str, str], preflight: bool
) -> Binding:
    """The forge and the remotes for the repository of `host`.

    Raises ForgeError (nothing was changed) when no remote or several can be meant, when a capability or credential
    is missing, and PluginLoadError for a driver that cannot be used.
    """
    head = _own_repository(host)
    provider, forge_settings = choose_forge(head.host, settings.forge, environ, named=named)
    if named is None and provider not in driver_names("forge") and provider == usual_driver(head.host):
        provider = FALLBACK
    forge = load_forge(provider, forge_settings, host, environ=environ)
    base = forge.base_repository(head)
    if preflight:
        forge.preflight(LIFE_CYCLE, repo=base, head=head)
    remotes = host.remotes()
    return Binding(
        forge,
        provider,
        base,
        head,
        find_remote(forge.identify, remotes, base, use="fetch", provider=provider).name,
        find_remote(forge.identify, remotes, head, use="push", provider=provider).name,
    )


def _own_repository(host: ForgeHost) -> RepositoryId:
    """The one repository that the remotes push to. Several different ones are never guessed among."""
    remotes = host.remotes()
    found = {identify_remote(remote.url, resolve_alias=host.ssh_hostname): remote for remote in remotes}
    known = {repo: remote for repo, remote in found.items() if repo is not None}
    if not known:
        raise ForgeNotFoundError(
            "this repository has no remote to publish to",
            fix="Add one with `git remote add origin URL`, or keep the run local with --no-pr.",
            operation="preflight",
            provider="none",
        )
    if len(known) == 1:
        return next(iter(known))
    chosen = os.fsdecode(host.git("config", "--get", "remote.pushDefault", timeout_s=ASK_S).stdout).strip()
    pushing = {repo for repo, remote in known.items() if chosen and remote.name == chosen}
    if len(pushing) == 1:
        return pushing.pop()
    named = ", ".join(f"{remote.name} ({repo})" for repo, remote in known.items() if repo is not None)
    raise ForgeAmbiguousError(
        f"several remotes can be meant: {named}",
        fix="Keep one remote, or set its push default: git config remote.pushDefault NAME.",
        operation="preflight",
        provider="none",
    )
