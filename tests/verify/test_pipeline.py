from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_kit import (
    CHANGE_FILE,
    CONTENT,
    ISSUE,
    command,
    context,
    counting,
    git,
    notes,
    python,
    request_for,
    says,
    services,
    statuses,
)

from touchline.documents.ledger import Finding
from touchline.documents.report import Report
from touchline.gates.reading import read_report
from touchline.process.cancel import Cancellation
from touchline.verify.pipeline import verify
from touchline.verify.request import Verifier


def test_a_report_is_written_whole_and_the_gates_can_read_it(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    request = request_for(change, tmp_path)
    report = verify(request, services(CONTENT, cancel=cancel))
    assert report.status == "ok"
    assert Report.model_validate_json(request.report_path.read_bytes()) == report
    assert statuses(report) == {"tester": "SKIPPED", "reviewer": "COMPLETED", "exerciser": "PASSED"}
    reading = read_report(request.report_path.read_bytes(), context(request))
    assert reading.problems == ()
    assert report.scope.included_files == ["README.md", "calc.py"]
    assert report.scope.merge_base == request.base_commit
    assert report.scope.tree_hash
    assert (report.triage.skills_run, report.triage.skills_skipped) == (["reviewer", "exerciser"], ["tester"])


def test_what_a_judge_reports_becomes_a_finding_and_an_issue(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    report = verify(request_for(change, tmp_path), services(command("mine", says({"issues": [ISSUE]})), cancel=cancel))
    assert [(one.title, one.severity, one.sources) for one in report.findings] == [("Zero is not handled", 8, ["mine"])]
    assert report.findings[0].location is not None
    assert (report.findings[0].location.path, report.findings[0].location.line) == ("calc.py", 2)
    assert [(one.id, one.class_, one.mechanism) for one in report.issues] == [
        ("VI-1", "correctness", "missing-zero-check")
    ]


def test_a_judge_that_does_not_complete_is_followed_by_the_next(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    judges = [
        Verifier("absent", problem="codex is not installed"),
        command("missing", ("/nonexistent/judge",)),
        command("broken", python("raise SystemExit(3)")),
        command("good", says({"issues": []})),
        command("spare", python("raise AssertionError('asked')")),
    ]
    report = verify(request_for(change, tmp_path), services(*judges, cancel=cancel))
    found = statuses(report)
    assert [found[name] for name in ("absent", "missing", "broken", "good")] == [
        "NOT_RUN",
        "NOT_RUN",
        "BLOCKED",
        "COMPLETED",
    ]
    assert "spare" not in found
    assert "spare" in report.triage.skills_skipped
    assert notes(report, "absent") == "codex is not installed"


def test_when_no_judge_completes_the_rows_say_so(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    report = verify(request_for(change, tmp_path), services(command("a", python("exit(1)")), cancel=cancel))
    assert report.status == "ok"
    assert statuses(report)["a"] == "BLOCKED"
    assert not report.issues


def test_deep_asks_every_judge_and_folds_what_they_share(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    other = ISSUE | {"severity": 6, "title": "Division by zero"}
    judges = [
        command("a", says({"issues": [ISSUE]})),
        command("b", says({"issues": [other]})),
        command("c", python("exit(2)")),
    ]
    request = replace(request_for(change, tmp_path), depth="deep")
    report = verify(request, services(*judges, cancel=cancel))
    assert [statuses(report)[name] for name in "abc"] == ["COMPLETED", "COMPLETED", "BLOCKED"]
    assert [(one.severity, one.sources) for one in report.findings] == [(8, ["a", "b"])]


def test_a_malformed_answer_is_asked_for_once_again_with_the_reason(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    judge = counting("a", tmp_path, '{"issues": [{"title": "x"}]}', '{"issues": []}')
    report = verify(request_for(change, tmp_path), services(judge, cancel=cancel))
    assert statuses(report)["a"] == "COMPLETED"
    first, second = (tmp_path / "prompt-1").read_text(), (tmp_path / "prompt-2").read_text()
    assert "could not be used" not in first
    assert "An earlier answer could not be used: the answer is malformed at issues.0.severity" in second
    assert "+def divide(a, b):" in first
    assert "| Divide two numbers." in first


def test_a_second_malformed_answer_is_blocked_and_nothing_of_it_kept(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    judge = counting("a", tmp_path, json.dumps({"issues": [ISSUE, {"title": "x"}]}))
    report = verify(request_for(change, tmp_path), services(judge, cancel=cancel))
    assert statuses(report)["a"] == "BLOCKED"
    assert "2 answers could not be used" in notes(report, "a")
    assert (tmp_path / "count").read_text() == "2"
    assert not report.issues


COMMIT = "import subprocess; subprocess.run(['git', 'commit', '-q', '--allow-empty', '-m', 'x'], check=True)"
SWITCH = "import subprocess; subprocess.run(['git', 'switch', '-q', 'main'], check=True)"
DETACH = "import subprocess; subprocess.run(['git', 'checkout', '-q', '--detach', 'main'], check=True)"
RESET = "import subprocess; subprocess.run(['git', 'reset', '-q', '--hard', 'main'], check=True)"
STAGE = "import subprocess; subprocess.run(['git', 'rm', '-q', '--cached', 'README.md'], check=True)"
CONFIG = "import pathlib; pathlib.Path('.git/config').write_text('broken [')"
HOOK = (
    "import pathlib; hooks = pathlib.Path('.git/hooks'); hooks.mkdir(exist_ok=True); "
    "(hooks / 'post-commit').write_text('x')"
)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (CHANGE_FILE, "changed README.md, calc.py"),
        (COMMIT, "moved HEAD to topic@"),
        (SWITCH, "moved HEAD to main@"),
        (DETACH, "moved HEAD to HEAD@"),
        (RESET, "moved HEAD to topic@"),
        (STAGE, "changed what is staged"),
        (HOOK, "git's own hooks/post-commit"),
        (CONFIG, "git's own config"),
    ],
)
def test_a_verifier_that_changes_something_is_blocked_and_its_change_undone(
    change: Path, tmp_path: Path, cancel: Cancellation, act: str, told: str
) -> None:
    head, branch = git(change, "rev-parse", "HEAD"), git(change, "branch", "--show-current")
    bad = command("bad", says({"issues": [ISSUE]}, before=act))
    report = verify(request_for(change, tmp_path), services(bad, CONTENT, cancel=cancel))
    assert (statuses(report)["bad"], statuses(report)["reviewer"]) == ("BLOCKED", "COMPLETED")
    assert told in notes(report, "bad")
    assert not report.issues
    assert (git(change, "rev-parse", "HEAD"), git(change, "branch", "--show-current")) == (head, branch)
    assert git(change, "status", "--porcelain") == ""
    assert (change / "calc.py").read_text().startswith("def divide")
    assert not (change / ".git" / "hooks" / "post-commit").exists()


def test_the_exerciser_is_held_to_the_same_proof(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    exerciser = command("exerciser", python(CHANGE_FILE))
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel, exerciser=exerciser))
    assert statuses(report)["exerciser"] == "BLOCKED"
    assert git(change, "status", "--porcelain") == ""


def test_in_deep_a_change_discards_the_answers_of_all(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    judges = [command("a", says({"issues": [ISSUE]})), command("b", says({"issues": []}, before=CHANGE_FILE))]
    request = replace(request_for(change, tmp_path), depth="deep")
    report = verify(request, services(*judges, cancel=cancel))
    assert [statuses(report)[name] for name in "ab"] == ["BLOCKED", "BLOCKED"]
    assert not report.issues


def test_new_untracked_files_are_named_and_not_held_against_anybody(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    leaves = python("import pathlib; pathlib.Path('out.txt').write_text('x')")
    report = verify(request_for(change, tmp_path), services(command("a", leaves), cancel=cancel))
    assert statuses(report)["a"] == "COMPLETED"
    assert "new untracked files: out.txt" in notes(report, "a")


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (python("pass"), "PASSED"),
        (python("exit(1)"), "FAILED"),
        (says({"status": "FAILED", "notes": "it crashed"}), "FAILED"),
        (says({"status": "BLOCKED", "notes": "no display"}), "BLOCKED"),
        (says({"status": "COMPLETED", "notes": "x"}), "BLOCKED"),
        (("/nonexistent/exerciser",), "NOT_RUN"),
    ],
)
def test_an_exerciser_command_speaks_by_json_or_by_its_exit_status(
    change: Path, tmp_path: Path, cancel: Cancellation, argv: tuple[str, ...], status: str
) -> None:
    exerciser = command("exerciser", argv)
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel, exerciser=exerciser))
    assert statuses(report)["exerciser"] == status


def test_an_exerciser_that_is_switched_off_is_no_pass(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel, exerciser=None))
    assert statuses(report)["exerciser"] == "SKIPPED"


def test_the_exerciser_is_shown_the_issues_and_answers_to_each(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    seen = {"issue": "VI-1", "status": "CONFIRMED", "evidence": "ZeroDivisionError"}
    own = ISSUE | {"title": "Slow", "mechanism": "slow-start", "path": None, "line": None, "class": "ux"}
    answer = {"status": "FAILED", "notes": "divide(1, 0) crashes", "verification": [seen], "issues": [own]}
    second = ISSUE | {"mechanism": "other", "title": "Other"}
    judge = command("a", says({"issues": [ISSUE, second]}))
    exerciser = counting("exerciser", tmp_path, json.dumps(answer))
    report = verify(request_for(change, tmp_path), services(judge, cancel=cancel, exerciser=exerciser))
    assert [(one.issue_id, one.status) for one in report.exerciser_verification] == [
        ("VI-1", "CONFIRMED"),
        ("VI-2", "BLOCKED"),
    ]
    assert [one.id for one in report.issues] == ["VI-1", "VI-2", "VI-3"]
    assert report.findings[2].sources == ["exerciser"]
    assert "VI-1 (severity 8) calc.py: Zero is not handled" in (tmp_path / "prompt-1").read_text()


def test_every_configured_gate_has_a_row(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    judge = command("a", says({"issues": [], "gates": [{"gate": 2, "status": "FAIL", "evidence": "none"}]}))
    answer = {"status": "PASSED", "notes": "n", "gates": [{"gate": 1, "status": "PASS", "evidence": "seen"}]}
    request = replace(
        request_for(change, tmp_path), review_gates=("Documented.", "Tested."), exerciser_gates=("Starts.", "Stops.")
    )
    report = verify(request, services(judge, cancel=cancel, exerciser=command("exerciser", says(answer))))
    assert [(row.rule, row.status) for row in report.custom_gates.review] == [
        ("Documented.", "NOT CHECKED"),
        ("Tested.", "FAIL"),
    ]
    assert [(row.rule, row.status) for row in report.custom_gates.exerciser] == [
        ("Starts.", "PASS"),
        ("Stops.", "NOT CHECKED"),
    ]


def known(identifier: str, **values: object) -> Finding:
    fields: dict[str, object] = {
        "id": identifier,
        "key": "k",
        "title": "old",
        "rootCause": "r",
        "mechanism": "m",
        "class": "correctness",
        "severity": 8,
        "firstSeen": 1,
        "lastSeen": 1,
        "disposition": "open",
        "dispositionSetAt": 1,
    }
    return Finding.model_validate(fields | values)


def test_open_findings_are_rechecked_by_id_and_where_judges_differ_they_are_still_there(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    def recheck(identifier: str, status: str) -> dict[str, str]:
        return {"id": identifier, "status": status, "evidence": "looked"}

    first = [recheck("F-1", "fixed"), recheck("F-2", "fixed"), recheck("F-9", "fixed"), recheck("F-3", "fixed")]
    second = [recheck("F-1", "fixed"), recheck("F-2", "still-open")]
    request = replace(
        request_for(change, tmp_path),
        depth="deep",
        known=(known("F-1"), known("F-2"), known("F-3", disposition="accepted-below-threshold")),
    )
    judges = [
        command("a", says({"issues": [], "rechecks": first})),
        command("b", says({"issues": [], "rechecks": second})),
    ]
    report = verify(request, services(*judges, cancel=cancel))
    assert [(one.ledger_id, one.status) for one in report.rechecks] == [("F-1", "fixed"), ("F-2", "still-open")]


def test_known_secrets_never_reach_the_report(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    secret = "s3cr3t-value-123"
    judges = services(
        command("a", python(f"print({secret!r}); exit(1)")),
        command("b", says({"issues": [ISSUE | {"description": secret}]})),
        cancel=cancel,
    )
    request = request_for(change, tmp_path)
    verify(request, replace(judges, secrets=(secret,)))
    assert secret not in request.report_path.read_text()
    assert "[masked]" in request.report_path.read_text()


def test_a_command_that_hangs_is_stopped_and_blocked(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    judge = command("a", python("import time; time.sleep(60)"), timeout_s=1.5)
    report = verify(request_for(change, tmp_path), services(judge, CONTENT, cancel=cancel))
    assert (statuses(report)["a"], statuses(report)["reviewer"]) == ("BLOCKED", "COMPLETED")
    assert "wall" in notes(report, "a")


def test_the_time_of_the_whole_verification_is_bounded(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    request = replace(request_for(change, tmp_path), timeout_s=0.0)
    report = verify(request, services(CONTENT, cancel=cancel))
    assert statuses(report)["reviewer"] == statuses(report)["exerciser"] == "NOT_RUN"
    assert "used up" in notes(report, "reviewer")


def test_a_cancelled_verification_gives_no_verdict(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    cancel.set("Ctrl-C")
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel))
    assert (report.status, report.error) == ("blocked", "the verification was stopped: Ctrl-C")
    assert report.skill_results == []
