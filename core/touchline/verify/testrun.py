"""What is known of one run of a project's tests: counts, failures, verdict (spec page 5, "Verification").

A count that was not seen is None and stays None: absence is never zero and never a pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

TestsStatus = Literal["PASSED", "FAILED", "BLOCKED"]

MAX_FAILURES = 200
"""Failures kept of one run; the count says how many there were."""
MAX_FAILURE_TEXT = 16_000
"""Code points kept of one failure's text."""


@dataclass(frozen=True, slots=True)
class TestCommand:
    """The command that runs the tests, and why it is this one (shown to people)."""

    __test__: ClassVar[bool] = False

    argv: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return " ".join(self.argv)


@dataclass(frozen=True, slots=True)
class TestCounts:
    """How many tests there were; expected failures and todo tests count as skipped."""

    __test__: ClassVar[bool] = False

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        """Every test that was seen, skipped ones included."""
        return self.passed + self.failed + self.skipped

    @property
    def ran(self) -> int:
        """The tests that were really run."""
        return self.passed + self.failed

    def __add__(self, other: TestCounts) -> TestCounts:
        return TestCounts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True, slots=True)
class TestFailure:
    """One failed test. `path` is relative to the work tree, None where the output does not tell."""

    __test__: ClassVar[bool] = False

    name: str
    message: str
    signature: str
    path: str | None = None
    line: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class ParsedTests:
    """What a reader found in the output; `counts` None where it saw no number that it can stand for."""

    counts: TestCounts | None = None
    failures: tuple[TestFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class TestsResult:
    """The verdict on one run of the tests. `shrunk` says in words how there is less testing than at the base."""

    __test__: ClassVar[bool] = False

    status: TestsStatus
    reason: str
    command: TestCommand
    counts: TestCounts | None
    failures: tuple[TestFailure, ...]
    shrunk: tuple[str, ...]
    tail: str
    returncode: int | None
    duration_s: float
    output_path: Path
