"""The one exception family: every error a user can cause, as one message.

A message says what failed, on which named thing, and what to do next. Expected outcomes of a run (a bad
trailer, a failing CLI, a timeout, red tests) are values, never exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class TouchlineError(Exception):
    """A failure that is shown to a person as one message, without a traceback.

    `what` names the failure and the thing it happened to; `fix` says what to do next. Neither may hold a
    secret. `exit_code` is the process exit status that the command line uses (spec page 5).
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(f"{what}\n  {fix}" if fix else what)


class UsageError(TouchlineError):
    """An argument or a combination of arguments that touchline refuses before it touches anything."""

    exit_code = 2


class ConfigError(TouchlineError):
    """A configuration file, environment variable or flag that cannot be read or is not valid."""

    exit_code = 2


class LedgerError(TouchlineError):
    """The run's ledger cannot be read or written; the last good file is left as it is."""

    exit_code = 2


class LockHeldError(LedgerError):
    """Another live process holds the run; the message names it."""


class PluginLoadError(TouchlineError):
    """A plugin is unknown, broken, doubled or written for another plugin API version."""

    exit_code = 2


class ExecutorError(TouchlineError):
    """An executor cannot be used at all: not installed, not logged in, too old."""


class ProcessError(TouchlineError):
    """A program could not be started by the process host."""


class ProcessStartError(ProcessError):
    """The machine could not start a program that is there: load, memory, process limits. Worth another try."""


class GitError(TouchlineError):
    """A git operation was refused or failed; carries the command and git's own words."""


class GitQueryError(GitError):
    """A read-only git query failed. Never to be read as "nothing new" (spec page 1)."""


class NotARepositoryError(GitError):
    """The given folder is no usable git work tree."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Observed:
    """What was last seen of a change request before an operation failed; "" where nothing was seen."""

    url: str = ""
    number: str = ""
    state: str = ""
    head_sha: str = ""
    merge_queue: str = ""
    comment_id: str = ""


class ForgeError(TouchlineError):
    """A forge operation that did not lead to the asked state (spec page 6).

    `operation` and `provider` name what was tried where; `observed` holds the last facts seen, never hoped ones.
    """

    exit_code = 5

    def __init__(
        self, what: str, *, fix: str = "", operation: str = "", provider: str = "", observed: Observed = Observed()
    ) -> None:
        self.operation = operation
        self.provider = provider
        self.observed = observed
        super().__init__(what, fix=fix)


class ForgeAuthError(ForgeError):
    """The host wants a credential, or refuses the one it was given."""


class ForgeForbiddenError(ForgeError):
    """The host knows who asks and does not let them."""


class ForgeNotFoundError(ForgeError):
    """The repository, branch or change request is not there, as far as the host shows."""


class ForgeAmbiguousError(ForgeError):
    """Several things fit where exactly one must: open changes of a branch, remotes of a repository."""


class ForgeConflict(ForgeError):
    """The state at the host is not what the operation was based on; nothing of somebody else's was overwritten."""


class ForgeUnavailable(ForgeError):
    """The host could not be reached, broke off or answered with a failure of its own."""


class ForgeBusy(ForgeUnavailable):
    """The host asks to come later; `retry_after_s` is None where it does not say when."""

    def __init__(
        self,
        what: str,
        *,
        fix: str = "",
        operation: str = "",
        provider: str = "",
        observed: Observed = Observed(),
        retry_after_s: float | None = None,
    ) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(what, fix=fix, operation=operation, provider=provider, observed=observed)


class ForgeCapabilityError(ForgeError):
    """The forge cannot do what is needed; told at preflight, before anything is changed."""
