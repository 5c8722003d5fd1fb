"""Reading what runners print for people (spec page 5)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.verify.summaries import parse_summaries
from touchline.verify.testrun import TestCounts

ROOT = "/srv/work"

PYTEST = """\
_____ test_bad _____
FAILED tests/test_x.py::test_bad - AssertionError: at <object object at 0x7f1f85...
FAILED tests/test_x.py::test_p[a b] - assert 1 == 2
ERROR tests/test_x.py::test_err - RuntimeError: no
=========== 2 failed, 3 passed, 1 skipped, 1 xfailed, 2 warnings, 1 error in 61.02s (0:01:01) ===========
"""
UNITTEST = """\
F.
======================================================================
FAIL: test_m (tests.test_x.T.test_m)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/srv/work/tests/test_x.py", line 10, in test_m
    self.assertEqual(1, 2)
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 5 tests in 0.000s

FAILED (failures=1, skipped=2, expected failures=1)
"""
CARGO = """\
running 3 tests
test tests::ign ... ignored
test tests::ok ... ok
test tests::bad ... FAILED
test tests::old ... FAILED

failures:

---- tests::bad stdout ----

thread 'tests::bad' (16580) panicked at src/lib.rs:8:33:
assertion `left == right` failed
  left: 1
stack backtrace:
   0: __rustc::rust_begin_unwind

---- tests::old stdout ----
thread 'tests::old' panicked at 'boom, really', src/old.rs:4:5

failures:
    tests::bad

test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.11s
   Doc-tests x
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
"""
JEST = """\
FAIL src/a.test.js
  ● sums › adds

    expect(received).toBe(expected) // Object.is equality

      at Object.toBe (node_modules/x/index.js:1:1)
      at Object.<anonymous> (src/a.test.js:5:10)

Summary of all failing tests
  ● sums › adds

    expect(received).toBe(expected) // Object.is equality

Test Suites: 1 failed, 1 total
Tests:       1 failed, 1 skipped, 1 todo, 4 passed, 7 total
Snapshots:   0 total
"""
VITEST = """\
 FAIL  src/a.test.ts > sums > adds
AssertionError: expected 1 to be 2
 ❯ src/a.test.ts:5:10

 Test Files  1 failed | 1 passed (2)
      Tests  1 failed | 2 passed | 1 skipped (4)
   Start at  12:00:00
"""
MOCHA = """\
  sums
    ✔ subtracts
    1) adds

  1 passing (5ms)
  1 pending
  2 failing

  1) sums
       adds:

      AssertionError [ERR_ASSERTION]: 1 == 2
      at Context.<anonymous> (test/a.js:5:10)

  2) sums multiplies:

      TypeError: no
"""


@pytest.mark.parametrize(
    ("text", "counts", "failures"),
    [
        (
            PYTEST,
            TestCounts(3, 3, 2),
            [
                ("tests/test_x.py::test_bad", "tests/test_x.py", None),
                ("tests/test_x.py::test_p[a b]", "tests/test_x.py", None),
                ("tests/test_x.py::test_err", "tests/test_x.py", None),
            ],
        ),
        ("2 passed in 0.01s\n", TestCounts(2, 0, 0), []),
        ("no tests ran in 0.01s\n", TestCounts(), []),
        ("===== no tests ran in 0.01s =====\n", TestCounts(), []),
        (UNITTEST, TestCounts(1, 1, 3), [("test_m (tests.test_x.T.test_m)", "tests/test_x.py", 10)]),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", TestCounts(), []),
        ("Ran 2 tests in 0.000s\n\nOK\n", TestCounts(2, 0, 0), []),
        (CARGO, TestCounts(3, 2, 1), [("tests::bad", "src/lib.rs", 8), ("tests::old", "src/old.rs", 4)]),
        (JEST, TestCounts(4, 1, 2), [("sums › adds", "src/a.test.js", 5)]),
        (VITEST, TestCounts(2, 1, 1), [("src/a.test.ts > sums > adds", "src/a.test.ts", 5)]),
        (MOCHA, TestCounts(1, 2, 1), [("sums adds", "test/a.js", 5), ("sums multiplies", None, None)]),
        ("--- FAIL: TestA (0.00s)\n    a_test.go:3: no\nFAIL\n", None, [("TestA", None, None)]),
        ("all good, 12 passed the exam\n", None, []),
        ("", None, []),
    ],
)
def test_each_runner_s_closing_lines_are_known(
    text: str, counts: TestCounts | None, failures: list[tuple[str, str | None, int | None]]
) -> None:
    parsed = parse_summaries(text, root=ROOT)
    assert parsed.counts == counts
    assert [(failure.name, failure.path, failure.line) for failure in parsed.failures] == failures


def test_messages_are_those_of_the_failure() -> None:
    assert [failure.message for failure in parse_summaries(CARGO, root=ROOT).failures] == [
        "assertion `left == right` failed",
        "boom, really",
    ]
    assert parse_summaries(UNITTEST, root=ROOT).failures[0].message == "AssertionError: 1 != 2"
    assert parse_summaries(VITEST, root=ROOT).failures[0].message == "AssertionError: expected 1 to be 2"


def test_colours_and_carriage_returns_do_not_hide_a_summary() -> None:
    text = "\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\x1b[31m in 0.05s\x1b[0m\r\n"
    assert parse_summaries(text, root=ROOT).counts == TestCounts(2, 1, 0)


def test_several_runners_and_several_runs_are_added_up() -> None:
    assert parse_summaries(PYTEST + CARGO + JEST, root=ROOT).counts == TestCounts(10, 6, 5)
    assert parse_summaries("2 passed in 0.01s\n3 passed in 0.02s\n", root=ROOT).counts == TestCounts(5, 0, 0)


def test_a_run_that_was_cut_off_has_no_count() -> None:
    for text in (PYTEST, UNITTEST, JEST, VITEST):
        lines = text.split("\n")
        cut = "\n".join(line for line in lines if not line.lstrip("= ").startswith(("2 failed", "Ran 5", "Tests")))
        assert parse_summaries(cut, root=ROOT).counts is None


@given(
    st.text()
    | st.lists(st.sampled_from((PYTEST + UNITTEST + CARGO + JEST + VITEST + MOCHA).split("\n"))).map("\n".join)
)
def test_no_text_breaks_the_readers(text: str) -> None:
    parsed = parse_summaries(text, root=ROOT)
    assert parsed.counts is None or parsed.counts.total >= 0


@pytest.mark.parametrize(
    "line",
    [
        "1 a " * 240,
        " Tests  " + "1 a | " * 150,
        "thread ' panicked at ' " * 40,
        "ok 1 " + "# " * 400,
        "  ● " + "x › " * 200,
        "at (" * 200,
        "Tests: " + "1 a, " * 190,
        "FAILED a.py::" + " - " * 300,
        "FAIL: a (" + ")" * 900,
        " " * 990,
    ],
)
def test_no_line_makes_the_readers_slow(line: str) -> None:
    began = time.process_time()
    parse_summaries(f"TAP version 13\n{line}\n" * 3000, root=ROOT)
    assert time.process_time() - began < 5
