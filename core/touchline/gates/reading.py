"""Owns what of a report may be believed: all of it, or what is left of one that breaks schema v1 (spec page 4).

Pure, and never raises: bytes of any kind in, what they hold and what is wrong with them out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from touchline.documents.base import Document
from touchline.documents.decision import Context
from touchline.documents.report import (
    CustomGate,
    Diagnosis,
    ExerciserVerification,
    Issue,
    Recheck,
    Report,
    ReportFinding,
    Scope,
    SkillResult,
)
from touchline.gates.text import bounded
from touchline.ledger.identity import normalise_path

MAX_PROBLEM_CHARS = 300

_Part = TypeVar("_Part", bound=Document)


@dataclass(frozen=True, slots=True)
class Reported:
    """One reported problem: `issues[i]` and `findings[i]` together."""

    issue: Issue
    finding: ReportFinding

    @property
    def path(self) -> str | None:
        """The normalised path of its location."""
        return normalise_path(self.finding.location.path if self.finding.location else None)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a report holds for this verification, and `problems`: why it is an incomplete one, if it is.

    A report of another schema, head, tree or base holds nothing about this one, so everything is empty then.
    """

    problems: tuple[str, ...]
    status: str = "unavailable"
    error: str = ""
    reported: tuple[Reported, ...] = ()
    skills: tuple[SkillResult, ...] = ()
    exerciser_gates: tuple[CustomGate, ...] = ()
    review_gates: tuple[CustomGate, ...] = ()
    seen: tuple[ExerciserVerification, ...] = ()
    rechecks: tuple[Recheck, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    delta_base_sha: str | None = None
    delta_paths: frozenset[str] = frozenset()


def read_report(report: bytes | Report, context: Context) -> Reading:
    """What `report` holds about the head, tree and base of `context`."""
    if isinstance(report, Report):
        try:
            report = report.to_bytes()
        except (PydanticSerializationError, ValueError) as error:
            return Reading((_problem(f"the report cannot be written as JSON: {error}"),))
    raw, problem = _parse(report)
    if raw is None:
        return Reading((problem,))
    if type(raw.get("schemaVersion")) is not int or raw["schemaVersion"] != 1:
        return Reading(("the report is of another schema: schemaVersion is not 1",))
    try:
        whole = Report.model_validate_json(report, by_alias=True, by_name=False)
    except ValidationError as error:
        return _salvage(raw, context, _fault(error))
    foreign = _foreign(whole.scope, context)
    if foreign:
        return Reading(foreign, status=whole.status)
    return _held(whole, _contradictions(whole))


def _parse(data: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        # Plain JSON only: doubled keys and NaN are two meanings of one text, so such a report says nothing.
        raw = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return None, _problem(f"the report is not JSON that can be trusted: {error}")
    return (raw, "") if isinstance(raw, dict) else (None, "the report is no JSON object")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _fault(error: ValidationError) -> str:
    # Without input values: what is malformed is not repeated.
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return _problem(f"the report breaks schema v1 at {where or 'its top'}: {first['msg']}")


def _foreign(scope: Scope, context: Context) -> tuple[str, ...]:
    """Why the report is about something else than what was to be verified."""
    wanted: list[tuple[str, str | None, str | None]] = [
        ("mode", scope.mode, context.scope_mode),
        ("headSha", scope.head_sha, context.head_sha),
    ]
    if context.tree_hash is not None:
        wanted.append(("treeHash", scope.tree_hash, context.tree_hash))
    branch = context.scope_mode == "branch"
    wanted.append(("baseRef", scope.base_ref, context.base_ref if branch else None))
    wanted.append(("mergeBase", scope.merge_base, context.merge_base if branch else None))
    found = [
        _problem(f"the report is for another {name}: {got!r} instead of {expected!r}")
        for name, got, expected in wanted
        if got != expected
    ]
    if context.full_audit and scope.delta_base_sha is not None:
        found.append("a full audit was asked for and the report looked at a delta only")
    return tuple(found)


def _contradictions(report: Report) -> tuple[str, ...]:
    found = []
    if report.status == "ok" and report.error is not None:
        found.append("the report contradicts itself: status ok with an error")
    if len(report.issues) != len(report.findings):
        found.append(f"the report contradicts itself: {len(report.findings)} findings and {len(report.issues)} issues")
    if len({issue.id for issue in report.issues}) != len(report.issues):
        found.append("the report contradicts itself: two issues of one id")
    return tuple(found)


def _held(report: Report, problems: tuple[str, ...]) -> Reading:
    pairs = zip(report.issues, report.findings, strict=False)
    # Of lists that differ nobody can say which finding belongs to which issue.
    paired = len(report.issues) == len(report.findings)
    return Reading(
        problems,
        status=report.status,
        error=report.error or "",
        reported=tuple(Reported(issue, finding) for issue, finding in pairs) if paired else (),
        skills=tuple(report.skill_results),
        exerciser_gates=tuple(report.custom_gates.exerciser),
        review_gates=tuple(report.custom_gates.review),
        seen=tuple(report.exerciser_verification),
        rechecks=tuple(report.rechecks),
        diagnoses=tuple(report.diagnoses),
        delta_base_sha=report.scope.delta_base_sha,
        delta_paths=_paths(report.scope.delta_files),
    )


def _salvage(raw: dict[str, Any], context: Context, problem: str) -> Reading:
    """What a report that breaks the schema validly holds: each row that is valid by itself."""
    scopes = _rows(Scope, [raw.get("scope")])
    if len(scopes) != 1:
        return Reading((problem,))
    foreign = _foreign(scopes[0], context)
    if foreign:
        return Reading((problem, *foreign))
    issues, findings = _list(raw.get("issues")), _list(raw.get("findings"))
    reported = []
    if len(issues) == len(findings):
        for issue, finding in zip(issues, findings, strict=True):
            pair = _rows(Issue, [issue]), _rows(ReportFinding, [finding])
            if pair[0] and pair[1]:
                reported.append(Reported(pair[0][0], pair[1][0]))
    gates = raw.get("customGates")
    gates = gates if isinstance(gates, dict) else {}
    status = raw.get("status")
    return Reading(
        (problem,),
        status=status if status in ("ok", "blocked", "error") else "unavailable",
        reported=tuple(reported),
        skills=_rows(SkillResult, _list(raw.get("skillResults"))),
        exerciser_gates=_rows(CustomGate, _list(gates.get("exerciser"))),
        review_gates=_rows(CustomGate, _list(gates.get("review"))),
        seen=_rows(ExerciserVerification, _list(raw.get("exerciserVerification"))),
        rechecks=_rows(Recheck, _list(raw.get("rechecks"))),
        diagnoses=_rows(Diagnosis, _list(raw.get("diagnoses"))),
        delta_base_sha=scopes[0].delta_base_sha,
        delta_paths=_paths(scopes[0].delta_files),
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _rows(kind: type[_Part], values: Iterable[object]) -> tuple[_Part, ...]:
    found = []
    for value in values:
        try:
            found.append(kind.model_validate_json(json.dumps(value), by_alias=True, by_name=False))
        except ValidationError:
            continue
    return tuple(found)


def _paths(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(plain for path in paths if (plain := normalise_path(path)) is not None)


def _problem(text: str) -> str:
    return bounded(text, MAX_PROBLEM_CHARS)
