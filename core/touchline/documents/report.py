"""The verification report, schema v1 (spec page 4).

Exact values count: letter case, types and ranges. `"1"` is not 1, severity 11 or "8" is malformed.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from touchline.documents.base import Document, FindingClass, Location

ReportStatus = Literal["ok", "blocked", "error"]
SkillStatus = str
"""PASSED, FAILED, BLOCKED, COMPLETED, NOT_RUN, SKIPPED; another word is an incomplete verification, not an error."""


class ReportFinding(Document):
    """What a verifier says is wrong, for people."""

    title: str
    severity: int = Field(ge=1, le=10)
    description: str
    sources: list[str]
    location: Location | None = None


class Issue(Document):
    """`findings[i]` with what the gates need."""

    id: str
    class_: FindingClass = Field(alias="class")
    root_cause: str
    mechanism: str
    symbol: str | None = None
    symptom: str | None = None
    signature: str | None = None
    first_order: bool = False
    new_harm_evidence: str | None = None
    evidence: str | None = None
    matches: str | None = None


class Scope(Document):
    """What was verified. `head_sha`, `tree_hash` bind the report to it; branch scope names base and merge base."""

    mode: Literal["branch", "files", "staged", "unstaged"]
    base_ref: str | None
    merge_base: str | None
    head_sha: str
    tree_hash: str | None = None
    included_files: list[str]
    excluded_files: list[str]
    delta_base_sha: str | None = None
    delta_files: list[str]


class Triage(Document):
    """Which verifiers ran and which did not."""

    skills_run: list[str]
    skills_skipped: list[str]


class SkillResult(Document):
    """The row of one verifier: `exerciser`, `tester`, or a judge by its configured name."""

    skill: str
    status: SkillStatus
    notes: str = ""


class ExerciserVerification(Document):
    """What the exerciser saw of one issue: CONFIRMED, NOT REPRODUCED, NOT APPLICABLE or BLOCKED."""

    issue_id: str
    status: str
    evidence: str = ""


class CustomGate(Document):
    """One custom gate's row; a status outside PASS, FAIL, BLOCKED, NOT CHECKED fails the gate."""

    rule: str
    status: str
    evidence: str = ""


class CustomGates(Document):
    """The rows of custom gates by who checked them."""

    exerciser: list[CustomGate]
    review: list[CustomGate]


class Recheck(Document):
    """A verifier's answer about a finding that the ledger already holds."""

    ledger_id: str
    status: Literal["fixed", "still-open"]
    evidence: str = ""


class Diagnosis(Document):
    """The debug step's answer about one issue (proof for a quarantine entry)."""

    issue_id: str
    pre_existing: Literal["yes", "no", "unknown"]
    touched_by_diff: list[str]
    reproduced_at: str = ""
    command: str = ""
    output_excerpt: str = ""


class Report(Document):
    """One verification run's report."""

    schema_version: Literal[1]
    status: ReportStatus
    error: str | None
    findings: list[ReportFinding]
    scope: Scope
    triage: Triage
    skill_results: list[SkillResult]
    issues: list[Issue]
    exerciser_verification: list[ExerciserVerification]
    custom_gates: CustomGates
    rechecks: list[Recheck] = []
    diagnoses: list[Diagnosis] = []
