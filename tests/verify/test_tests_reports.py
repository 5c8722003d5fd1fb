"""Reading the reports that runners write for machines: JUnit XML, go events, TAP (spec page 5)."""

from __future__ import annotations

import json
import time
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.verify.go_events import parse_go
from touchline.verify.junit import parse_junit
from touchline.verify.tap import parse_tap
from touchline.verify.testrun import MAX_FAILURES, TestCounts

ROOT = "/srv/work"

CASE_XML = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="9" failures="9" tests="99">
<testcase classname="tests.test_a" name="test_ok" file="tests/test_a.py" line="3"/>
<testcase classname="tests.test_a" name="test_bad" file="tests/test_a.py" line="6"><failure
  message="AssertionError: at &lt;object object at 0x7f1f85e6e5f0&gt;&#10;assert 1 == 3">def test_bad():
&gt;       helper(3)

tests/test_a.py:9:
_ _ _ _
    assert 1 == 3
E       AssertionError

src/helper.py:77: AssertionError</failure></testcase>
<testcase classname="tests.test_a.T" name="test_skip"><skipped type="pytest.skip" message="later"/></testcase>
<testcase classname="tests.test_a" name="test_set" file="tests/test_a.py" line="20"><error
  message="failed on setup with &quot;RuntimeError: no&quot;">E   RuntimeError: no

tests/conftest.py:12: RuntimeError</error></testcase>
</testsuite></testsuites>"""


def test_a_junit_report_gives_counts_names_and_places() -> None:
    parsed = parse_junit(CASE_XML.encode(), root=ROOT)
    assert parsed is not None
    # Counted from the tests themselves, not from what the report claims.
    assert parsed.counts == TestCounts(passed=1, failed=2, skipped=1)
    bad, setup = parsed.failures
    assert bad.name == "tests.test_a::test_bad"
    assert (bad.path, bad.line) == ("tests/test_a.py", 9)
    assert bad.signature == "tests.test_a::test_bad: AssertionError: at <object object at <n>>"
    assert "src/helper.py:77" in bad.text
    assert setup.message == "RuntimeError: no"
    assert (setup.path, setup.line) == ("tests/test_a.py", 21)


def test_a_failure_of_the_clean_up_of_a_failed_test_is_one_failed_test() -> None:
    case = '<testcase classname="a" name="b">{}</testcase>'
    xml = "<testsuite>" + case.format('<failure message="x"/>') + case.format('<error message="y"/>') + "</testsuite>"
    parsed = parse_junit(xml.encode(), root=ROOT)
    assert parsed is not None
    assert parsed.counts == TestCounts(failed=1)
    assert [failure.message for failure in parsed.failures] == ["x"]


def test_a_collection_failure_says_what_was_wrong() -> None:
    xml = (
        '<testsuite><testcase classname="" name="test_imp"><error message="collection failure">Hint: x\n'
        "test_imp.py:1: in &lt;module&gt;\nE   ModuleNotFoundError: No module named 'nope'"
        "</error></testcase></testsuite>"
    )
    parsed = parse_junit(xml.encode(), root=ROOT)
    assert parsed is not None
    (failure,) = parsed.failures
    assert failure.message == "ModuleNotFoundError: No module named 'nope'"
    assert (failure.path, failure.line) == ("test_imp.py", 1)


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12))
    + '<!ENTITY x SYSTEM "file:///etc/passwd">]>'
)


@pytest.mark.parametrize(
    "xml",
    [
        BOMB + "<testsuite><testcase name='&m;'/></testsuite>",
        BOMB + "<testsuite><testcase name='x'><failure>&x;</failure></testcase></testsuite>",
        '<!DOCTYPE testsuite SYSTEM "http://example.invalid/x.dtd"><testsuite><testcase name="a"/></testsuite>',
        "<!DOCTYPE testsuite><testsuite><testcase name='a'/></testsuite>",
    ],
)
def test_a_report_with_a_document_type_is_refused(xml: str) -> None:
    began = time.process_time()
    assert parse_junit(xml.encode(), root=ROOT) is None
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain text",
        b"<html><testcase name='a'/></html>",
        CASE_XML.encode()[:-20],
        CASE_XML.encode()[:200],
        b"<testsuite><testcase name='a'/></testsuite><testsuite/>",
        b"\xff\xfe<\x00",
        b'<?xml version="1.0" encoding="no-such"?><testsuite/>',
        b"<testsuite>" + b"<a>" * 200_000,
    ],
)
def test_what_is_no_whole_report_says_nothing(data: bytes) -> None:
    assert parse_junit(data, root=ROOT) is None


def test_a_report_above_the_bound_is_not_read_and_a_large_one_is_bounded() -> None:
    assert parse_junit(b"<testsuite>" + b" " * (64 * 1024 * 1024), root=ROOT) is None
    text = "x" * 5000
    cases = "".join(f'<testcase name="t{i}"><failure message="m">{text}</failure></testcase>' for i in range(2000))
    parsed = parse_junit(f"<testsuite>{cases}</testsuite>".encode(), root=ROOT)
    assert parsed is not None
    assert parsed.counts == TestCounts(failed=2000)
    assert len(parsed.failures) == MAX_FAILURES


@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc"), max_codepoint=0xFFFD)))
def test_any_name_comes_through_as_one_failure(name: str) -> None:
    xml = f"<testsuite><testcase classname='c' name={quoteattr(name)}><failure/></testcase></testsuite>"
    parsed = parse_junit(xml.encode(), root=ROOT)
    assert parsed is not None
    assert parsed.counts == TestCounts(failed=1)
    assert len(parsed.failures) == 1


@given(st.binary(max_size=200))
def test_no_bytes_break_the_junit_reader(data: bytes) -> None:
    for content in (data, b"<testsuite>" + data + b"</testsuite>"):
        parsed = parse_junit(content, root=ROOT)
        assert parsed is None or parsed.counts is not None


def go(*events: dict[str, object]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


PKG = "example.test/tool/pkg"


def test_go_events_are_counted_by_their_leaves_and_placed_in_their_package() -> None:
    stream = go(
        {"Action": "start", "Package": PKG},
        {"Action": "run", "Package": PKG, "Test": "TestA"},
        {"Action": "pass", "Package": PKG, "Test": "TestA", "Elapsed": 0.1},
        {"Action": "output", "Package": PKG, "Test": "TestB/x=1", "Output": "    b_test.go:12: got 3, want 4\n"},
        {"Action": "output", "Package": PKG, "Test": "TestB/x=1", "Output": "    --- FAIL: TestB/x=1 (0.00s)\n"},
        {"Action": "fail", "Package": PKG, "Test": "TestB/x=1", "Elapsed": 0},
        {"Action": "pass", "Package": PKG, "Test": "TestB/x=2", "Elapsed": 0},
        {"Action": "fail", "Package": PKG, "Test": "TestB", "Elapsed": 0},
        {"Action": "skip", "Package": PKG, "Test": "TestC", "Elapsed": 0},
        {"Action": "output", "Package": PKG, "Output": "FAIL\n"},
        {"Action": "fail", "Package": PKG, "Elapsed": 0.2},
    )
    parsed, plain = parse_go(stream, root=ROOT, module="example.test/tool")
    assert parsed.counts == TestCounts(passed=2, failed=1, skipped=1)
    (failure,) = parsed.failures
    assert failure.name == f"{PKG}.TestB/x=1"
    assert (failure.path, failure.line) == ("pkg/b_test.go", 12)
    assert failure.message == "got 3, want 4"
    assert plain.endswith("FAIL\n")
    assert "{" not in plain


def test_a_go_parent_that_fails_by_itself_counts() -> None:
    parsed, _ = parse_go(
        go(
            {"Action": "pass", "Package": PKG, "Test": "TestB/sub"},
            {"Action": "fail", "Package": PKG, "Test": "TestB"},
            {"Action": "fail", "Package": PKG},
        ),
        root=ROOT,
    )
    assert parsed.counts == TestCounts(passed=1, failed=1)
    assert [(failure.name, failure.path) for failure in parsed.failures] == [(f"{PKG}.TestB", None)]


def test_a_go_package_that_does_not_build_is_a_failure_without_a_test() -> None:
    parsed, plain = parse_go(
        "go: downloading nothing\n"
        + go(
            {"ImportPath": f"{PKG} [{PKG}.test]", "Action": "build-output", "Output": f"# {PKG} [{PKG}.test]\n"},
            {"ImportPath": f"{PKG} [{PKG}.test]", "Action": "build-output", "Output": "pkg/b.go:3:9: undefined: x\n"},
            {"ImportPath": f"{PKG} [{PKG}.test]", "Action": "build-fail"},
            {"Action": "fail", "Package": PKG, "Elapsed": 0, "FailedBuild": f"{PKG} [{PKG}.test]"},
        ),
        root=ROOT,
        module="example.test/tool",
    )
    assert parsed.counts == TestCounts()
    (failure,) = parsed.failures
    assert (failure.path, failure.line, failure.message) == ("pkg/b.go", 3, "undefined: x")
    assert plain.startswith("go: downloading nothing\n")


def test_go_without_test_files_ran_nothing_and_no_event_at_all_is_no_count() -> None:
    stream = go(
        {"Action": "output", "Package": PKG, "Output": f"?   \t{PKG}\t[no test files]\n"},
        {"Action": "skip", "Package": PKG},
    )
    assert parse_go(stream, root=ROOT)[0].counts == TestCounts()
    parsed, plain = parse_go("no required module\n", root=ROOT)
    assert parsed.counts is None
    assert plain == "no required module\n"


@given(st.lists(st.sampled_from(['{"Action": "fail"}', '{"Action": 1}', "[", '{"Action": "pass", "Test": []}', "x"])))
def test_no_line_breaks_the_go_reader(lines: list[str]) -> None:
    parsed, _ = parse_go("\n".join(lines), root=ROOT)
    assert parsed.counts is None or parsed.counts.total >= 0


NODE_TAP = """TAP version 13
# Subtest: ok
ok 1 - ok
  ---
  duration_ms: 1.189992
  ...
# Subtest: outer
    # Subtest: inner bad
    not ok 1 - inner bad
      ---
      duration_ms: 1.771396
      location: '/srv/work/a.test.js:3:34'
      failureType: 'testCodeFailure'
      error: |-
        Expected values to be strictly equal:

        1 !== 2

      code: 'ERR_ASSERTION'
      stack: |-
        TestContext.<anonymous> (/srv/work/a.test.js:3:63)
      ...
    1..1
not ok 2 - outer
  ---
  location: '/srv/work/a.test.js:3:1'
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
ok 3 - skipme # SKIP
not ok 4 - todo # TODO later
1..4
# tests 5
# suites 0
# pass 1
# fail 2
# cancelled 0
# skipped 1
# todo 1
# duration_ms 142.8
"""


def test_node_s_tap_gives_its_totals_and_the_inner_failure() -> None:
    parsed = parse_tap(NODE_TAP.split("\n"), root=ROOT)
    assert parsed is not None
    assert parsed.counts == TestCounts(passed=1, failed=2, skipped=2)
    (failure,) = parsed.failures
    assert failure.name == "inner bad"
    assert (failure.path, failure.line) == ("a.test.js", 3)
    assert failure.message == "Expected values to be strictly equal:"


def test_node_s_text_for_people_has_the_same_totals() -> None:
    parsed = parse_tap(["ℹ tests 3", "ℹ suites 0", "ℹ pass 2", "ℹ fail 1", "ℹ cancelled 0"], root=ROOT)
    assert parsed is not None
    assert parsed.counts == TestCounts(passed=2, failed=1)


def test_plain_tap_counts_only_if_its_plan_is_kept() -> None:
    whole = ["TAP version 14", "1..3", "ok 1 - a", "not ok 2 - b", "ok 3 # skip no", "    ok 1 - inner"]
    parsed = parse_tap(whole, root=ROOT)
    assert parsed is not None
    assert parsed.counts == TestCounts(passed=1, failed=1, skipped=1)
    cut = parse_tap(whole[:-2], root=ROOT)
    assert cut is not None
    assert cut.counts is None
    assert [failure.name for failure in cut.failures] == ["b"]
    assert parse_tap(["ok then", "all fine"], root=ROOT) is None
