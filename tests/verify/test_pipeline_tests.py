from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from pipeline_kit import (
    CHANGE_FILE,
    CONTENT,
    DIVIDES,
    FAILS,
    TEST_A,
    UNITTEST,
    commit,
    git,
    notes,
    python,
    request_for,
    services,
    statuses,
)

from touchline.process.cancel import Cancellation
from touchline.verify.pipeline import verify
from touchline.verify.request import TestPlan


def test_without_a_test_command_that_is_said(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel))
    assert "no test command" in notes(report, "tester")


def test_a_failing_test_is_a_finding_with_a_diagnosis(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    wrong = DIVIDES.replace("2), 2", "2), 3")
    commit(change, "Test", test_a=TEST_A + wrong)
    request = replace(request_for(change, tmp_path), tests=UNITTEST)
    report = verify(request, services(CONTENT, cancel=cancel))
    assert statuses(report)["tester"] == "FAILED"
    assert [(one.severity, one.sources) for one in report.findings] == [(9, ["tester"])]
    assert report.issues[0].class_ == "test-failure"
    assert report.issues[0].signature
    assert [one.issue_id for one in report.diagnoses] == ["VI-1"]
    assert report.diagnoses[0].pre_existing != "yes"
    assert (request.output_folder / "tests.log").stat().st_size > 0


def test_a_failure_that_is_older_than_the_change_is_proved_and_does_not_fail_the_tests(
    repo: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    old = "import unittest\n\n\nclass Old(unittest.TestCase):\n" + FAILS
    commit(repo, "Old", test_old=old)
    git(repo, "switch", "-q", "-c", "topic")
    commit(repo, "Divide", calc="def divide(a, b):\n    return a / b\n", test_a=TEST_A + DIVIDES)
    request = replace(request_for(repo, tmp_path), tests=UNITTEST, cache_folder=tmp_path / "cache")
    report = verify(request, services(CONTENT, cancel=cancel))
    assert [(one.pre_existing, one.touched_by_diff) for one in report.diagnoses] == [("yes", [])]
    assert report.diagnoses[0].reproduced_at == request.base_commit
    assert statuses(report)["tester"] == "PASSED"
    assert len(report.issues) == 1
    kept = list((tmp_path / "cache").iterdir())
    assert len(kept) == 1
    assert git(repo, "worktree", "list").count("\n") == 0
    again = replace(request, tests=replace(UNITTEST), output_folder=tmp_path / "output" / "verify-2")
    assert verify(again, services(CONTENT, cancel=cancel)).diagnoses == report.diagnoses
    assert not (again.output_folder / "base-tests.log").exists()


def test_the_base_is_not_judged_by_the_present_code_of_an_editable_install(
    repo: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=repo, check=True, timeout=60)
    packages = next((repo / ".venv" / "lib").glob("python*/site-packages"))
    (packages / "editable.pth").write_text(f"{repo / 'src'}\n")
    (repo / ".gitignore").write_text(".venv\n")
    (repo / "src").mkdir()
    (repo / "src" / "calc.py").write_text("def divide(a, b):\n    return a / b\n")
    commit(repo, "Divide", test_a=TEST_A + DIVIDES)
    git(repo, "switch", "-q", "-c", "topic")
    (repo / "src" / "calc.py").write_text("def divide(a, b):\n    return a * b\n")
    git(repo, "commit", "-q", "-a", "-m", "Break it")
    python_of_venv = str(repo / ".venv" / "bin" / "python")
    plan = TestPlan((python_of_venv, "-B", "-m", "unittest", "-v"), 60.0, "configured")
    report = verify(replace(request_for(repo, tmp_path), tests=plan), services(CONTENT, cancel=cancel))
    assert statuses(report)["tester"] == "FAILED"
    assert [one.pre_existing for one in report.diagnoses] == ["no"]


def test_fewer_tests_than_at_the_base_are_noticed_by_the_coach(
    repo: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    commit(
        repo,
        "Tests",
        calc="def divide(a, b):\n    return a / b\n",
        test_a=TEST_A + DIVIDES + DIVIDES.replace("test_d", "test_e"),
    )
    git(repo, "switch", "-q", "-c", "topic")
    commit(repo, "Less", test_a=TEST_A + DIVIDES)
    report = verify(replace(request_for(repo, tmp_path), tests=UNITTEST), services(CONTENT, cancel=cancel))
    assert statuses(report)["tester"] == "PASSED"
    assert [(one.sources, one.severity) for one in report.findings] == [(["coach"], 4)] * 2
    assert [one.mechanism for one in report.issues] == ["tests-deleted", "fewer-tests"]


def test_tests_that_change_tracked_files_are_discarded(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    plan = TestPlan(python(CHANGE_FILE), 60.0, "configured", baseline=False)
    report = verify(replace(request_for(change, tmp_path), tests=plan), services(CONTENT, cancel=cancel))
    assert statuses(report)["tester"] == "BLOCKED"
    assert "put back" in notes(report, "tester")
    assert git(change, "status", "--porcelain") == ""
