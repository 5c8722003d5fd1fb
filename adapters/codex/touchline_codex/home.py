"""A private CODEX_HOME over the user's own (spec page 2: nothing of theirs is written by us).

Codex writes sessions, databases and helper links into its home, and trust into its configuration. So it gets a folder
of the run, in which the login, the configuration and the instructions are links to the user's files: read in place,
never copied, and a token that Codex renews is renewed where it is (measured). Left out on purpose are the user's
`rules`: a command that they allow is neither asked for nor kept in the sandbox (measured), and here the run's policy
decides.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touchline.agent_cli.fields import mapping, text
from touchline.api import ExecutorError

MAX_CONFIG_BYTES = 4 * 2**20
LOGIN = "auth.json"

_NEVER = {"rules"}
_ANSWERS = ":permission_request:"
_FILES = {LOGIN, ".credentials.json", ".env", "hooks.json"}
_SUFFIXES = {".toml", ".md", ".pem", ".crt"}
_FOLDERS = {"agents", "prompts"}
_OUR_OWN_SKILLS = ".system"
"""Codex unpacks its own skills under this name."""


def users_home(environ: Mapping[str, str]) -> Path:
    """The user's own CODEX_HOME."""
    chosen = environ.get("CODEX_HOME")
    return Path(chosen) if chosen else Path(environ.get("HOME") or Path.home()) / ".codex"


def layer(private: Path, users: Path) -> Path:
    """Make `private` a CODEX_HOME over `users`, or bring it up to date; raises ExecutorError.

    What configures Codex and is no link was put there by somebody else, a model perhaps: it is removed.
    """
    try:
        skills = private / "skills"
        skills.mkdir(mode=0o700, parents=True, exist_ok=True)
        for entry in _entries(private):
            if not entry.is_symlink() and (_configures(entry) or entry.name in _NEVER):
                _remove(entry)
        for entry in (users / LOGIN, *filter(_configures, _entries(users))):
            _link(private / entry.name, entry)
        for entry in _entries(users / "skills"):
            if entry.name != _OUR_OWN_SKILLS:
                _link(skills / entry.name, entry)
    except OSError as error:
        raise ExecutorError(
            f"the folder {private} could not be made a home for codex: {error.strerror}",
            fix="Check its permissions and the free space on its disk.",
        ) from error
    return private


def users_config(users: Path) -> Mapping[str, Any]:
    """The user's config.toml; empty where there is none. One that Codex will complain about counts as empty."""
    try:
        with (users / "config.toml").open("rb") as file:
            return tomllib.loads(file.read(MAX_CONFIG_BYTES).decode("utf-8"))
    except (OSError, ValueError):
        return {}


def trusted_hooks(config: Mapping[str, Any], private: Path, users: Path) -> dict[str, str]:
    """The user's hooks that Codex may run, by their key in `private`, with the hash that the user trusted.

    Codex knows a hook by its file, so trust does not come along by itself. A hook that answers permission requests
    is left out: it would answer in place of the run's policy (measured).
    """
    found: dict[str, str] = {}
    for key, state in mapping(mapping(config.get("hooks")).get("state")).items():
        trusted = text(mapping(state), "trusted_hash")
        if not trusted or mapping(state).get("enabled") is False or _ANSWERS in key:
            continue
        for home in {str(users), str(users.resolve())}:
            if key.startswith(f"{home}/"):
                rest = key.removeprefix(home)
                found |= {f"{place}{rest}": trusted for place in (private, private.resolve())}
    return found


def _configures(entry: Path) -> bool:
    return entry.name in _FILES or entry.name in _FOLDERS or entry.suffix in _SUFFIXES


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _link(link: Path, target: Path) -> None:
    """A link that may be there already, from an earlier turn or from one that runs beside this one."""
    wanted = str(target.absolute())
    try:
        link.symlink_to(wanted)
    except FileExistsError:
        if link.is_symlink() and str(link.readlink()) == wanted:
            return
        link.unlink(missing_ok=True)
        link.symlink_to(wanted)
