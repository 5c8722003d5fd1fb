"""What the tests of the pipeline share: verifiers that are small commands, requests and readers of a report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from touchline.documents.decision import Context
from touchline.documents.report import Report
from touchline.executor import (
    PermissionAnswer,
    PermissionAsked,
)
from touchline.git.repository import Repository
from touchline.process.cancel import Cancellation
from touchline.verify.request import TestPlan, Verifier, VerifyRequest, VerifyServices

ISSUE = {
    "title": "Zero is not handled",
    "severity": 8,
    "class": "correctness",
    "description": "divide fails for zero",
    "rootCause": "no check",
    "mechanism": "missing-zero-check",
    "path": "calc.py",
    "line": 2,
}


def git(repo: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=repo, check=True, capture_output=True, text=True, timeout=30
    ).stdout.strip()


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def says(answer: object, *, before: str = "") -> tuple[str, ...]:
    return python(f"{before}\nprint({json.dumps(json.dumps(answer))})")


def command(name: str, argv: tuple[str, ...], *, timeout_s: float = 60.0) -> Verifier:
    return Verifier(name, command=argv, timeout_s=timeout_s)


CONTENT = command("reviewer", python("pass"))
USED = command("exerciser", python("pass"))


def request_for(repo: Path, tmp_path: Path) -> VerifyRequest:
    return VerifyRequest(
        repo=Repository.open(repo),
        report_path=tmp_path / "reports" / "1.json",
        output_folder=tmp_path / "output" / "verify-1",
        mode="branch",
        head_sha=git(repo, "rev-parse", "HEAD"),
        base_commit=git(repo, "rev-parse", "main"),
        base_ref="origin/main",
        plan="Divide two numbers.",
    )


def services(*judges: Verifier, cancel: Cancellation, exerciser: Verifier | None = USED) -> VerifyServices:
    def permit(asked: PermissionAsked) -> PermissionAnswer:
        return PermissionAnswer(False, "not in this test")

    return VerifyServices(judges=judges, exerciser=exerciser, permit=permit, cancel=cancel)


def statuses(report: Report) -> dict[str, str]:
    return {row.skill: row.status for row in report.skill_results}


def notes(report: Report, skill: str) -> str:
    return next(row.notes for row in report.skill_results if row.skill == skill)


def context(request: VerifyRequest, **values: object) -> Context:
    fields: dict[str, object] = {
        "turn": 1,
        "max_turns": 3,
        "verify_run": 1,
        "head_sha": request.head_sha,
        "base_ref": request.base_ref,
        "merge_base": request.base_commit if request.mode == "branch" else None,
        "scope_mode": request.mode,
    }
    return Context.model_validate(fields | values)


COUNTING = """
import pathlib, sys
said = sys.stdin.read()
count = pathlib.Path({folder!r}) / "count"
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
(count.parent / f"prompt-{{number}}").write_text(said)
print({answers!r}[min(number, len({answers!r})) - 1])
"""


def counting(name: str, folder: Path, *answers: str) -> Verifier:
    return command(name, python(COUNTING.format(folder=str(folder), answers=list(answers))))


UNITTEST = TestPlan((sys.executable, "-B", "-m", "unittest", "-v"), 60.0, "configured")


DIVIDES = "    def test_divides(self):\n        self.assertEqual(divide(4, 2), 2)\n"


TEST_A = "import unittest\nfrom calc import divide\n\n\nclass A(unittest.TestCase):\n"


FAILS = "    def test_older(self):\n        self.assertEqual(1, 2)\n"


CHANGE_FILE = "import pathlib; pathlib.Path('calc.py').write_text('ok = True\\n'); pathlib.Path('README.md').unlink()"


def commit(repo: Path, message: str, **files: str) -> None:
    for name, content in files.items():
        (repo / f"{name}.py").write_text(content)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", message)
