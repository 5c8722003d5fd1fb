"""Reading the summaries that test runners print for people (spec page 5, "Verification"). Pure, best effort.

Each runner has a small reader of its own, which knows that runner's closing lines and nothing else; several of
them may find something in one output (a Makefile that tests two languages) and are then added up. A number is
only taken from a line that gives the runner's own total.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from touchline.verify.signature import clean_text, make_failure
from touchline.verify.tap import parse_tap
from touchline.verify.testrun import MAX_FAILURES, ParsedTests, TestCounts, TestFailure

_MAX_LINE = 1000

_PYTEST_TOTAL = re.compile(
    r"^=*\s?(?P<parts>(?:\d+ [a-z]+(?:, )?)+) in \d+(?:\.\d+)?s(?: \([\d:]+\))?\s?=*$|^=*\s?no tests ran in \S+\s?=*$"
)
_PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<name>(?P<path>[^\s:]+\.py)(?:::.*?)?)(?: - (?P<message>.*))?$")
_UNITTEST_TOTAL = re.compile(r"^Ran (\d{1,9}) tests? in [\d.]+s$")
_UNITTEST_END = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$")
_UNITTEST_FAILED = re.compile(r"^(?:FAIL|ERROR): (\S+ \(.+\)|\S+)(?: .*)?$")
_UNITTEST_PLACE = re.compile(r'^  File "([^"]+)", line (\d{1,9})')
_CARGO_TOTAL = re.compile(
    r"^test result: (?:ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored; \d+ measured; "
)
_CARGO_FAILED = re.compile(r"^test (.+?) \.\.\. FAILED$")
_CARGO_HEAD = re.compile(r"^---- (.+?) stdout ----$")
_JEST_TOTAL = re.compile(r"^Tests: +(?P<parts>(?:\d+ \w+, )*\d+ total)$")
_JEST_FAILED = re.compile(r"^  ● (.+)$")
_VITEST_TOTAL = re.compile(r"^ +Tests +(?P<parts>[^()]{1,200}?) {1,3}\((\d{1,9})\)$")
_VITEST_FAILED = re.compile(r"^ FAIL +(?P<name>(?:\|[^|]*\| )?(?P<path>\S+) > .+)$")
_MOCHA_PASSING = re.compile(r"^ +(\d{1,9}) passing \(.*\)$")
_MOCHA_OTHER = re.compile(r"^ +(\d{1,9}) (pending|failing)$")
_MOCHA_FAILED = re.compile(r"^ +\d{1,9}\) (.+)$")
_STACK_PLACE = re.compile(r"(?:\(|❯ |at )(?:file://)?([^\s()]+?\.[cm]?[jt]sx?):(\d{1,9}):\d+\)?")
_GO_FAILED = re.compile(r"^ *--- FAIL: (\S+) \([\d.]+s\)$")
_GO_PLACE = re.compile(r"^ +([\w./+-]+\.go):(\d{1,9}): (.*)$")
_PART = re.compile(r"(\d{1,9}) ([a-z]+)")

_PASSED_WORDS = frozenset({"passed", "xpassed"})
_FAILED_WORDS = frozenset({"failed", "error", "errors", "failures", "unexpected"})
_SKIPPED_WORDS = frozenset({"skipped", "xfailed", "todo", "pending", "ignored", "expected"})

Reader = Callable[[Sequence[str], str], ParsedTests]


def parse_summaries(text: str, *, root: str) -> ParsedTests:
    """Whatever the readers know in `text`: counts of all runners added up, failures without doubles."""
    lines = [line.rstrip() for line in clean_text(text).split("\n") if len(line) <= _MAX_LINE]
    counts: TestCounts | None = None
    failures: dict[str, TestFailure] = {}
    for reader in _READERS:
        found = reader(lines, root)
        if found.counts is not None:
            counts = found.counts + (counts or TestCounts())
        for failure in found.failures:
            failures.setdefault(failure.name, failure)
    return ParsedTests(counts=counts, failures=tuple(failures.values())[:MAX_FAILURES])


def _pytest(lines: Sequence[str], root: str) -> ParsedTests:
    counts: TestCounts | None = None
    failures: list[TestFailure] = []
    for line in lines:
        if found := _PYTEST_TOTAL.match(line):
            counts = _parts(found["parts"] or "") + (counts or TestCounts())
        elif len(failures) < MAX_FAILURES and (found := _PYTEST_FAILED.match(line)):
            failures.append(make_failure(found["name"], found["message"] or "failed", root=root, path=found["path"]))
    return ParsedTests(counts, tuple(failures) if counts is not None else ())


def _unittest(lines: Sequence[str], root: str) -> ParsedTests:
    counts: TestCounts | None = None
    ran: int | None = None
    failures: list[TestFailure] = []
    for place, line in enumerate(lines):
        if total := _UNITTEST_TOTAL.match(line):
            ran = int(total[1])
        elif ran is not None and (end := _UNITTEST_END.match(line)):
            other = _parts(
                re.sub(r"([a-z]+(?: [a-z]+)?)=(\d+)", r"\2 \1", end[1] or "").replace("expected failures", "expected")
            )
            passed = max(0, ran - other.failed - other.skipped)
            counts = TestCounts(passed, other.failed, other.skipped) + (counts or TestCounts())
            ran = None
        elif len(failures) < MAX_FAILURES and (failed := _UNITTEST_FAILED.match(line)):
            failures.append(_unittest_failure(failed[1], lines[place + 1 : place + 200], root))
    return ParsedTests(counts, tuple(failures) if counts is not None else ())


def _unittest_failure(name: str, following: Sequence[str], root: str) -> TestFailure:
    block: list[str] = []
    rules = 0
    for line in following:
        if line.startswith(("======", "------")):
            rules += 1
            if rules == 2:
                break
        else:
            block.append(line)
    places = [(found[1], int(found[2])) for line in block if (found := _UNITTEST_PLACE.match(line))]
    path, number = places[-1] if places else (None, None)
    said = [line for line in block if line and not line.startswith((" ", "Traceback"))]
    return make_failure(name, said[0] if said else "failed", root=root, path=path, line=number, text="\n".join(block))


def _cargo(lines: Sequence[str], root: str) -> ParsedTests:
    counts: TestCounts | None = None
    names: dict[str, None] = {}
    details: dict[str, TestFailure] = {}
    for place, line in enumerate(lines):
        if total := _CARGO_TOTAL.match(line):
            counts = TestCounts(int(total[1]), int(total[2]), int(total[3])) + (counts or TestCounts())
        elif failed := _CARGO_FAILED.match(line):
            names[failed[1]] = None
        elif len(details) < MAX_FAILURES and (head := _CARGO_HEAD.match(line)):
            details[head[1]] = _cargo_failure(head[1], lines[place + 1 : place + 200], root)
    known = [details.get(name) or make_failure(name, "failed", root=root) for name in names]
    return ParsedTests(counts, tuple(known))


def _cargo_failure(name: str, following: Sequence[str], root: str) -> TestFailure:
    block: list[str] = []
    for line in following:
        if _CARGO_HEAD.match(line) or line == "failures:":
            break
        block.append(line)
    for place, line in enumerate(block):
        if line.startswith("thread '") and " panicked at " in line:
            said, path, number = _panic(line.partition(" panicked at ")[2])
            said = said or next((row for row in block[place + 1 :] if row), "panicked")
            return make_failure(name, said, root=root, path=path, line=number, text="\n".join(block))
    said = next((line for line in block if line), "failed")
    return make_failure(name, said, root=root, text="\n".join(block))


def _panic(rest: str) -> tuple[str, str | None, int | None]:
    # Older compilers: 'message', src/lib.rs:8:33. Newer ones: src/lib.rs:8:33: and the message on the next line.
    head, *numbers = rest.removesuffix(":").rsplit(":", 2)
    message, _, path = head.rpartition("', ")
    if len(numbers) != 2 or not re.fullmatch(r"[0-9]{1,9}", numbers[0]):
        return rest, None, None
    return message.removeprefix("'"), path, int(numbers[0])


def _jest(lines: Sequence[str], root: str) -> ParsedTests:
    counts: TestCounts | None = None
    failures: list[TestFailure] = []
    for place, line in enumerate(lines):
        if found := _JEST_TOTAL.match(line):
            counts = _parts(found["parts"]) + (counts or TestCounts())
        elif len(failures) < MAX_FAILURES and (found := _JEST_FAILED.match(line)):
            failures.append(_script_failure(found[1], lines[place + 1 : place + 60], root))
    return ParsedTests(counts, tuple(failures) if counts is not None else ())


def _vitest(lines: Sequence[str], root: str) -> ParsedTests:
    counts: TestCounts | None = None
    failures: list[TestFailure] = []
    for place, line in enumerate(lines):
        if found := _VITEST_TOTAL.match(line):
            counts = _parts(found["parts"]) + (counts or TestCounts())
        elif len(failures) < MAX_FAILURES and (found := _VITEST_FAILED.match(line)):
            failures.append(_script_failure(found["name"], lines[place + 1 : place + 60], root, path=found["path"]))
    return ParsedTests(counts, tuple(failures) if counts is not None else ())


def _mocha(lines: Sequence[str], root: str) -> ParsedTests:
    counts: TestCounts | None = None
    listing = False
    failures: list[TestFailure] = []
    for place, line in enumerate(lines):
        if passing := _MOCHA_PASSING.match(line):
            counts = TestCounts(passed=int(passing[1])) + (counts or TestCounts())
        elif counts is not None and (other := _MOCHA_OTHER.match(line)):
            number = int(other[1])
            counts += TestCounts(skipped=number) if other[2] == "pending" else TestCounts(failed=number)
            listing = listing or other[2] == "failing"
        elif listing and len(failures) < MAX_FAILURES and (failed := _MOCHA_FAILED.match(line)):
            failures.append(_mocha_failure(failed[1], lines[place + 1 : place + 60], root))
    return ParsedTests(counts, tuple(failures))


def _mocha_failure(first: str, following: Sequence[str], root: str) -> TestFailure:
    end = next((place for place, line in enumerate(following) if not line), len(following))
    name = " ".join([first, *(line.strip() for line in following[:end])]).removesuffix(":")
    stop = next((place for place, line in enumerate(following) if _MOCHA_FAILED.match(line)), len(following))
    return _script_failure(name, following[end:stop], root)


def _go(lines: Sequence[str], root: str) -> ParsedTests:
    # Plain `go test` tells no number of tests: its failures are known, the count stays unknown.
    failures: list[TestFailure] = []
    for place, line in enumerate(lines):
        if len(failures) < MAX_FAILURES and (failed := _GO_FAILED.match(line)):
            said = next((found[3] for row in lines[place + 1 : place + 20] if (found := _GO_PLACE.match(row))), "")
            failures.append(make_failure(failed[1], said or "failed", root=root))
    return ParsedTests(None, tuple(failures))


def _tap(lines: Sequence[str], root: str) -> ParsedTests:
    return parse_tap(lines, root=root) or ParsedTests()


def _script_failure(name: str, following: Sequence[str], root: str, path: str | None = None) -> TestFailure:
    said = next((line for line in following if line.strip()), "failed")
    places = [(found[1], int(found[2])) for line in following if (found := _STACK_PLACE.search(line))]
    own = [place for place in places if "node_modules/" not in place[0] and path in (None, place[0])]
    where, number = own[0] if own else (path, None)
    return make_failure(name, said, root=root, path=where, line=number, text="\n".join(following))


def _parts(text: str) -> TestCounts:
    counts = TestCounts()
    for number, word in _PART.findall(text):
        if word in _PASSED_WORDS:
            counts += TestCounts(passed=int(number))
        elif word in _FAILED_WORDS:
            counts += TestCounts(failed=int(number))
        elif word in _SKIPPED_WORDS:
            counts += TestCounts(skipped=int(number))
    return counts


_READERS: tuple[Reader, ...] = (_pytest, _unittest, _cargo, _jest, _vitest, _mocha, _go, _tap)
