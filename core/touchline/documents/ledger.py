"""The run ledger, `ledger.json` (spec page 3). Data only: who writes what and when is `touchline.ledger`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from touchline.documents.base import Depth, Disposition, Document, FindingClass, Location, Usage

SCHEMA_VERSION = 1

Mode = Literal["published", "no-pr", "resume-ci"]
TurnState = Literal["started", "returned", "committing", "recorded"]
VerificationState = Literal["started", "read", "decided", "interrupted"]
Outcome = Literal["RERUN", "FEEDBACK", "APPROVED"]
LastDecision = Literal["APPROVED", "PROVISIONAL", "FEEDBACK"]
ReceiptStatus = Literal["addressed", "partial", "not-addressed"]
SettlementKind = Literal["finished", "asked", "undeclared", "silent", "failed", "interrupted"]
Status = Literal[
    "READY_FOR_REVIEW",
    "APPROVED_DRAFT_OPEN",
    "APPROVED_READY_OPEN",
    "APPROVED_NO_PR",
    "TURN_LIMIT_VERIFY",
    "TURN_LIMIT_CI",
    "FAILED_NO_PLAN",
    "FAILED_CI_BLOCKED",
    "FAILED_PUBLISH",
    "INTERRUPTED",
    "FAILED_RUN",
]
"""How a run can end. INTERRUPTED and FAILED_RUN leave `terminal` unset and are continued (DESIGN.md)."""


class RunOptions(Document):
    """The options of a run as they took effect; a resume reads them from here, never from a new flag."""

    executor: str
    reviewers: list[str] = []
    model: str | None = None
    max_turns: int = Field(default=10, ge=1)
    severity: int = Field(default=5, ge=1, le=10)
    ci_timeout_seconds: int = 21600
    no_pr: bool = False
    no_ci: bool = False
    headless: bool = False
    target: str | None = None
    pr: str | None = None
    approved_head: str | None = None
    epic_context: str | None = None
    epic_quarantine: str | None = None
    request_review: str | None = None
    forge: str | None = None
    turn_max_tokens: int | None = None
    turn_max_cost: float | None = None
    run_max_tokens: int | None = None
    run_max_cost: float | None = None


class Attempt(Document):
    """One failed try at a turn that did not count (spec page 2's table); `at` is ISO 8601 UTC."""

    kind: str
    at: str
    reason: str = ""
    resets_at: str | None = None


class Receipt(Document):
    """What the player answered to one feedback item ("1", "G-1" or "C-1")."""

    item: str
    finding_id: str | None = None
    status: ReceiptStatus
    note: str = ""


class Settlement(Document):
    """How a turn ended, as stored; `reason` and `kind` come from `touchline.turn.settle` alone."""

    kind: SettlementKind
    failure: str | None = None
    reason: str = ""
    question: str | None = None
    summary: str | None = None
    text_tail: str = ""


class TurnRow(Document):
    """One player turn. `None` means not known (yet); `changed_paths` is what git shows, not what was claimed."""

    run_number: str
    turn: int
    state: TurnState
    attempts: list[Attempt] = []
    intended_tree: str | None = None
    message_digest: str | None = None
    commit_refused: str | None = None
    """What a commit hook of the repository said when it refused this turn's commit."""
    session_id: str | None = None
    executor: str
    start_head: str
    start_tree: str
    head_sha: str | None = None
    noop: bool | None = None
    declared: bool | None = None
    changed_paths: list[str] = []
    build: str | None = None
    tests: str | None = None
    app: str | None = None
    concerns: list[str] = []
    claimed_paths: list[str] = []
    """What the player said it changed; kept beside `changed_paths`, which git shows."""
    feedback_file: str | None = None
    feedback_finding_ids: list[str] = []
    """The findings that stood in the feedback file, so that the coverage rules are a query (spec page 4)."""
    feedback_items_given: int = 0
    feedback_items_addressed: int = 0
    receipts: list[Receipt] = []
    usage: Usage | None = None
    settlement: Settlement | None = None
    started_at: str
    ended_at: str | None = None


class GateRow(Document):
    """One failed gate of a decision; `severity` is for show, failed gates block by being failed."""

    gate: str
    status: str
    severity: int
    evidence: str = ""


class VerificationRow(Document):
    """One verification run; `verify_run` is the n of `reports/{n}.json` and never restarts."""

    run_number: str
    verify_run: int
    turn: int
    state: VerificationState
    context: dict[str, Any] = {}
    head_sha: str
    tree_hash: str | None = None
    report_path: str
    depth: Depth = "light"
    delta_base_sha: str | None = None
    full_audit: bool
    status: str | None = None
    decision: Outcome | None = None
    gates: list[GateRow] = []
    finding_ids: list[str] = []
    reviewer: str | None = None
    next: str | None = None
    reason: str = ""


class FollowUp(Document):
    """Where a deferred finding is carried on, for instance `pr-body`."""

    kind: str
    ref: str | None = None


class Finding(Document):
    """One finding across the whole run. `first_seen`, `last_seen` are verifyRun numbers (deciding has no clock)."""

    id: str
    key: str
    location: Location | None = None
    title: str
    root_cause: str
    mechanism: str
    symbol: str | None = None
    symptom: str | None = None
    signature: str | None = None
    class_: FindingClass = Field(alias="class")
    severity: int = Field(ge=1, le=10)
    severity_history: list[int] = []
    sources: list[str] = []
    first_seen: int
    last_seen: int
    occurrences: int = 1
    disposition: Disposition
    disposition_reason: str = ""
    disposition_set_at: int
    evidence: str = ""
    matched_to: str | None = None
    match_reason: str | None = None
    quarantine_id: str | None = None
    reaffirmed_by: list[str] = []
    follow_up: FollowUp | None = None
    last_turn: int | None = None
    """The turn in which it was last counted, so that a rerun in one turn counts once."""
    last_tree: str | None = None
    """The tree (or head) on which it was last reported; it is never fixed on that same tree."""


class Provenance(Document):
    """The proof that a failure exists at the merge base."""

    reproduced_at: str
    command: str
    output_excerpt: str = ""


class QuarantineEntry(Document):
    """A proven pre-existing failure (spec page 4); it never applies to CI."""

    id: str
    title: str
    signature: str
    paths: list[str] = []
    diagnosis: str = ""
    provenance: Provenance
    first_seen: int
    reraise_count: int = 0
    active: bool = True
    invalidated_by: str | None = None
    rediagnosed: bool = False
    """Whether the one new diagnosis that closing it allows has been given."""


class CiFailure(Document):
    """One failing check of one CI reading; `ci_run` is the n of `evidence/{n}.json`."""

    run_number: str
    ci_run: int
    turn: int
    head_sha: str
    check: str
    summary: str = ""
    quarantine_id: str | None = None


class Policy(Document):
    """Rules that a run froze at its start."""

    coverage_cap_from_round: int = 3


class CarryForward(Document):
    """What the last decision proved; written with that decision, never on a RERUN (spec page 3)."""

    last_verified_head_sha: str | None = None
    last_verified_threshold: int | None = None
    last_full_audit_sha: str | None = None
    last_decision: LastDecision | None = None


class LastExit(Document):
    """A resumable ending (INTERRUPTED, FAILED_RUN): why the process stopped, and when (ISO 8601 UTC)."""

    status: Status
    reason: str
    at: str


class RunState(Document):
    """What a resume needs (spec page 3, `run`)."""

    options: RunOptions
    mode: Mode
    repo: str = ""
    source_branch: str | None = None
    target_branch: str | None = None
    base_remote: str | None = None
    push_remote: str | None = None
    start_head: str
    start_tree: str
    untracked_at_start: list[str] = []
    staged_at_start: list[str] = []
    dirty_at_start: list[str] = []
    """Tracked files that differed from HEAD before the run."""
    owned_paths: list[str] = []
    reruns_this_turn: int = 0
    ci_deadline: str | None = None
    pr_state: str | None = None
    remote_head_sha: str | None = None
    approved_head: str | None = None
    publish_failure: str | None = None
    assumptions: list[str] = []
    said_once: list[str] = []
    plan_digest: str
    plan_path: str = ""
    """The absolute path of the plan that was copied."""
    waited_seconds: int = 0
    last_exit: LastExit | None = None
    configuration: dict[str, Any] = {}


class Terminal(Document):
    """The final status; `reported` once its block was flushed to stdout."""

    status: Status
    reason: str
    reported: bool = False


class PastRun(Document):
    """An earlier run on this change: its options, counts and terminal status."""

    run_number: str
    options: RunOptions
    turns_used: int
    verify_runs: int
    terminal: Terminal | None = None


class Ledger(Document):
    """The whole ledger. `ledger.json` alone is the authority; read it again before each decision."""

    schema_version: Literal[1] = 1
    project: str
    change_key: str
    created_at: str
    updated_at: str
    run_number: str
    plan_file: str
    severity_threshold: int = Field(ge=1, le=10)
    max_turns: int = Field(ge=1)
    base_ref: str | None = None
    merge_base: str
    pr_url: str | None = None
    run: RunState
    turns: list[TurnRow] = []
    verification_runs: list[VerificationRow] = []
    findings: list[Finding] = []
    quarantine: list[QuarantineEntry] = []
    ci_failures: list[CiFailure] = []
    interruptions: list[str] = []
    policy: Policy = Policy()
    carry_forward: CarryForward = CarryForward()
    terminal: Terminal | None = None
    runs: list[PastRun] = []
