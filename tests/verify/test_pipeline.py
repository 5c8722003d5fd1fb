from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from touchline.documents.decision import Context
from touchline.documents.ledger import Finding
from touchline.documents.report import Report
from touchline.executor import (
    API_VERSION,
    Capability,
    Event,
    ExecutorHost,
    ExecutorSettings,
    PermissionAnswer,
    PermissionAsked,
    QuestionAsked,
    Readiness,
    TurnEnded,
    TurnRequest,
)
from touchline.gates.reading import read_report
from touchline.git.repository import Repository
from touchline.process.cancel import Cancellation
from touchline.turn import Failure, FailureKind, TurnSettlement, question_or_silent
from touchline.verify.pipeline import verify
from touchline.verify.request import ScopeMode, TestPlan, Verifier, VerifyRequest, VerifyServices
from touchline_scripted.executor import ScriptedExecutor

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


@pytest.fixture
def change(repo: Path) -> Path:
    """A branch with one commit on top of main that adds calc.py and changes the readme."""
    git(repo, "switch", "-q", "-c", "topic")
    (repo / "calc.py").write_text("def divide(a, b):\n    return a / b\n")
    (repo / "README.md").write_text("# example\n\nIt divides.\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Divide")
    return repo


@pytest.fixture
def cancel() -> Iterator[Cancellation]:
    cancellation = Cancellation()
    yield cancellation
    cancellation.close()


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


CHANGE_FILE = "import pathlib; pathlib.Path('calc.py').write_text('ok = True\\n'); pathlib.Path('README.md').unlink()"
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


class Recording:
    """An executor that answers from a list and keeps what it was asked."""

    name = "recording"
    api_version = API_VERSION
    capabilities = frozenset({Capability.RESUME, Capability.CHOSEN_SESSION_ID})

    def __init__(self, *ends: TurnEnded, ready: Readiness | None = None) -> None:
        self.requests: list[TurnRequest] = []
        self._ends = list(ends)
        self._ready = ready or Readiness(True)

    def check(self) -> Readiness:
        return self._ready

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        self.requests.append(request)
        yield self._ends[min(len(self.requests), len(self._ends)) - 1]

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        return question_or_silent(session_id, text, question)


def test_an_executor_always_gets_a_session_of_its_own(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    executor = Recording(
        TurnEnded("no json"), TurnEnded('{"issues": []}'), TurnEnded('{"status": "PASSED", "notes": "n"}')
    )
    judge, exerciser = Verifier("reviewer", executor=executor), Verifier("exerciser", executor=executor)
    report = verify(request_for(change, tmp_path), services(judge, cancel=cancel, exerciser=exerciser))
    assert statuses(report)["reviewer"] == "COMPLETED"
    assert statuses(report)["exerciser"] == "PASSED"
    asked = executor.requests
    assert len({one.session_id for one in asked}) == len(asked) == 3
    assert not any(one.resume for one in asked)
    assert [one.purpose for one in asked] == ["judge", "judge", "exerciser"]
    assert {one.role for one in asked} == {"verifier"}
    assert all(one.cwd == change for one in asked)


@pytest.mark.parametrize(
    ("executor", "status", "why"),
    [
        (Recording(TurnEnded('{"ask": "Which one?"}')), "BLOCKED", "asked instead of answering: Which one?"),
        (Recording(TurnEnded("")), "BLOCKED", "silent"),
        (Recording(TurnEnded("x", Failure(FailureKind.RATE_LIMIT, "slow down"))), "BLOCKED", "slow down"),
        (Recording(ready=Readiness(False, problem="not there", fix="Install it.")), "NOT_RUN", "not there Install it."),
        (Recording(ready=Readiness(True, logged_in=False)), "NOT_RUN", "not logged in"),
    ],
)
def test_an_executor_that_gives_no_answer_says_why(
    change: Path, tmp_path: Path, cancel: Cancellation, executor: Recording, status: str, why: str
) -> None:
    judge = Verifier("reviewer", executor=executor)
    report = verify(request_for(change, tmp_path), services(judge, cancel=cancel))
    assert statuses(report)["reviewer"] == status
    assert why in notes(report, "reviewer")


def test_scripted_sessions_judge_and_exercise(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    script = tmp_path / "script.yaml"
    issue = json.dumps(ISSUE)
    script.write_text(
        f"version: 1\njudge:\n  - - say: I look.\n    - answer: {{issues: [{issue}]}}\n"
        "exerciser:\n  - - answer: {status: FAILED, notes: it crashed}\n"
    )
    executor = ScriptedExecutor(ExecutorSettings(script=str(script)))
    judge, exerciser = Verifier("reviewer", executor=executor), Verifier("exerciser", executor=executor)
    report = verify(request_for(change, tmp_path), services(judge, cancel=cancel, exerciser=exerciser))
    assert statuses(report) == {"tester": "SKIPPED", "reviewer": "COMPLETED", "exerciser": "FAILED"}
    assert [one.title for one in report.findings] == ["Zero is not handled"]
    record = tmp_path / "output" / "verify-1" / "judge-reviewer" / "attempt-1" / "render.log"
    assert record.read_text().startswith("I look.")
    assert not list((tmp_path / "output").rglob("scratch"))
    assert record.stat().st_mode & 0o777 == 0o600


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


TEST_A = "import unittest\nfrom calc import divide\n\n\nclass A(unittest.TestCase):\n"
DIVIDES = "    def test_divides(self):\n        self.assertEqual(divide(4, 2), 2)\n"
FAILS = "    def test_older(self):\n        self.assertEqual(1, 2)\n"
UNITTEST = TestPlan((sys.executable, "-B", "-m", "unittest", "-v"), 60.0, "configured")


def commit(repo: Path, message: str, **files: str) -> None:
    for name, content in files.items():
        (repo / f"{name}.py").write_text(content)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", message)


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


def test_another_head_or_changed_tracked_files_are_an_error_and_no_verdict(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    request = request_for(change, tmp_path)
    report = verify(replace(request, head_sha=request.base_commit), services(CONTENT, cancel=cancel))
    assert report.status == "error"
    assert "HEAD is" in str(report.error)
    (change / "calc.py").write_text("dirty\n")
    report = verify(request, services(CONTENT, cancel=cancel))
    assert report.status == "error"
    assert "calc.py" in str(report.error)
    assert (change / "calc.py").read_text() == "dirty\n"
    report = verify(replace(request, known_dirty=("calc.py",)), services(CONTENT, cancel=cancel))
    assert report.status == "ok"
    assert "calc.py" in report.scope.excluded_files


def test_a_delta_names_its_base_and_anything_else_is_a_full_audit(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    first = git(change, "rev-parse", "HEAD")
    commit(change, "More", more="x = 1\n")
    request = request_for(change, tmp_path)
    report = verify(replace(request, since=first), services(CONTENT, cancel=cancel))
    assert (report.scope.delta_base_sha, report.scope.delta_files) == (first, ["more.py"])
    assert report.scope.included_files == ["README.md", "calc.py", "more.py"]
    report = verify(replace(request, since="1" * 40), services(CONTENT, cancel=cancel))
    assert (report.scope.delta_base_sha, report.scope.delta_files) == (None, [])


def test_untracked_files_are_named_as_not_part_of_a_branch(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    (change / "note.txt").write_text("mine\n")
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel))
    assert report.scope.excluded_files == ["note.txt"]


def local(repo: Path, tmp_path: Path, *files: str) -> VerifyRequest:
    head = git(repo, "rev-parse", "HEAD")
    return replace(
        request_for(repo, tmp_path),
        mode="files",
        base_ref=None,
        base_commit=head,
        head_sha=head,
        files=files,
        owned=files,
    )


def test_a_local_run_verifies_its_own_files_uncommitted(repo: Path, tmp_path: Path, cancel: Cancellation) -> None:
    (repo / "calc.py").write_text("def divide(a, b):\n    return a / b\n")
    (repo / "README.md").write_text("# mine\n")
    request = local(repo, tmp_path, "calc.py")
    judge = counting("a", tmp_path, '{"issues": []}')
    report = verify(request, services(judge, cancel=cancel))
    assert (report.scope.mode, report.scope.base_ref, report.scope.merge_base) == ("files", None, None)
    assert report.scope.included_files == ["calc.py"]
    assert report.scope.excluded_files == ["README.md"]
    prompt = (tmp_path / "prompt-1").read_text()
    assert "+def divide" in prompt
    assert "+# mine" not in prompt
    reading = read_report(report, context(request, tree_hash=report.scope.tree_hash))
    assert reading.problems == ()
    assert git(repo, "status", "--porcelain") == "M README.md\n?? calc.py"


def test_a_local_run_can_begin_before_the_first_commit(tmp_path: Path, cancel: Cancellation) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "calc.py").write_text("x = 1\n")
    request = VerifyRequest(
        repo=Repository.open(folder),
        report_path=tmp_path / "report.json",
        output_folder=tmp_path / "output",
        mode="files",
        head_sha="",
        base_commit="",
        files=("calc.py",),
        owned=("calc.py",),
        tests=UNITTEST,
    )
    judge = counting("a", tmp_path, '{"issues": []}')
    report = verify(request, services(judge, cancel=cancel))
    assert (report.status, report.scope.included_files) == ("ok", ["calc.py"])
    assert "+x = 1" in (tmp_path / "prompt-1").read_text()


def test_an_owned_file_that_a_verifier_changes_is_put_back(repo: Path, tmp_path: Path, cancel: Cancellation) -> None:
    (repo / "calc.py").write_text("mine\n")
    judge = command("a", python("import pathlib; pathlib.Path('calc.py').write_text('theirs')"))
    report = verify(local(repo, tmp_path, "calc.py"), services(judge, CONTENT, cancel=cancel))
    assert statuses(report)["a"] == "BLOCKED"
    assert (repo / "calc.py").read_text() == "mine\n"
    assert not (tmp_path / "output" / "verify-1" / "proof" / "objects").exists()


def test_staged_and_unstaged_changes_are_scopes_of_their_own(repo: Path, tmp_path: Path, cancel: Cancellation) -> None:
    (repo / "staged.py").write_text("s = 1\n")
    git(repo, "add", "staged.py")
    (repo / "README.md").write_text("# changed\n")
    request = replace(local(repo, tmp_path), files=(), owned=())
    modes: tuple[tuple[ScopeMode, str], ...] = (("staged", "staged.py"), ("unstaged", "README.md"))
    for mode, path in modes:
        report = verify(replace(request, mode=mode), services(CONTENT, cancel=cancel))
        assert (report.scope.mode, report.scope.included_files) == (mode, [path])


def test_a_file_name_that_is_no_text_goes_through(repo: Path, tmp_path: Path, cancel: Cancellation) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (repo / name).write_text("x\n")
    report = verify(local(repo, tmp_path, name), services(CONTENT, cancel=cancel))
    assert report.status == "ok"
    assert report.scope.included_files == ['"caf\\351.txt"']


def test_a_clean_checkout_is_made_ready_and_used(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    where = "import os, pathlib; pathlib.Path({!r}).write_text(os.getcwd()); assert pathlib.Path('made').exists()"
    judge = command("a", python(where.format(str(tmp_path / "where"))))
    (change / "stray.txt").write_text("x")
    request = replace(
        request_for(change, tmp_path),
        workspace="worktree",
        setup=python("import pathlib; assert not pathlib.Path('stray.txt').exists(); pathlib.Path('made').touch()"),
    )
    report = verify(request, services(judge, cancel=cancel))
    assert report.status == "ok"
    assert statuses(report)["a"] == "COMPLETED"
    place = Path((tmp_path / "where").read_text())
    assert place != change
    assert not place.exists()
    assert not (change / "made").exists()


def test_a_checkout_that_cannot_be_made_ready_blocks(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    request = replace(request_for(change, tmp_path), workspace="worktree", setup=python("exit('no network')"))
    report = verify(request, services(CONTENT, cancel=cancel))
    assert report.status == "blocked"
    assert "no network" in str(report.error)
    assert git(change, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize(("steps", "told"), [("", True), ("    - run: 'true'\n", False)])
def test_an_exerciser_that_was_not_seen_to_do_anything_is_said_to_have_only_its_word(
    change: Path, tmp_path: Path, cancel: Cancellation, steps: str, told: bool
) -> None:
    script = tmp_path / "script.yaml"
    used = "{answer: {status: PASSED, notes: used it}}"
    script.write_text(f"version: 1\nexerciser:\n  - - say: I look.\n{steps}    - {used}\n")
    exerciser = Verifier("exerciser", executor=ScriptedExecutor(ExecutorSettings(script=str(script))))
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel, exerciser=exerciser))
    assert statuses(report)["exerciser"] == "PASSED"
    assert ("its word alone" in notes(report, "exerciser")) is told
    by_command = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel))
    assert "its word alone" not in notes(by_command, "exerciser")
