"""Keeps program code in git's configuration from running in our own calls (DESIGN.md, "not trusted").

`.git/config`, hooks, filters, fsmonitor, textconv and merge drivers are program code that a player can edit.
What can be switched off by one fixed setting is in `FIXED`; keys that carry a name of the repository's choice
(filters, drivers, remotes) are neutralised by `overrides` after the configuration has been listed. The user's
own configuration (system and global scope) stays in force. Pure: nothing here runs git.

The price: no missing object is fetched, so a partial clone must hold what is asked about; and where the contents
of filtered files (Git LFS) are compared, they are compared unfiltered unless the caller allows the user's filters.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Filters = Literal["off", "user"]
"""off: no filter runs. user: filters that the user's own configuration defines (Git LFS) run as defined there."""

FIXED: tuple[tuple[str, str], ...] = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.safecrlf", "false"),
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("merge.verifySignatures", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("diff.autoRefreshIndex", "true"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("diff.orderFile", os.devnull),
    ("diff.submodule", "short"),
    ("worktree.guessRemote", "false"),
)
"""Configuration of every call, in git's strongest scope."""

_LOCAL_ONLY = (("protocol.allow", "never"), ("credential.helper", ""))

_FIXED_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_OPTIONAL_LOCKS": "0",
    # A replacement ref or a graft would make git show other objects than the ones it names.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ADVICE": "0",
    "LC_ALL": "C",
    "LANGUAGE": "",
}

_KEPT = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_AUTHOR_DATE",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_COMMITTER_DATE",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_PROXY_SSL_CAINFO",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)
"""The user's own git variables that stay; every other `GIT_*` names a repository, a trace or an override."""

_PLINK = re.compile(r"(?i)\A\S*plink(?:\.exe)?(?=['\"\s]|\Z)")
"""PuTTY's ssh, which knows no `-o`."""

# Without `git`: `core.gitProxy` is a program, and of several the repository's would win.
_NETWORK_PROTOCOLS = "file:http:https:ssh"

_OTHER_SIDE = {
    "fetch": "--upload-pack=git-upload-pack",
    "ls-remote": "--upload-pack=git-upload-pack",
    "push": "--receive-pack=git-receive-pack",
}

_NEUTRAL: dict[tuple[str, str], str] = {
    ("filter", "clean"): "",
    ("filter", "smudge"): "",
    ("filter", "process"): "",
    ("filter", "required"): "false",
    # The built-in text merge, spelled as a driver: an empty driver would be an error.
    ("merge", "driver"): "git merge-file %A %O %B",
    ("gpg", "program"): "gpg",
    ("gpg", "defaultkeycommand"): "",
}
"""Section and variable of a key that names a program, with the value that runs nothing of the repository's."""

USER_SCOPES = frozenset({"system", "global"})
"""Where git's settings are the user's own and not the repository's."""


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One line of git's configuration. `scope` is git's word (system, global, local, worktree, command)."""

    scope: str
    key: str
    value: str

    @property
    def section(self) -> str:
        """The first part of the key, lower-case as git gives it."""
        return self.key.partition(".")[0]

    @property
    def variable(self) -> str:
        """The last part of the key, lower-case as git gives it."""
        return self.key.rpartition(".")[2]


def parse_config_list(listing: bytes) -> tuple[ConfigValue, ...]:
    """The values of `git config --list -z --show-scope`, in git's order."""
    fields = os.fsdecode(listing).split("\0")
    values = []
    for scope, entry in zip(fields[0::2], fields[1::2], strict=False):
        key, separator, value = entry.partition("\n")
        # A key without "=" means true.
        values.append(ConfigValue(scope, key, value if separator else "true"))
    return tuple(values)


def overrides(config: Iterable[ConfigValue], *, filters: Filters = "off") -> tuple[tuple[str, str], ...]:
    """Settings that take every program named by the repository out of force.

    A key that the user's own configuration sets too goes back to the user's value; filters only with
    `filters="user"`. A setting cannot be unset: where the repository adds a `process` to a filter for which the
    user has none, that filter stays off.
    """
    user: dict[str, str] = {}
    found: dict[str, str] = {}
    helpers: list[tuple[str, str]] = []
    for item in config:
        if item.scope in USER_SCOPES:
            user[item.key] = item.value
            if item.section == "credential" and item.variable == "helper":
                helpers.append((item.key, item.value))
        neutral = _NEUTRAL.get((item.section, item.variable))
        if neutral is not None and item.scope != "command":
            found[item.key] = "ssh-keygen" if item.key == "gpg.ssh.program" else neutral
    result = []
    for key, neutral in found.items():
        if key.startswith("filter.") and filters == "off":
            result.append((key, neutral))
        else:
            result.append((key, user.get(key, neutral)))
    # An empty helper forgets those of the repository; the user's follow it again.
    return (*result, ("credential.helper", ""), *helpers)


def ssh_command(config: Iterable[ConfigValue], environment: Mapping[str, str]) -> str:
    """The ssh program of a network call: the user's own choice, never the repository's; never asking."""
    chosen = environment.get("GIT_SSH_COMMAND", "")
    if not chosen:
        own = [item.value for item in config if item.key == "core.sshcommand" and item.scope in USER_SCOPES]
        program = shlex.quote(environment.get("GIT_SSH") or "ssh")
        chosen = own[-1] if own else program
    if "batchmode" in chosen.lower():
        return chosen
    return f"{chosen} -batch" if _PLINK.search(chosen) else f"{chosen} -oBatchMode=yes"


def transport_arguments(args: tuple[str, ...]) -> tuple[str, ...]:
    """`args` of a network call with the program of the other side named: of several settings the first wins."""
    option = _OTHER_SIDE.get(args[0])
    return (args[0], option, *args[1:]) if option else args


def foreign_git_names(environment: Iterable[str]) -> tuple[str, ...]:
    """The `GIT_*` names of `environment` that must not reach our calls."""
    return tuple(name for name in environment if name.startswith("GIT_") and name not in _KEPT)


def isolated_additions(
    settings: Iterable[tuple[str, str]],
    *,
    git_dir: str = "",
    work_tree: str = "",
    objects: str = "",
    ssh: str = "",
    network: bool = False,
) -> dict[str, str]:
    """The variables of one git call; `objects` where they lie elsewhere than in `git_dir`.

    Without `network` no transport at all is allowed, so that a query cannot be turned into a fetch by a missing
    object and a remote of the repository's choice.
    """
    added = dict(_FIXED_ENVIRONMENT)
    added["GIT_SSH_COMMAND"] = ssh or "ssh -oBatchMode=yes"
    added["GIT_ALLOW_PROTOCOL"] = _NETWORK_PROTOCOLS if network else ""
    if git_dir:
        added["GIT_DIR"] = git_dir
    if work_tree:
        added["GIT_WORK_TREE"] = work_tree
    if objects:
        added["GIT_OBJECT_DIRECTORY"] = objects
    pairs = (*FIXED, *settings) if network else (*FIXED, *settings, *_LOCAL_ONLY)
    added["GIT_CONFIG_COUNT"] = str(len(pairs))
    for number, (key, value) in enumerate(pairs):
        added[f"GIT_CONFIG_KEY_{number}"] = key
        added[f"GIT_CONFIG_VALUE_{number}"] = value
    return added
