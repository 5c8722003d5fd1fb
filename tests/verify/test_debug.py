from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from touchline.documents.ledger import Finding
from touchline.verify.debug import THE_PLAN, diagnose, named_by_plan
from touchline.verify.folding import number
from touchline.verify.tester import RanTests, excused, from_result, rechecks
from touchline.verify.testrun import TestCommand, TestCounts, TestFailure, TestsResult

COMMAND = TestCommand(("pytest", "-q"), "configured")
BASE = "b" * 40
TREE = Path("/home/me/project")


def failure(name: str, text: str = "assert False") -> TestFailure:
    return TestFailure(name, "AssertionError", f"sig {name}", path="tests/test_a.py", line=3, text=text)


def result(*failures: TestFailure, counts: TestCounts | None = None, status: str = "") -> TestsResult:
    return TestsResult(
        status=status or ("FAILED" if failures else "PASSED"),  # type: ignore[arg-type]
        reason="reason",
        command=COMMAND,
        counts=counts or TestCounts(passed=5, failed=len(failures)),
        failures=failures,
        shrunk=(),
        tail="tail",
        returncode=1 if failures else 0,
        duration_s=1.0,
        output_path=Path("out.log"),
    )


def verdicts(now: TestsResult, base: TestsResult | None, changed: Sequence[str] = ()) -> list[tuple[str, list[str]]]:
    tests = from_result(now, threshold=5, notes=())
    found = diagnose(number(tests.reported), now, base, base_commit=BASE, changed=changed, threshold=5, work_tree=TREE)
    return [(one.pre_existing, one.touched_by_diff) for one in found]


def test_a_failure_that_is_there_at_the_base_existed_before() -> None:
    now, base = result(failure("a"), failure("b")), result(failure("a", "the text at the base"))
    found = diagnose(
        number(from_result(now, threshold=5, notes=()).reported),
        now,
        base,
        base_commit=BASE,
        changed=(),
        threshold=5,
        work_tree=TREE,
    )
    assert [(one.issue_id, one.pre_existing, one.reproduced_at) for one in found] == [
        ("VI-1", "yes", BASE),
        ("VI-2", "no", ""),
    ]
    assert found[0].output_excerpt == "the text at the base"
    assert found[0].command == "pytest -q"


def test_without_a_run_at_the_base_nothing_is_proved() -> None:
    assert verdicts(result(failure("a")), None) == [("unknown", [])]
    cut_short = result(failure("x"), counts=TestCounts(passed=1, failed=9))
    assert verdicts(result(failure("a")), cut_short) == [("unknown", [])]
    assert verdicts(result(failure("a")), result(status="BLOCKED")) == [("unknown", [])]


def test_a_failure_at_the_base_in_which_present_code_took_part_proves_nothing() -> None:
    base = result(failure("a", "File /home/me/project/src/b.py, line 3"))
    assert verdicts(result(failure("a")), base) == [("unknown", [])]


def test_a_command_that_fails_as_a_whole_proves_nothing() -> None:
    whole = result(status="FAILED", counts=TestCounts())
    assert verdicts(whole, whole) == [("unknown", [])]


@pytest.mark.parametrize(
    ("changed", "text"),
    [("tests/test_a.py", "x"), ("src/b.py", "File /tmp/x/src/b.py, line 3"), ("src/b.py", "src/b.py:3: error")],
)
def test_a_failure_that_mentions_the_change_is_touched_by_it(changed: str, text: str) -> None:
    now = result(failure("a", text))
    assert verdicts(now, now, [changed, "docs/c.md"]) == [("yes", [changed])]


def test_a_failure_below_the_threshold_is_not_diagnosed() -> None:
    now = result(failure("a"))
    tests = from_result(now, threshold=10, notes=())
    assert diagnose(number(tests.reported), now, now, base_commit=BASE, changed=(), threshold=10, work_tree=TREE) == []


def row_of(now: TestsResult, base: TestsResult | None, changed: Sequence[str] = ()) -> RanTests:
    tests = from_result(now, threshold=5, notes=())
    reported = number(tests.reported)
    found = diagnose(reported, now, base, base_commit=BASE, changed=changed, threshold=5, work_tree=TREE)
    return excused(tests, found, reported)


def test_tests_pass_when_every_failure_is_proved_to_be_older() -> None:
    tests = row_of(result(failure("a")), result(failure("a"), failure("b")))
    assert tests.row.status == "PASSED"
    assert tests.row.notes.startswith("every failed test failed at the base too")


def test_tests_fail_when_one_failure_is_new_touched_or_unnamed() -> None:
    base = result(failure("a"))
    assert row_of(result(failure("a"), failure("b")), base).row.status == "FAILED"
    assert row_of(result(failure("a")), base, ["tests/test_a.py"]).row.status == "FAILED"
    assert row_of(result(failure("a"), counts=TestCounts(failed=2)), base).row.status == "FAILED"
    assert row_of(result(status="FAILED"), base).row.status == "FAILED"


def finding(name: str, **values: object) -> Finding:
    fields: dict[str, object] = {
        "id": f"F-{name}",
        "key": "k",
        "title": name,
        "rootCause": "r",
        "mechanism": "m",
        "symbol": name,
        "signature": f"sig {name}",
        "class": "test-failure",
        "severity": 9,
        "sources": ["tester"],
        "firstSeen": 1,
        "lastSeen": 1,
        "disposition": "open",
        "dispositionSetAt": 1,
    }
    return Finding.model_validate(fields | values)


def test_the_tests_themselves_recheck_earlier_test_failures() -> None:
    known = [finding("a"), finding("b"), finding("c", disposition="fixed"), finding("d", sources=["reviewer"])]
    found = rechecks(result(failure("a")), known)
    assert [(one.ledger_id, one.status) for one in found] == [("F-a", "still-open"), ("F-b", "fixed")]


def test_an_incomplete_run_of_the_tests_rechecks_nothing() -> None:
    known = [finding("a")]
    assert rechecks(None, known) == []
    assert rechecks(result(status="BLOCKED"), known) == []
    assert rechecks(result(failure("b"), counts=TestCounts(failed=7)), known) == []
    assert rechecks(result(status="PASSED", counts=TestCounts(skipped=4)), known) == []


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        ("Make the test in tests/test_calc.py pass.", True),
        ("The tests in `tests/` describe it.", True),
        ("See test_calc.py.", True),
        ("`test_add` must pass.", True),
        ("Write a parser; see other_tests/test_calc.pyx.", False),
        ("Add an option.", False),
        ("", False),
    ],
)
def test_a_test_that_the_plan_names_is_what_the_change_is_about(plan: str, named: bool) -> None:
    assert named_by_plan(plan, "tests/test_calc.py", "tests/test_calc.py::test_add") is named


def test_a_failure_that_the_plan_names_is_never_excused_as_older() -> None:
    now = result(failure("tests/test_a.py::test_add"))
    tests = from_result(now, threshold=5, notes=())
    (found,) = diagnose(
        number(tests.reported),
        now,
        now,
        base_commit=BASE,
        changed=(),
        threshold=5,
        work_tree=TREE,
        plan="Make tests/test_a.py pass.",
    )
    assert (found.pre_existing, found.touched_by_diff) == ("yes", [THE_PLAN])
