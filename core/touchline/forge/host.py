"""What the core gives a forge to work with (spec page 6, "Network" and "Auth by host").

Every git call of a forge is bounded, asks nobody and hands a credential to one host alone: through a credential
helper that reads it from the environment of that one call, so that it stands in no argv, no URL and no file.
"""

from __future__ import annotations

import os
import select
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from touchline.errors import ForgeUnavailable, ProcessError
from touchline.forge.binding import Remote, configured_remotes
from touchline.forge.remotes import web_origin
from touchline.forge.secret import Credential
from touchline.git.repository import Repository
from touchline.git.transport import transport_settings
from touchline.process import Completed
from touchline.process import run as run_process
from touchline.process.cancel import Cancellation
from touchline.process.environment import clean_environment

ALIAS_TIMEOUT_S = 5.0
MAX_OUTPUT_BYTES = 64 * 1024 * 1024

_USER, _PASSWORD = "TOUCHLINE_GIT_USER", "TOUCHLINE_GIT_PASSWORD"
_HELPER = f'!f() {{ test "$1" = get || exit 0; printf "username=%s\\npassword=%s\\n" "${_USER}" "${_PASSWORD}"; }}; f'
_QUIET_TRANSFER = (
    ("push.followTags", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.pushOption", ""),
    ("fetch.prune", "false"),
    ("fetch.pruneTags", "false"),
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "30"),
)
"""What a user may have configured for their own pushes, and what would make one of ours do more than it says."""


class LocalForgeHost:
    """The host of a forge that works on one local repository."""

    def __init__(
        self,
        repo: Repository,
        *,
        environ: Mapping[str, str] | None = None,
        say: Callable[[str], None] = lambda text: None,
        cancel: Cancellation | None = None,
    ) -> None:
        self._repo = repo
        self._environ = os.environ if environ is None else environ
        self._say = say
        self._cancel = cancel
        self._aliases: dict[str, str] = {}
        self._remotes: Sequence[Remote] = ()
        self._transport: tuple[tuple[str, str], ...] | None = None

    def remotes(self) -> Sequence[Remote]:
        """The remotes of the local repository as they were when this was first asked.

        What is asked later may have been written by the player whose work is published.
        """
        self._remotes = self._remotes or configured_remotes(self._repo)
        return self._remotes

    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        timeout_s: float,
        remote: Remote | None = None,
        credential: Credential | None = None,
    ) -> Completed:
        """One bounded git call in the local repository; with `remote` it may use the network."""
        if remote is None:
            return self._repo.run(*args, stdin=stdin, timeout_s=timeout_s, max_output_bytes=MAX_OUTPUT_BYTES)
        settings, added = credential_additions(remote.url, credential or remote.credential)
        return self._repo.run(
            *args,
            stdin=stdin,
            timeout_s=timeout_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
            network=True,
            settings=(*self._own_transport(), *_QUIET_TRANSFER, *settings),
            extra_env=added,
            cancel=self._cancel,
        )

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float, env: Mapping[str, str] | None = None
    ) -> Completed:
        """Run another program in the work tree. Raises ProcessError when it cannot be started."""
        return run_process(
            argv,
            cwd=self._repo.work_tree,
            env=clean_environment(self._environ, add=env),
            stdin=stdin,
            timeout_s=timeout_s,
            cancel=self._cancel,
        )

    def ssh_hostname(self, alias: str) -> str:
        """The host behind `alias` by the user's ssh configuration; `alias` itself where ssh does not tell."""
        if alias.startswith("-") or shutil.which("ssh", path=self._environ.get("PATH", os.defpath)) is None:
            return alias
        if alias not in self._aliases:
            self._aliases[alias] = self._resolve(alias)
        return self._aliases[alias]

    def environ(self, name: str) -> str:
        """The variable `name` of our own environment, "" if unset."""
        return self._environ.get(name, "")

    def now(self) -> datetime:
        """The current time in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait; a cancelled run ends the wait with ForgeUnavailable."""
        if self._cancel is None:
            time.sleep(seconds)
        elif self._cancel.is_set() or select.select([self._cancel], [], [], seconds)[0]:
            raise ForgeUnavailable("waiting for the forge was cancelled", fix="Start again to go on.")

    def say(self, text: str) -> None:
        """Tell the person who watches."""
        self._say(text)

    def _own_transport(self) -> tuple[tuple[str, str], ...]:
        """The repository's http settings as they were at the first network call, before any turn."""
        if self._transport is None:
            self._transport = transport_settings(self._repo.configuration())
        return self._transport

    def _resolve(self, alias: str) -> str:
        try:
            done = self.run(["ssh", "-G", alias], timeout_s=ALIAS_TIMEOUT_S)
        except ProcessError:
            return alias
        if done.returncode != 0:
            return alias
        for line in done.stdout.decode("utf-8", "replace").splitlines():
            key, _, value = line.partition(" ")
            if key == "hostname" and value.strip():
                return value.strip()
        return alias


def credential_additions(url: str, credential: Credential | None) -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
    """Git settings and environment by which one call knows `credential`, for the host of `url` alone.

    The empty helper before ours makes git forget those that would answer first; with ours alone a refused token is
    not followed by another identity.
    """
    origin = web_origin(url)
    if not origin or credential is None or not (credential.user or credential.password):
        return (), {}
    settings = (("credential.helper", ""), (f"credential.{origin}.helper", _HELPER))
    return settings, {_USER: credential.user, _PASSWORD: credential.password.reveal()}
