"""What a forge says about one commit's CI, as raw facts (spec page 6, "CI evidence and predicate").

Kept beside the reports, so that a proof can be judged again offline. The verdict is not the forge's: it is
`touchline.ci.predicate`, which reads nothing but this. What a document leaves out is never in favour of green.
"""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from touchline.documents.base import Document

Tristate = Literal["yes", "no", "unknown"]
CheckKind = Literal["check_run", "status", "job"]
ReviewState = Literal["satisfied", "pending", "not-required", "unknown"]


class PullRequestFacts(Document):
    """The change request as the host shows it now; reasons are the host's words, for people only."""

    head_sha: str
    is_draft: bool
    mergeable: Tristate
    review: ReviewState
    target_branch: str
    target_sha: str | None
    mergeable_reason: str = ""
    review_reason: str = ""


class RequiredCheck(Document):
    """A check that the host's policy requires; without `app`, one of any app satisfies it."""

    context: str
    app: str | None = None


class CheckPolicy(Document):
    """What the target branch requires. `http_status` says how it was learned: 403 is unreadable, 404 is no policy."""

    readable: bool
    http_status: int | None = None
    strict: bool = False
    required: list[RequiredCheck] = Field(default_factory=list)


class CheckFact(Document):
    """One reported check, status or job. `status` and `conclusion` are the host's words, in lower case.

    `conclusion` is None until there is one. A check that is reported again appears again: which record counts is
    the predicate's business. `name` of a job includes its stage where the host has stages.
    """

    kind: CheckKind
    name: str
    app: str | None = None
    id: int | str
    status: str
    conclusion: str | None = None
    started_at: AwareDatetime | None = None
    completed_at: AwareDatetime | None = None
    run_attempt: int | None = None


class CiEvidence(Document):
    """Everything known about the CI of `requested_head`, at one moment.

    `within_settle_window` and `timeout_reached` are set by whoever waits; a forge leaves them false.
    """

    requested_head: str
    pr: PullRequestFacts | None
    ci_configured: bool
    policy: CheckPolicy
    head_contains_target: Tristate = "unknown"
    checks: list[CheckFact]
    checks_readable: bool
    draft_suppresses_ci: bool = False
    required_only_on_pr: bool = False
    within_settle_window: bool = False
    timeout_reached: bool = False
