"""A test run as rows of a verification report (spec pages 4 and 5). Pure.

Each failed test is a finding of its own, known again by the test's name; a failed run that names no test is one
finding. Less testing than at the base is noticed by the coach, below the threshold, for the judges to weigh.
"""

from __future__ import annotations

import hashlib

from touchline.documents.base import Location
from touchline.documents.report import Issue, ReportFinding, SkillResult
from touchline.state import slug
from touchline.verify.testrun import TestFailure, TestsResult

TESTER = "tester"
COACH = "coach"
FAILURE_SEVERITY = 9
_MAX_TITLE = 200


def skill_result(result: TestsResult) -> SkillResult:
    """The row `tester` of `skillResults`."""
    return SkillResult(skill=TESTER, status=result.status, notes=f"{result.command}: {result.reason}")


def to_issues(result: TestsResult, *, threshold: int) -> list[tuple[ReportFinding, Issue]]:
    """The findings of a test run, each with its issue; ids are unique within one report."""
    rows: list[tuple[ReportFinding, Issue]] = []
    if result.status == "FAILED":
        failures = result.failures or (_whole_run(result),)
        rows += [_failure_row(number, failure, result) for number, failure in enumerate(failures, 1)]
    rows += [_shrunk_row(number, words, threshold) for number, words in enumerate(result.shrunk, 1)]
    return rows


def _whole_run(result: TestsResult) -> TestFailure:
    name = f"test command {result.command}"
    return TestFailure(name=name, message=result.reason, signature=f"{name}: {_kind(result)}", text=result.tail)


def _kind(result: TestsResult) -> str:
    # The numbers in the reason change from run to run, the kind of failure does not.
    return "no test ran" if result.counts is not None and result.counts.ran == 0 else "failed"


def _failure_row(number: int, failure: TestFailure, result: TestsResult) -> tuple[ReportFinding, Issue]:
    location = Location(path=failure.path, line=failure.line) if failure.path is not None else None
    evidence = f"{result.command}: {result.reason}\n\n{failure.text or result.tail}".rstrip()
    finding = ReportFinding(
        title=f"Failed: {failure.name}"[:_MAX_TITLE],
        severity=FAILURE_SEVERITY,
        description=failure.message or result.reason,
        sources=[TESTER],
        location=location,
    )
    issue = Issue.model_validate(
        {
            "id": f"tester-{number}",
            "class": "test-failure",
            "rootCause": failure.message or result.reason,
            "mechanism": _mechanism("failed", failure.name),
            "symbol": failure.name,
            "symptom": failure.message or None,
            "signature": failure.signature,
            "evidence": evidence,
        }
    )
    return finding, issue


def _shrunk_row(number: int, words: str, threshold: int) -> tuple[ReportFinding, Issue]:
    kind = "more-skipped-tests" if "skipped" in words else "fewer-tests"
    finding = ReportFinding(
        title="Less is tested than at the base",
        severity=max(1, threshold - 1),
        description=f"{words[:1].upper()}{words[1:]}.",
        sources=[COACH],
    )
    issue = Issue.model_validate(
        {
            "id": f"coach-tests-{number}",
            "class": "correctness",
            "rootCause": words,
            "mechanism": kind,
            "signature": kind,
            "evidence": words,
        }
    )
    return finding, issue


def _mechanism(kind: str, name: str) -> str:
    # Two tests of one file are two defects: the slug alone could make one of long or exotic names.
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return "-".join(part for part in (kind, slug(name), digest) if part)
