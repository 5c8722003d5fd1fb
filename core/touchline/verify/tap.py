"""Reading TAP, as `node --test` and others print it (spec page 5, "Verification"). Pure.

Node's own totals are taken where they stand; a plain TAP stream is counted by its top-level lines and only if its
plan is kept. A todo that fails is no failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from touchline.verify.signature import make_failure
from touchline.verify.testrun import MAX_FAILURES, ParsedTests, TestCounts, TestFailure

_RESULT = re.compile(r"^(?P<indent> *)(?P<not>not )?ok\b *(?P<number>\d{1,9})? *(?:- )?(?P<name>.*)$")
_DIRECTIVE = re.compile(r"# {0,3}(?:SKIP|TODO)\b", re.IGNORECASE)
_PLAN = re.compile(r"^1\.\.(\d{1,9})(?: .*)?$")
_TOTAL = re.compile(r"^(?:#|ℹ) (tests|suites|pass|fail|cancelled|skipped|todo) (\d{1,9})$")
_LOCATION = re.compile(r"^\s*location: ['\"]?(.*?):(\d{1,9})(?::\d+)?['\"]?$")
_FAILURE_TYPE = re.compile(r"^\s*failureType: ['\"]?(\w+)['\"]?$")
_ERROR = re.compile(r"^\s*error: (.*)$")


def parse_tap(lines: Sequence[str], *, root: str) -> ParsedTests | None:
    """The tests of a TAP stream among `lines`; None if there is none."""
    if not any(line.startswith("TAP version") for line in lines):
        counts = _node_totals(lines)
        return None if counts is None else ParsedTests(counts=counts)
    return ParsedTests(counts=_node_totals(lines) or _plain_counts(lines), failures=_failures(lines, root))


def _node_totals(lines: Sequence[str]) -> TestCounts | None:
    totals: dict[str, int] = {}
    for line in lines:
        if found := _TOTAL.match(line):
            totals[found[1]] = totals.get(found[1], 0) + int(found[2])
    if not {"tests", "pass", "fail"} <= totals.keys():
        return None
    return TestCounts(
        passed=totals["pass"],
        failed=totals["fail"] + totals.get("cancelled", 0),
        skipped=totals.get("skipped", 0) + totals.get("todo", 0),
    )


def _plain_counts(lines: Sequence[str]) -> TestCounts | None:
    counts, planned = TestCounts(), 0
    for line in lines:
        if plan := _PLAN.match(line):
            planned += int(plan[1])
        elif (found := _RESULT.match(line)) and not found["indent"]:
            if _DIRECTIVE.search(found["name"]):
                counts += TestCounts(skipped=1)
            else:
                counts += TestCounts(failed=1) if found["not"] else TestCounts(passed=1)
    return counts if planned == counts.total else None


def _failures(lines: Sequence[str], root: str) -> tuple[TestFailure, ...]:
    failures: list[TestFailure] = []
    for place, line in enumerate(lines):
        found = _RESULT.match(line)
        if found is None or not found["not"] or _DIRECTIVE.search(found["name"]) or len(failures) >= MAX_FAILURES:
            continue
        block = _block(lines, place + 1, len(found["indent"]))
        kinds = [kind[1] for row in block if (kind := _FAILURE_TYPE.match(row))]
        if kinds == ["subtestsFailed"]:
            continue
        places = [where for row in block if (where := _LOCATION.match(row))]
        failures.append(
            make_failure(
                found["name"] or f"test {found['number'] or place}",
                _message(block),
                root=root,
                path=places[0][1] if places else None,
                line=int(places[0][2]) if places else None,
                text="\n".join(block),
            )
        )
    return tuple(failures)


def _block(lines: Sequence[str], start: int, indent: int) -> list[str]:
    # The YAML block under a result, read line by line: it is somebody else's text, not a document of ours.
    if start >= len(lines) or lines[start].strip() != "---":
        return []
    block = []
    for line in lines[start + 1 : start + 400]:
        if line.strip() == "..." and len(line) - len(line.lstrip()) <= indent + 2:
            break
        block.append(line)
    return block


def _message(block: Sequence[str]) -> str:
    for place, line in enumerate(block):
        if found := _ERROR.match(line):
            said = found[1].strip("'\" ")
            if said not in ("|-", "|", ">-", ">"):
                return said
            return next((row.strip() for row in block[place + 1 :] if row.strip()), "failed")
    return "failed"
