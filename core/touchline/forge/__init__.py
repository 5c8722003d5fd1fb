"""The forge contract (spec page 6): what a forge plugin is given, what it does, what it declares.

A forge plugin is the only room that may change anything on a host. `contract` has its operations and values,
`remotes` tells which repository a remote URL names, `binding` finds the remote of a repository by that identity,
`host` is what the core gives a plugin to work with.
"""

from __future__ import annotations

from touchline.forge.binding import Remote, configured_remotes, find_remote, remote_secrets
from touchline.forge.choice import choose_forge
from touchline.forge.contract import (
    ByBranch,
    ByNumber,
    ByUrl,
    Change,
    ChangeState,
    Check,
    Comment,
    Draft,
    Forge,
    ForgeCapability,
    ForgeHost,
    ForgeSettings,
    Mergeable,
    Pushed,
    ReportsChecks,
    Review,
    ReviewRequest,
    Selector,
    require,
)
from touchline.forge.host import LocalForgeHost
from touchline.forge.remotes import RepositoryId, identify_remote, usual_driver, without_credentials
from touchline.forge.secret import Credential, Secret

__all__ = [
    "ByBranch",
    "ByNumber",
    "ByUrl",
    "Change",
    "ChangeState",
    "Check",
    "Comment",
    "Credential",
    "Draft",
    "Forge",
    "ForgeCapability",
    "ForgeHost",
    "ForgeSettings",
    "LocalForgeHost",
    "Mergeable",
    "Pushed",
    "Remote",
    "ReportsChecks",
    "RepositoryId",
    "Review",
    "ReviewRequest",
    "Secret",
    "Selector",
    "choose_forge",
    "configured_remotes",
    "find_remote",
    "identify_remote",
    "remote_secrets",
    "require",
    "usual_driver",
    "without_credentials",
]
