from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from touchline.cli import main
from touchline.documents.report import Report

ISSUE = {
    "title": "Zero is not handled",
    "severity": 8,
    "class": "correctness",
    "description": "divide fails for zero",
    "rootCause": "no check",
    "mechanism": "missing-zero-check",
    "path": "calc.py",
}


def git(repo: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout.strip()


def configuration(judge: str) -> str:
    commands = {
        "reviewers": [{"name": "mine", "command": [sys.executable, "-c", judge]}],
        "exerciser": {"command": [sys.executable, "-c", "pass"]},
        "run": {"executor": "scripted"},
    }
    return json.dumps(commands)


@pytest.fixture
def change(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch on top of a base whose configuration names a judge that finds nothing."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (repo / "touchline.yaml").write_text(configuration("pass"))
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Configure")
    git(repo, "switch", "-q", "-c", "topic")
    (repo / "calc.py").write_text("def divide(a, b):\n    return a / b\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Divide")
    return repo


def test_a_branch_is_verified_against_its_base_and_passes(
    change: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report_path = tmp_path / "report.json"
    assert main(["verify", "--repo", str(change), "--output", str(report_path)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "passed"
    assert str(report_path) in err
    report = Report.model_validate_json(report_path.read_bytes())
    assert (report.scope.base_ref, report.scope.merge_base) == ("main", git(change, "rev-parse", "main"))
    assert report.scope.included_files == ["calc.py"]


def test_findings_from_the_severity_on_fail_it(change: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.dumps({"issues": [ISSUE]})
    extra = change.parent / "extra.yaml"
    extra.write_text(configuration(f"print({answer!r})"))
    argv = ["verify", "--repo", str(change), "--config", str(extra)]
    assert main(argv) == 1
    out = capsys.readouterr().out
    assert "VI-1 sev 8 correctness calc.py: Zero is not handled (mine)" in out
    assert "not passed: 1 findings of severity 5 or more" in out
    assert main([*argv, "--severity", "9", "--json"]) == 0
    assert Report.model_validate_json(capsys.readouterr().out).findings[0].severity == 8


def test_the_change_cannot_choose_its_own_judge_or_rules(change: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (change / "touchline.yaml").write_text(configuration("raise SystemExit('hijacked')"))
    (change / "VERIFICATION.md").write_text("- A rule of the change itself.\n")
    git(change, "add", ".")
    git(change, "commit", "-q", "-m", "Weaken")
    assert main(["verify", "--repo", str(change), "--json"]) == 0
    report = Report.model_validate_json(capsys.readouterr().out)
    assert report.custom_gates.review == []


def test_rules_of_the_base_must_be_answered(repo: Path, change: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(change, "switch", "-q", "main")
    (change / "VERIFICATION.md").write_text("- Documented.\n\n# Exerciser\n- Starts.\n")
    git(change, "add", ".")
    git(change, "commit", "-q", "-m", "Rules")
    git(change, "switch", "-q", "topic")
    git(change, "merge", "-q", "--no-edit", "main")
    assert main(["verify", "--repo", str(change)]) == 1
    out = capsys.readouterr().out
    assert "not passed: rule NOT CHECKED: Documented." in out
    assert "not passed: rule NOT CHECKED: Starts." in out


def test_uncommitted_files_are_verified_by_name(change: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (change / "new.py").write_text("x = 1\n")
    assert main(["verify", "--repo", str(change), "--files", "new.py", "--json"]) == 0
    report = Report.model_validate_json(capsys.readouterr().out)
    assert (report.scope.mode, report.scope.included_files) == ("files", ["new.py"])
    assert git(change, "status", "--porcelain") == "?? new.py"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--base", "nowhere"], "no commit to compare with (nowhere)"),
        (["--scope", "files"], "needs --files"),
        (["--scope", "staged", "--base", "main"], "--base has no meaning"),
        (["--scope", "branch", "--files", "a"], "--files has no meaning"),
        (["--since", "nowhere"], "--since nowhere names no commit"),
        (["--plan-file", "absent.md"], "absent.md does not exist"),
        (["--ledger", "absent.json"], "no ledger.json"),
        (["--executor", "absent"], "no executor 'absent'"),
    ],
)
def test_what_cannot_be_done_is_one_message_and_no_report(
    change: Path, argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "--repo", str(change), *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
