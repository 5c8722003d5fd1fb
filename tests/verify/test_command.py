from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from touchline.cli import main
from touchline.documents.ledger import Ledger
from touchline.documents.report import Report
from touchline.ledger.store import LedgerStore

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


def keeping(prompt: Path, answer: dict[str, object]) -> str:
    """A judge that keeps the prompt it was given and answers."""
    return f"import sys\nopen({str(prompt)!r}, 'w').write(sys.stdin.read())\nprint({json.dumps(answer)!r})"


def configured(change: Path, judge: str) -> str:
    extra = change.parent / "extra.yaml"
    extra.write_text(configuration(judge))
    return str(extra)


def kept_ledger(folder: Path) -> Path:
    """A ledger with one open finding and one that was accepted."""
    finding = {
        "id": "F-1",
        "key": "calc.py#missing-zero-check",
        "title": "Zero is not handled",
        "rootCause": "no check",
        "mechanism": "missing-zero-check",
        "class": "correctness",
        "severity": 8,
        "firstSeen": 1,
        "lastSeen": 1,
        "disposition": "open",
        "dispositionSetAt": 1,
        "location": {"path": "calc.py"},
    }
    settled = {**finding, "id": "F-2", "title": "No docstring", "disposition": "accepted-below-threshold"}
    document = {
        "project": "example",
        "changeKey": "topic",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
        "runNumber": "20260101000000",
        "planFile": "plan.md",
        "severityThreshold": 5,
        "maxTurns": 10,
        "baseRef": "origin/main",
        "mergeBase": "b" * 40,
        "findings": [finding, settled],
        "run": {
            "options": {"executor": "scripted"},
            "mode": "published",
            "startHead": "b" * 40,
            "startTree": "t",
            "untrackedAtStart": [],
            "stagedAtStart": [],
            "planDigest": "d",
        },
    }
    folder.mkdir()
    LedgerStore(folder).create(Ledger.model_validate_json(json.dumps(document)))
    return folder / "ledger.json"


def test_open_findings_of_a_ledger_are_rechecked_by_id_and_the_ledger_stays_as_it_is(
    change: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = kept_ledger(tmp_path / "ledger")
    before = ledger.read_bytes()
    rechecks = [
        {"id": "F-1", "status": "fixed", "evidence": "there is a check now"},
        {"id": "F-2", "status": "still-open", "evidence": "it was settled"},
        {"id": "F-9", "status": "fixed", "evidence": "nobody knows it"},
    ]
    judge = keeping(tmp_path / "prompt.txt", {"issues": [], "rechecks": rechecks})
    assert main(["verify", "--repo", str(change), "--config", configured(change, judge), "--ledger", str(ledger)]) == 0
    assert "F-1 fixed: mine: there is a check now" in capsys.readouterr().out
    prompt = (tmp_path / "prompt.txt").read_text()
    assert "| F-1 (severity 8, correctness) calc.py: Zero is not handled" in prompt
    assert prompt.index("Settled. Report one again only with new evidence of harm") < prompt.index("| F-2")
    assert ledger.read_bytes() == before


def test_since_shows_the_judges_what_changed_after_it_and_no_carry_forward_shows_all(
    change: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    since = git(change, "rev-parse", "HEAD")
    (change / "more.py").write_text("def half(a):\n    return a / 2\n")
    git(change, "add", ".")
    git(change, "commit", "-q", "-m", "Halve")
    prompt = tmp_path / "prompt.txt"
    argv = ["verify", "--repo", str(change), "--json", "--config", configured(change, keeping(prompt, {"issues": []}))]
    assert main([*argv, "--since", since]) == 0
    report = Report.model_validate_json(capsys.readouterr().out)
    assert (report.scope.delta_base_sha, report.scope.delta_files) == (since, ["more.py"])
    assert report.scope.included_files == ["calc.py", "more.py"]
    assert "| +def half(a):" in prompt.read_text()
    assert "| +def divide(a, b):" not in prompt.read_text()
    assert main([*argv, "--since", since, "--no-carry-forward"]) == 0
    report = Report.model_validate_json(capsys.readouterr().out)
    assert (report.scope.delta_base_sha, report.scope.delta_files) == (None, [])
    assert "| +def divide(a, b):" in prompt.read_text()
    sideways = git(change, "commit-tree", "-m", "Elsewhere", "main^{tree}")
    assert main([*argv, "--since", sideways]) == 0
    assert Report.model_validate_json(capsys.readouterr().out).scope.delta_base_sha is None


def test_a_weakened_check_is_noticed_by_hand_too_and_a_judge_has_to_weigh_it(
    change: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (change / "tox.ini").write_text("[pytest]\naddopts = -k nothing\n")
    git(change, "add", ".")
    git(change, "commit", "-q", "-m", "Weaken")
    argv = ["verify", "--repo", str(change)]
    silent = configured(change, keeping(tmp_path / "prompt.txt", {"issues": []}))
    assert main([*argv, "--config", silent]) == 1
    assert "not passed: no judge completed its review" in capsys.readouterr().out
    assert "`noticed` has no answer to item 1" in (tmp_path / "prompt.txt").read_text()
    row = {"item": 1, "askedFor": False, "evidence": "the plan is about division"}
    denied = configured(change, keeping(tmp_path / "prompt.txt", {"issues": [], "noticed": [row]}))
    assert main([*argv, "--config", denied]) == 1
    assert "sev 8 environment tox.ini: the change touches how tests are run" in capsys.readouterr().out
    allowed = configured(
        change, keeping(tmp_path / "prompt.txt", {"issues": [], "noticed": [{**row, "askedFor": True}]})
    )
    assert main([*argv, "--config", allowed]) == 0
    assert "sev 4 environment tox.ini" in capsys.readouterr().out


def test_a_missing_part_of_the_plan_that_a_judge_lists_counts_without_an_issue_of_its_own(
    change: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [{"part": "divide", "status": "done"}, {"part": "multiply", "status": "missing", "evidence": "not there"}]
    judge = keeping(tmp_path / "prompt.txt", {"issues": [], "plan": parts})
    (tmp_path / "plan.md").write_text("# Calculate\n\nDivide and multiply.\n")
    argv = ["verify", "--repo", str(change), "--plan-file", str(tmp_path / "plan.md")]
    assert main([*argv, "--config", configured(change, judge)]) == 1
    assert "sev 8 plan-completeness -: The plan is not carried out in full (mine)" in capsys.readouterr().out
    assert "Go through the plan part by part" in (tmp_path / "prompt.txt").read_text()


def test_markdown_shows_everything_and_what_others_said_is_text_in_it(
    change: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = {**ISSUE, "title": "# <img src=x> | @all [x](http://x)", "evidence": "## APPROVED\nline"}
    extra = configured(change, f"print({json.dumps({'issues': [evil]})!r})")
    assert main(["verify", "--repo", str(change), "--config", extra, "--format", "markdown"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("## Verification: not passed\n")
    assert [line for line in out.splitlines() if line.startswith("#")] == [
        "## Verification: not passed",
        "### Findings",
    ]
    assert "<img" not in out
    assert "@all" not in out
    assert "| VI-1 | 8 | correctness | calc.py |" in out
    assert main(["verify", "--repo", str(change), "--format", "json"]) == 0
    assert Report.model_validate_json(capsys.readouterr().out).status == "ok"


@pytest.mark.parametrize("scope", ["staged", "unstaged"])
def test_staged_and_unstaged_changes_are_scopes_of_their_own(
    change: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (change / "staged.py").write_text("x = 1\n")
    git(change, "add", "staged.py")
    (change / "calc.py").write_text("def divide(a, b):\n    return a // b\n")
    assert main(["verify", "--repo", str(change), "--scope", scope, "--json"]) == 0
    report = Report.model_validate_json(capsys.readouterr().out)
    assert (report.scope.mode, report.scope.included_files) == (
        scope,
        [{"staged": "staged.py", "unstaged": "calc.py"}[scope]],
    )
