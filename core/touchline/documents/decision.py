"""The context that a decision needs beside ledger and report, and the decision itself (spec page 4)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from touchline.documents.base import Disposition, Document
from touchline.documents.ledger import FollowUp, GateRow, Outcome, QuarantineEntry

MatchReason = Literal["same-ledger-id", "same-key", "same-mechanism", "same-symbol-and-symptom", "similar-cause"]
Next = Literal["RERUN_VERIFY", "PLAYER_TURN", "FULL_AUDIT", "PHASE_2", "TERMINAL:TURN_LIMIT_VERIFY"]


class ConfiguredGates(Document):
    """The custom gates that must have a row, by rule text."""

    exerciser: list[str] = []
    review: list[str] = []


class Context(Document):
    """What the coach knows by itself; stored whole in the verification row so that a replay needs nothing else.

    `reruns_this_turn` counts before this result. `diff_paths` are the paths that differ from the merge base.
    """

    turn: int = Field(ge=0)
    max_turns: int = Field(ge=1)
    verify_run: int = Field(ge=1)
    reruns_this_turn: int = Field(default=0, ge=0)
    full_audit: bool = True
    head_sha: str
    tree_hash: str | None = None
    base_ref: str | None = None
    merge_base: str | None = None
    scope_mode: Literal["branch", "files"] = "branch"
    diff_paths: list[str] = []
    renames: dict[str, str] = {}
    """Old path to new path, as git detected it since the finding was booked."""
    declared: bool = True
    work_changed: bool = True
    tests_configured: bool = False
    configured_gates: ConfiguredGates = ConfiguredGates()
    judges: list[str] = ["codex-reviewer", "reviewer"]
    """Judge names by preference; the most preferred one that completed is recorded."""


class Counts(Document):
    """The numbers printed with each decision."""

    blocking: int
    quarantined: int
    deferred: int


class DecidedFinding(Document):
    """What became of one reported issue."""

    issue: str
    ledger_id: str
    is_new: bool
    match_reason: MatchReason | None
    disposition: Disposition
    severity: int
    occurrences: int
    follow_up: FollowUp | None = None
    quarantine_id: str | None = None


class Decision(Document):
    """The answer of `decide`; printed by `touchline gates --json` exactly so."""

    decision: Outcome
    next: Next
    counts: Counts
    findings: list[DecidedFinding]
    failed_gates: list[GateRow]
    quarantine: list[QuarantineEntry]
    sticky: list[str]
    reviewer: str | None
    reason: str
