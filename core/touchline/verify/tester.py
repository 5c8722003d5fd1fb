"""The tester's part of a verification: its row, its findings, and what it rechecks by itself (spec page 5). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from touchline.documents.ledger import Finding
from touchline.documents.report import Diagnosis, Recheck, SkillResult
from touchline.gates.reading import Reported
from touchline.verify.tester_rows import TESTER, skill_result, to_issues
from touchline.verify.testrun import MAX_FAILURES, TestsResult


@dataclass(frozen=True, slots=True)
class RanTests:
    """What the test command showed; `result` is None where it was not run or its outcome was discarded."""

    row: SkillResult
    result: TestsResult | None = None
    reported: tuple[Reported, ...] = ()

    @property
    def line(self) -> str:
        """One line for the judges."""
        return "" if self.result is None else f"The test command gave {self.row.status}: {self.result.reason}."


def not_run(why: str) -> RanTests:
    """No tests were run, which is never a pass."""
    return RanTests(SkillResult(skill=TESTER, status="SKIPPED", notes=why))


def discarded(why: str) -> RanTests:
    """The tests ran and what they show cannot be used."""
    return RanTests(SkillResult(skill=TESTER, status="BLOCKED", notes=why))


def from_result(result: TestsResult, *, threshold: int, notes: Sequence[str]) -> RanTests:
    """The row and the findings of one run of the tests."""
    row = skill_result(result)
    said = [row.notes, *notes]
    if result.status != "PASSED" and result.tail:
        said.append(result.tail)
    reported = tuple(Reported(issue, finding) for finding, issue in to_issues(result, threshold=threshold))
    return RanTests(row.model_copy(update={"notes": "\n".join(said)}), result, reported)


def is_whole(result: TestsResult) -> bool:
    """Whether every test that failed is named, so that one which is not named did not fail."""
    if result.status == "BLOCKED" or result.counts is None or result.counts.ran == 0:
        return False
    return result.counts.failed == len(result.failures) < MAX_FAILURES


def excused(tests: RanTests, diagnoses: Iterable[Diagnosis], reported: Iterable[Reported]) -> RanTests:
    """The row as PASSED when every failed test is proved to have failed before the change, untouched by it.

    The failures stay findings, and the gates quarantine them by the same proof; without this the row alone would
    block a change for what it did not cause.
    """
    result = tests.result
    if result is None or tests.row.status != "FAILED" or not result.failures or not is_whole(result):
        return tests
    proved = {one.issue_id for one in diagnoses if one.pre_existing == "yes" and not one.touched_by_diff}
    signatures = {one.issue.signature for one in reported if one.issue.id in proved}
    if any(failure.signature not in signatures for failure in result.failures):
        return tests
    notes = f"every failed test failed at the base too, and the change touches none of them\n{tests.row.notes}"
    return replace(tests, row=tests.row.model_copy(update={"status": "PASSED", "notes": notes}))


def rechecks(result: TestsResult | None, known: Sequence[Finding]) -> list[Recheck]:
    """What a whole run of the tests says about the open test failures of earlier verification runs."""
    if result is None or not is_whole(result):
        return []
    failing = {failure.signature for failure in result.failures}
    names = {failure.name for failure in result.failures}
    found = []
    for finding in known:
        if finding.disposition != "open" or TESTER not in finding.sources or not finding.signature:
            continue
        there = finding.signature in failing or finding.symbol in names
        evidence = "the test command still shows it" if there else "the test command shows it no more"
        status = "still-open" if there else "fixed"
        found.append(Recheck.model_validate({"ledgerId": finding.id, "status": status, "evidence": evidence}))
    return found
