"""Owns the operations of a forge, their arguments and their results (spec page 6, "Contract").

After every mutation a forge inspects again; an operation that returns has observed the asked state, every other
ending is a `ForgeError` with the last facts seen. Reads are repeated a few times, writes never blindly: after an
answer that got lost the forge looks whether the write took place. Nothing here contacts anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, Protocol, runtime_checkable

from touchline.documents.evidence import CiEvidence, ReviewState, Tristate
from touchline.errors import ForgeCapabilityError, Observed
from touchline.forge.binding import Remote
from touchline.forge.remotes import RepositoryId
from touchline.forge.secret import Credential, Secret
from touchline.process import Completed

ChangeState = Literal["draft", "ready", "queued", "merged", "closed", "unknown"]


class ForgeCapability(StrEnum):
    """What a forge can do; each is one operation unless it says otherwise."""

    DEFAULT_TARGET = "default-target"
    INSPECT = "inspect"
    FETCH = "fetch"
    """`fetch_head` and `fetch_branch`."""
    PUSH = "push"
    CREATE_DRAFT = "create-draft"
    UPDATE = "update"
    MARK_READY = "mark-ready"
    COMMENT = "comment"
    REQUEST_REVIEW = "request-review"
    READ_CI = "read-ci"
    REPORT_CHECK = "report-check"
    """A CI job can leave its result at the host (`ReportsChecks`)."""
    FORKS = "forks"
    """A change may come from another repository than the one it goes to."""
    REVIEW_STATE = "review-state"
    """`Change.review` is told; otherwise it is always unknown or not required."""


@dataclass(frozen=True, slots=True)
class ForgeSettings:
    """The configured side of a forge (config section `forge`, by host); `token` is the value of `token_env`."""

    host: str = ""
    api_url: str = ""
    token_env: str = ""
    token: Secret = field(default_factory=lambda: Secret(""))
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`generic` only: a program and its arguments for each operation."""
    read_timeout_s: float = 60.0
    write_timeout_s: float = 300.0


@dataclass(frozen=True, slots=True)
class ByUrl:
    """The change request at this address."""

    url: str


@dataclass(frozen=True, slots=True)
class ByNumber:
    """The change request of this number in `repo`."""

    repo: RepositoryId
    number: int


@dataclass(frozen=True, slots=True)
class ByBranch:
    """The one open change request in `repo` that comes from `branch` of `head`; None means `repo` itself."""

    repo: RepositoryId
    branch: str
    head: RepositoryId | None = None


Selector = ByUrl | ByNumber | ByBranch


@dataclass(frozen=True, slots=True)
class Mergeable:
    """Whether the host (or git) could merge it now; `reason` is for people."""

    answer: Tristate
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """What people's reviews are still wanted; `reason` says what is pending or why it is unknown."""

    state: ReviewState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change request as observed at one moment.

    `head_sha` is the full tip of the source branch, or the last known one where the branch is gone
    (`source_exists` false). `head` is None where the source repository is gone. `body` is the text byte for byte.
    `merge_queue` is the host's word for its place in a queue, "" where there is none.
    """

    url: str
    number: int
    base: RepositoryId
    head: RepositoryId | None
    source: str
    target: str
    state: ChangeState
    title: str
    body: str
    head_sha: str
    mergeable: Mergeable = Mergeable("unknown", "the forge does not tell")
    review: Review = Review("unknown", "the forge does not tell")
    source_exists: bool = True
    author: str = ""
    merge_queue: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it still waits to be merged: draft, ready or queued."""
        return self.state in ("draft", "ready", "queued")

    def observed(self, *, comment_id: str = "") -> Observed:
        """The facts that a failure block shows; a branch that is gone has no head."""
        head = self.head_sha if self.source_exists else ""
        return Observed(self.url, str(self.number), self.state, head, self.merge_queue, comment_id)


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft to be opened. `head_sha` must be the tip of `source` in `head` (None: `base` itself)."""

    base: RepositoryId
    source: str
    target: str
    title: str
    body: str
    head_sha: str
    head: RepositoryId | None = None


@dataclass(frozen=True, slots=True)
class Pushed:
    """The branch at the host after a push; `moved` is false when it was there already."""

    branch: str
    sha: str
    moved: bool


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that stands at the host; `created` is false when an earlier attempt had left it already."""

    id: str
    body: str
    created: bool = True
    url: str = ""


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What became of a request for review: who was asked, and who was not with the reason."""

    requested: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """A result that a CI job reports. `conclusion` belongs to the status `completed` alone."""

    name: str
    status: str
    conclusion: str | None = None
    app: str | None = None
    attempt: int = 1
    started_at: datetime | None = None
    completed_at: datetime | None = None
    url: str = ""


class ForgeHost(Protocol):
    """What the core gives a forge: the local repository, programs, time, and a way to tell people."""

    def remotes(self) -> Sequence[Remote]:
        """The remotes of the local repository with the credential-free URLs that git uses for them."""
        ...

    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        timeout_s: float,
        remote: Remote | None = None,
        credential: Credential | None = None,
    ) -> Completed:
        """One bounded git call in the local repository; its ending is a value.

        With `remote` it may use the network and never asks. `credential`, or else the one that stood in the
        configured URL, goes to that remote's host alone and into no argv; without either git's own helpers are
        asked. `args` name the remote by its `url`.
        """
        ...

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float, env: Mapping[str, str] | None = None
    ) -> Completed:
        """Run another program in the work tree, `env` added to the cleaned environment; its ending is a value."""
        ...

    def ssh_hostname(self, alias: str) -> str:
        """The host that ssh would connect to for `alias`, by the user's ssh configuration; contacts nobody."""
        ...

    def environ(self, name: str) -> str:
        """The variable `name` of our own environment, "" if unset: forge tokens are no child's business."""
        ...

    def now(self) -> datetime:
        """The current time, with a time zone."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait. Raises ForgeUnavailable when the run is being cancelled meanwhile."""
        ...

    def say(self, text: str) -> None:
        """Tell the person who watches, such as that a rate limit is waited for."""
        ...


@runtime_checkable
class Forge(Protocol):
    """A driver: one class per name, built as `driver(settings, host)`. No base class to inherit."""

    name: str
    api_version: int
    capabilities: frozenset[ForgeCapability]
    """On the class: what it can do at all. On an object: what it can do with its settings."""

    def identify(self, remote_url: str) -> RepositoryId | None:
        """The repository that a remote URL names, None if it is none of this forge's. Never contacts the host."""
        ...

    def preflight(
        self, needed: Collection[ForgeCapability], *, repo: RepositoryId, head: RepositoryId | None = None
    ) -> None:
        """Raise unless everything `needed` can be done for changes from `head` to `repo`; changes nothing.

        A missing capability is ForgeCapabilityError with its name; then remotes are bound, the host is reached and
        the credential is tried, for writing too where `needed` has a write.
        """
        ...

    def base_repository(self, repo: RepositoryId) -> RepositoryId:
        """Where changes from `repo` usually go: the parent of a fork, else `repo` under its canonical name."""
        ...

    def default_target(self, repo: RepositoryId) -> str:
        """The default branch of `repo`."""
        ...

    def inspect(self, selector: Selector) -> Change:
        """The change as it is now. Merged and closed are states, not errors.

        Raises ForgeNotFoundError when there is none and ForgeAmbiguousError when several open ones fit.
        """
        ...

    def fetch_head(self, change: Change) -> str:
        """Bring the head commit into the local repository; its SHA, proved equal to `change.head_sha`."""
        ...

    def fetch_branch(self, repo: RepositoryId, branch: str) -> str:
        """Bring the tip of a branch into the local repository; its full SHA. Moves no local ref."""
        ...

    def push(self, repo: RepositoryId, sha: str, branch: str, *, expected: str | None = None) -> Pushed:
        """Move `branch` at the host to `sha`, never by force.

        `expected` is the tip that the branch must have before ("": it must not exist). Raises ForgeConflict, with
        the remote left as it is, when it is another one or holds commits that `sha` does not.
        """
        ...

    def create_draft(self, draft: Draft) -> Change:
        """Open a draft, or find the one that an earlier attempt opened: never a second one of the same branch.

        Title and text of a draft that is there already stay as they are. Raises ForgeConflict when the open change
        of that branch goes elsewhere or is no draft, and when the branch is not at `draft.head_sha`.
        """
        ...

    def update(self, change: Change, *, body: str, title: str | None = None) -> Change:
        """Replace the text (and the title only when told), never target or draft state.

        `change` is what was inspected: raises ForgeConflict when head, text or title moved since.
        """
        ...

    def mark_ready(self, change: Change, *, head_sha: str) -> Change:
        """Take it out of draft at exactly that head; a change that is ready already is observed, not changed."""
        ...

    def comment(self, change: Change, body: str, *, key: str) -> Comment:
        """Add a comment, guarded by the head before and after. `key` makes a repeated attempt find the first."""
        ...

    def request_review(self, change: Change, reviewers: Sequence[str]) -> ReviewRequest:
        """Ask people for a review. Best effort: who could not be asked is a value, not an error."""
        ...

    def read_ci(self, repo: RepositoryId, sha: str, change: Change | None) -> CiEvidence:
        """What the host knows about CI for exactly `sha`; `repo` is the base repository. Facts, no verdict."""
        ...


@runtime_checkable
class ReportsChecks(Protocol):
    """A forge with `ForgeCapability.REPORT_CHECK`."""

    def report_check(self, repo: RepositoryId, sha: str, check: Check) -> None:
        """Leave a CI result for `sha` at the host, replacing what the same name and app reported before."""
        ...


def require(provider: str, has: Collection[ForgeCapability], needed: Collection[ForgeCapability]) -> None:
    """Raise ForgeCapabilityError naming everything of `needed` that is missing."""
    missing = sorted(capability.value for capability in set(needed) - set(has))
    if missing:
        raise ForgeCapabilityError(
            f"the forge {provider!r} cannot do what this needs: {', '.join(missing)}",
            fix="Configure another driver or the missing commands under `forge` for this host, or use --no-pr.",
            operation="preflight",
            provider=provider,
        )
