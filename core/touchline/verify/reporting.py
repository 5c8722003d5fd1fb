"""Putting what the verifiers said into one report, schema v1 (spec page 4). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from touchline.documents.report import (
    CustomGate,
    CustomGates,
    Diagnosis,
    ExerciserVerification,
    Recheck,
    Report,
    Scope,
    SkillResult,
    Triage,
)
from touchline.gates.reading import Reported
from touchline.verify.answers import AnswerGate, ExerciserAnswer, JudgeAnswer
from touchline.verify.request import VerifyRequest

EXERCISER = "exerciser"
_BADNESS = {"FAIL": 3, "BLOCKED": 2, "NOT CHECKED": 1, "PASS": 0}
_DID_NOT_RUN = ("NOT_RUN", "SKIPPED")


@dataclass(frozen=True, slots=True)
class Exercised:
    """The exerciser's row, and its answer if it gave one."""

    row: SkillResult
    answer: ExerciserAnswer | None = None


def gate_rows(rules: Sequence[str], answers: Iterable[tuple[str, Sequence[AnswerGate]]]) -> list[CustomGate]:
    """One row for each configured rule: of several answers the worst, without one NOT CHECKED."""
    given = list(answers)
    rows = []
    for place, rule in enumerate(rules, 1):
        found = [(who, gate) for who, gates in given for gate in gates if gate.gate == place]
        if not found:
            rows.append(CustomGate(rule=rule, status="NOT CHECKED", evidence="nobody answered to this rule"))
            continue
        who, worst = max(found, key=lambda pair: _BADNESS[pair[1].status])
        rows.append(CustomGate(rule=rule, status=worst.status, evidence=f"{who}: {worst.evidence}"))
    return rows


def judged_rechecks(answers: Iterable[tuple[str, JudgeAnswer]], open_ids: Collection[str]) -> list[Recheck]:
    """What the judges say of findings that were handed over; where they differ, it is still there."""
    found: dict[str, Recheck] = {}
    for who, answer in answers:
        for recheck in answer.rechecks:
            earlier = found.get(recheck.id)
            if recheck.id not in open_ids or (earlier is not None and earlier.status == "still-open"):
                continue
            found[recheck.id] = Recheck(
                ledger_id=recheck.id, status=recheck.status, evidence=f"{who}: {recheck.evidence}"
            )
    return list(found.values())


def seen_rows(answer: ExerciserAnswer | None, issues: Sequence[Reported]) -> list[ExerciserVerification]:
    """What the exerciser saw of each issue that it was shown; without an answer it says so."""
    given = {seen.issue: seen for seen in answer.verification} if answer is not None else {}
    rows = []
    for one in issues:
        seen = given.get(one.issue.id)
        status, evidence = (seen.status, seen.evidence) if seen else ("BLOCKED", "the exerciser did not answer to it")
        rows.append(ExerciserVerification(issue_id=one.issue.id, status=status, evidence=evidence))
    return rows


def whole_report(
    scope: Scope,
    rows: Sequence[SkillResult],
    skipped: Sequence[str],
    reported: Sequence[Reported],
    *,
    seen: list[ExerciserVerification],
    gates: CustomGates,
    rechecks: list[Recheck],
    diagnoses: list[Diagnosis],
) -> Report:
    """The report of a run that went through all its stages."""
    return Report(
        schema_version=1,
        status="ok",
        error=None,
        findings=[one.finding for one in reported],
        scope=scope,
        triage=Triage(
            skills_run=[row.skill for row in rows if row.status not in _DID_NOT_RUN],
            skills_skipped=[*(row.skill for row in rows if row.status in _DID_NOT_RUN), *skipped],
        ),
        skill_results=list(rows),
        issues=[one.issue for one in reported],
        exerciser_verification=seen,
        custom_gates=gates,
        rechecks=rechecks,
        diagnoses=diagnoses,
    )


def failed_report(request: VerifyRequest, status: str, error: str) -> Report:
    """The report of a run that could not go through its stages; it holds no verdict on anything."""
    branch = request.mode == "branch"
    return Report(
        schema_version=1,
        status="blocked" if status == "blocked" else "error",
        error=error,
        findings=[],
        scope=Scope(
            mode=request.mode,
            base_ref=request.base_ref if branch else None,
            merge_base=request.base_commit if branch else None,
            head_sha=request.head_sha,
            included_files=[],
            excluded_files=[],
            delta_base_sha=None,
            delta_files=[],
        ),
        triage=Triage(skills_run=[], skills_skipped=[]),
        skill_results=[],
        issues=[],
        exerciser_verification=[],
        custom_gates=CustomGates(exerciser=[], review=[]),
    )
