"""A test run as rows of the verification report (spec pages 4 and 5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.verify.signature import make_failure
from touchline.verify.tester_rows import skill_result, to_issues
from touchline.verify.testrun import TestCommand, TestCounts, TestFailure, TestsResult, TestsStatus


def result(
    status: TestsStatus,
    *failures: TestFailure,
    counts: TestCounts | None = None,
    shrunk: tuple[str, ...] = (),
    reason: str = "why",
) -> TestsResult:
    return TestsResult(
        status=status,
        reason=reason,
        command=TestCommand(("pytest", "-q"), "configured"),
        counts=counts,
        failures=failures,
        shrunk=shrunk,
        tail="the tail",
        returncode=1,
        duration_s=1.0,
        output_path=Path("output/tests-1.log"),
    )


def failure(name: str, path: str | None = "tests/test_a.py") -> TestFailure:
    return make_failure(name, "AssertionError: 1 != 2\nmore", root="/srv", path=path, line=3, text="whole text")


def test_each_failed_test_is_a_finding_of_severity_nine() -> None:
    rows = to_issues(result("FAILED", failure("test_a"), failure("test_b", None)), threshold=5)
    assert [issue.id for _, issue in rows] == ["tester-1", "tester-2"]
    finding, issue = rows[0]
    assert (finding.severity, finding.sources) == (9, ["tester"])
    assert finding.location is not None
    assert (finding.location.path, finding.location.line) == ("tests/test_a.py", 3)
    assert issue.class_ == "test-failure"
    assert issue.signature == "test_a: AssertionError: <n> != <n>"
    assert issue.symbol == "test_a"
    assert issue.evidence is not None
    assert "whole text" in issue.evidence
    assert rows[1][0].location is None


def test_two_tests_of_one_file_never_share_a_mechanism() -> None:
    names = ["test_a[1]", "test_a(1)", "prüfung", "试验", "t" * 90, "t" * 91]
    rows = to_issues(result("FAILED", *(failure(name) for name in names)), threshold=5)
    assert len({issue.mechanism for _, issue in rows}) == len(names)
    again = to_issues(result("FAILED", *(failure(name) for name in names)), threshold=5)
    assert [issue.mechanism for _, issue in rows] == [issue.mechanism for _, issue in again]


def test_a_failed_run_that_names_no_test_is_one_finding_with_a_stable_signature() -> None:
    ((finding, issue),) = to_issues(result("FAILED", reason="exit status 2"), threshold=5)
    assert finding.severity == 9
    assert finding.location is None
    assert issue.signature == "test command pytest -q: failed"
    assert issue.evidence is not None
    assert "the tail" in issue.evidence
    ((_, nothing),) = to_issues(result("FAILED", counts=TestCounts(skipped=3), reason="no test ran"), threshold=5)
    assert nothing.signature == "test command pytest -q: no test ran"


@pytest.mark.parametrize(("threshold", "severity"), [(5, 4), (1, 1), (10, 9)])
def test_less_testing_is_the_coach_s_finding_just_below_the_threshold(threshold: int, severity: int) -> None:
    shrunk = ("there are 5 tests; there were 7 at the base", "2 tests are skipped; there were 1 at the base")
    rows = to_issues(result("PASSED", counts=TestCounts(3, 0, 2), shrunk=shrunk), threshold=threshold)
    assert [finding.severity for finding, _ in rows] == [severity, severity]
    assert [finding.sources for finding, _ in rows] == [["coach"], ["coach"]]
    assert [issue.mechanism for _, issue in rows] == ["fewer-tests", "more-skipped-tests"]
    assert all(issue.class_ != "coverage" for _, issue in rows)


def test_a_passed_or_blocked_run_has_no_failure_rows_and_its_status_stands_in_the_tester_row() -> None:
    for status in ("PASSED", "BLOCKED"):
        outcome = result(status)  # type: ignore[arg-type]
        assert to_issues(outcome, threshold=5) == []
        row = skill_result(outcome)
        assert (row.skill, row.status, row.notes) == ("tester", status, "pytest -q: why")
