from __future__ import annotations

from typing import Any

import pytest

from touchline.coach.steps import (
    BACKOFF_S,
    Decide,
    Done,
    Facts,
    Finish,
    MarkInterrupted,
    PlayTurn,
    RecordTurn,
    Report,
    Stop,
    Verify,
    next_step,
    retries_spent,
)
from touchline.documents.base import Usage
from touchline.documents.ledger import Attempt, Terminal

NOW = Facts(now="2026-12-01T10:00:00Z")


def attempt(kind: str, **values: Any) -> Attempt:
    return Attempt(kind=kind, at="2026-12-01T09:00:00Z", **values)


def test_a_fresh_ledger_asks_for_the_first_turn(build: Any) -> None:
    assert next_step(build.ledger(), NOW) == PlayTurn(1)


def test_a_turn_found_started_is_the_same_turn_again(build: Any) -> None:
    assert next_step(build.ledger(build.turn(1, "started")), NOW) == PlayTurn(1, again=True)


@pytest.mark.parametrize("state", ["returned", "committing"])
def test_a_turn_that_came_back_is_recorded_next(build: Any, state: str) -> None:
    assert next_step(build.ledger(build.turn(2, state)), NOW) == RecordTurn(2)


def test_a_recorded_turn_is_verified_with_the_next_number_of_the_change(build: Any) -> None:
    other_run = build.verification(4, 1, run_number="1")
    ledger = build.ledger(build.turn(1), verifications=(other_run,))
    assert next_step(ledger, NOW) == Verify(1, 5, full_audit=True)


def test_a_verification_found_started_is_marked_interrupted_then_verified_again(build: Any) -> None:
    ledger = build.ledger(build.turn(1), verifications=(build.verification(1, 1, "started"),))
    assert next_step(ledger, NOW) == MarkInterrupted(1)
    ledger = build.ledger(build.turn(1), verifications=(build.verification(1, 1, "interrupted"),))
    assert next_step(ledger, NOW) == Verify(1, 2, full_audit=True)


def test_a_report_that_was_read_is_decided_and_never_verified_again(build: Any) -> None:
    ledger = build.ledger(build.turn(1), verifications=(build.verification(1, 1, "read"),))
    assert next_step(ledger, NOW) == Decide(1)


@pytest.mark.parametrize(
    ("decision", "next_", "turn", "expected"),
    [
        ("APPROVED", "PHASE_2", 1, Finish("APPROVED_NO_PR", "why")),
        ("APPROVED", "FULL_AUDIT", 1, Verify(1, 2, full_audit=True)),
        ("FEEDBACK", "PLAYER_TURN", 1, PlayTurn(2)),
        ("FEEDBACK", "TERMINAL:TURN_LIMIT_VERIFY", 3, Finish("TURN_LIMIT_VERIFY", "why")),
        ("RERUN", "RERUN_VERIFY", 1, Verify(1, 2, full_audit=True)),
    ],
)
def test_what_follows_a_decision(build: Any, decision: str, next_: str, turn: int, expected: object) -> None:
    row = build.verification(1, turn, decision=decision, next=next_, reason="why")
    assert next_step(build.ledger(build.turn(turn), verifications=(row,)), NOW) == expected


def test_a_spent_budget_of_the_run_ends_it_as_the_turn_limit_with_the_reason(build: Any) -> None:
    run = build.run(options={"run_max_tokens": 100})
    row = build.verification(1, 1, decision="FEEDBACK", next="PLAYER_TURN", reason="2 block")
    turn = build.turn(1, usage=Usage(input=90, output=10))
    step = next_step(build.ledger(turn, verifications=(row,), run=run), NOW)
    assert isinstance(step, Finish)
    assert step.status == "TURN_LIMIT_VERIFY"
    assert "100 tokens" in step.reason


def test_a_terminal_ledger_is_reported_once_and_then_left_alone(build: Any) -> None:
    ended = build.ledger(terminal=Terminal(status="APPROVED_NO_PR", reason=""))
    assert next_step(ended, NOW) == Report()
    reported = build.ledger(terminal=Terminal(status="APPROVED_NO_PR", reason="", reported=True))
    assert next_step(reported, NOW) == Done()


def test_a_signal_stops_the_run_before_the_next_step_but_never_hides_a_terminal_status(build: Any) -> None:
    cancelled = Facts(now=NOW.now, cancelled=True)
    step = next_step(build.ledger(build.turn(1)), cancelled)
    assert isinstance(step, Stop)
    assert step.status == "INTERRUPTED"
    ended = build.ledger(terminal=Terminal(status="APPROVED_NO_PR", reason=""))
    assert next_step(ended, cancelled) == Report()


@pytest.mark.parametrize("kind", ["not-installed", "not-authenticated", "protocol"])
def test_an_executor_that_cannot_run_ends_the_process_and_the_next_start_tries_again(build: Any, kind: str) -> None:
    ledger = build.ledger(build.turn(1, "started", attempts=[attempt(kind, reason="log in first")]))
    assert next_step(ledger, NOW) == Stop("FAILED_RUN", "log in first")
    assert next_step(ledger, Facts(now=NOW.now, attempts_before=1)) == PlayTurn(1, again=True)


def test_rate_limits_and_model_errors_are_retried_twice_with_growing_pauses_counted_across_restarts(
    build: Any,
) -> None:
    once = build.ledger(build.turn(1, "started", attempts=[attempt("rate-limit")]))
    assert next_step(once, NOW) == PlayTurn(1, again=True, wait_s=BACKOFF_S[0])
    twice = build.ledger(build.turn(1, "started", attempts=[attempt("rate-limit"), attempt("model-error")]))
    assert next_step(twice, Facts(now=NOW.now, attempts_before=1)) == PlayTurn(1, again=True, wait_s=BACKOFF_S[1])
    assert not retries_spent(once.turns[0].attempts)
    assert retries_spent(twice.turns[0].attempts)


def test_a_usage_limit_waits_for_its_reset_and_in_steps_when_the_reset_is_unknown(build: Any) -> None:
    known = attempt("usage-limit", resets_at="2026-12-01T10:10:00Z")
    step = next_step(build.ledger(build.turn(1, "started", attempts=[known])), NOW)
    assert step == PlayTurn(1, again=True, wait_s=601, waits_for_usage=True)
    unknown = next_step(build.ledger(build.turn(1, "started", attempts=[attempt("usage-limit")])), NOW)
    assert unknown == PlayTurn(1, again=True, wait_s=900, waits_for_usage=True)
    garbled = attempt("usage-limit", resets_at="tomorrow")
    step = next_step(build.ledger(build.turn(1, "started", attempts=[garbled])), NOW)
    assert step == PlayTurn(1, again=True, wait_s=901, waits_for_usage=True)


def test_six_hours_of_waiting_in_all_end_interrupted(build: Any) -> None:
    rows = build.turn(1, "started", attempts=[attempt("usage-limit")])
    nearly = build.ledger(rows, run=build.run(waited_seconds=6 * 3600 - 10))
    assert next_step(nearly, NOW) == PlayTurn(1, again=True, wait_s=10, waits_for_usage=True)
    step = next_step(build.ledger(rows, run=build.run(waited_seconds=6 * 3600)), NOW)
    assert isinstance(step, Stop)
    assert step.status == "INTERRUPTED"


def test_rows_of_an_earlier_run_do_not_count(build: Any) -> None:
    old = build.turn(3, run_number="1")
    assert next_step(build.ledger(old), NOW) == PlayTurn(1)
