from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pipeline_kit import ISSUE, notes, request_for, services, statuses

from touchline.executor import (
    API_VERSION,
    Capability,
    Event,
    ExecutorHost,
    ExecutorSettings,
    QuestionAsked,
    Readiness,
    TurnEnded,
    TurnRequest,
)
from touchline.process.cancel import Cancellation
from touchline.turn import Failure, FailureKind, TurnSettlement, question_or_silent
from touchline.verify.pipeline import verify
from touchline.verify.request import Verifier
from touchline_scripted.executor import ScriptedExecutor


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
        (
            Recording(ready=Readiness(False, problem="not there", fix="Install it.")),
            "NOT_RUN",
            "not there. Install it.",
        ),
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
