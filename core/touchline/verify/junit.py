"""Reading a JUnit XML report (spec page 5, "Verification"). Pure.

The report comes from the work being judged: no document type, so no entities; no tree in memory; bounded texts.
A report that is cut off or broken says nothing: None, never a count of what was read so far.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from touchline.verify.signature import make_failure
from touchline.verify.testrun import MAX_FAILURES, ParsedTests, TestCounts, TestFailure

MAX_XML_BYTES = 64 * 1024 * 1024
_MAX_TEXT = 64 * 1024
_MAX_TESTS = 1_000_000
_SETUP = re.compile(r"failed on (?:setup|teardown) with [\"'](.*?)[\"']?$", re.DOTALL)
_PLACE = re.compile(r"^([^\s:][^:\n]*):(\d+):", re.MULTILINE)


class _NotAReport(Exception):
    """Left to the border of this module."""


@dataclass(slots=True)
class _Case:
    name: str
    file: str | None
    line: int | None
    outcome: str = "passed"
    message: str = ""
    text: list[str] = field(default_factory=list)
    length: int = 0


def parse_junit(data: bytes, *, root: str) -> ParsedTests | None:
    """The tests of a JUnit report; None if it is not one, is not whole, or is not safe to read."""
    if len(data) > MAX_XML_BYTES:
        return None
    reader = _Reader(root)
    try:
        reader.read(data)
    except (expat.ExpatError, _NotAReport, ValueError, LookupError):
        return None
    return reader.result() if reader.is_report else None


class _Reader:
    def __init__(self, root: str) -> None:
        self.is_report = False
        self._root = root
        self._case: _Case | None = None
        self._inside: str | None = None
        self._outcomes: dict[str, str] = {}
        self._failures: dict[str, TestFailure] = {}

    def read(self, data: bytes) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.Parse(data, True)

    def result(self) -> ParsedTests:
        outcomes = list(self._outcomes.values())
        counts = TestCounts(
            passed=outcomes.count("passed"), failed=outcomes.count("failed"), skipped=outcomes.count("skipped")
        )
        return ParsedTests(counts=counts, failures=tuple(self._failures.values())[:MAX_FAILURES])

    def _refuse(self, *_: object) -> None:
        raise _NotAReport

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name in ("testsuites", "testsuite"):
            self.is_report = True
        elif name == "testcase" and self.is_report:
            place = attributes.get("line", "")
            self._case = _Case(
                name="::".join(part for part in (attributes.get("classname"), attributes.get("name")) if part),
                file=attributes.get("file"),
                # The format that has lines counts them from 0.
                line=int(place) + 1 if re.fullmatch(r"[0-9]{1,9}", place) else None,
            )
        elif self._case is not None and name in ("failure", "error", "skipped"):
            outcome = "skipped" if name == "skipped" else "failed"
            if outcome == "failed" or self._case.outcome == "passed":
                self._case.outcome = outcome
            if outcome == "failed":
                self._inside = name
                self._case.message = self._case.message or attributes.get("message", "")

    def _end(self, name: str) -> None:
        if name == self._inside:
            self._inside = None
        elif name == "testcase" and self._case is not None:
            self._book(self._case)
            self._case = None

    def _data(self, text: str) -> None:
        if self._inside is not None and self._case is not None and self._case.length < _MAX_TEXT:
            self._case.text.append(text[:_MAX_TEXT])
            self._case.length += len(text)

    def _book(self, case: _Case) -> None:
        # One test may stand twice, as a failure and an error of its clean-up; the worst counts.
        worst = {"passed": 1, "skipped": 0, "failed": 2}
        before = self._outcomes.get(case.name)
        if before is None or worst[case.outcome] > worst[before]:
            self._outcomes[case.name] = case.outcome
        if len(self._outcomes) > _MAX_TESTS:
            raise _NotAReport
        if case.outcome == "failed" and case.name not in self._failures and len(self._failures) < MAX_FAILURES:
            self._failures[case.name] = self._failure(case)

    def _failure(self, case: _Case) -> TestFailure:
        text = "".join(case.text)
        file, line = case.file, case.line
        places = [(found[1], int(found[2][:9])) for found in _PLACE.finditer(text)]
        own = [place for place in places if file is None or place[0] == file]
        if own:
            file, line = own[-1]
        return make_failure(case.name, _message(case.message, text), root=self._root, path=file, line=line, text=text)


def _message(message: str, text: str) -> str:
    if found := _SETUP.fullmatch(message.strip()):
        return found[1]
    if message and message != "collection failure":
        return message
    said = [line[1:].strip() for line in text.split("\n") if line.startswith("E ")]
    return said[0] if said else next((line for line in text.split("\n") if line.strip()), message)
