"""Questions asked of a ledger (spec page 3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from touchline.documents.ledger import (
    CiFailure,
    Finding,
    Ledger,
    PastRun,
    QuarantineEntry,
    RunOptions,
    Terminal,
    TurnRow,
    VerificationRow,
)
from touchline.ledger import queries

EARLIER = "20250101000000"


def test_rows_of_earlier_runs_do_not_count_for_this_one(
    make_ledger: Callable[..., Ledger],
    make_turn: Callable[..., TurnRow],
    make_verification: Callable[..., VerificationRow],
) -> None:
    failure = CiFailure(run_number=EARLIER, ci_run=4, turn=1, head_sha="a" * 40, check="lint")
    ledger = make_ledger(
        turns=[make_turn(1, run_number=EARLIER), make_turn(2, run_number=EARLIER), make_turn(1)],
        verification_runs=[make_verification(1, run_number=EARLIER), make_verification(2)],
        ci_failures=[failure, failure.model_copy(update={"run_number": "20260101000000", "ci_run": 5})],
    )
    assert [row.turn for row in queries.turns_of_run(ledger)] == [1]
    assert queries.turns_used(ledger) == 1
    assert queries.verify_runs(ledger) == 1
    assert [row.ci_run for row in queries.ci_failures_of_run(ledger)] == [5]
    assert queries.next_verify_run(ledger) == 3
    assert queries.next_ci_run(ledger) == 6


def test_a_fresh_ledger_has_no_turn_and_starts_counting_at_one(make_ledger: Callable[..., Ledger]) -> None:
    ledger = make_ledger()
    assert queries.current_turn(ledger) is None
    assert queries.current_verification(ledger) is None
    assert (queries.turns_used(ledger), queries.verify_runs(ledger)) == (0, 0)
    assert (queries.next_verify_run(ledger), queries.next_ci_run(ledger)) == (1, 1)
    assert queries.is_unfinished(ledger)


@pytest.mark.parametrize(("state", "used"), [("started", 1), ("returned", 2), ("committing", 2), ("recorded", 2)])
def test_a_turn_counts_once_its_player_is_back(
    make_ledger: Callable[..., Ledger], make_turn: Callable[..., TurnRow], state: str, used: int
) -> None:
    ledger = make_ledger(turns=[make_turn(1), make_turn(2, state=state)])
    assert queries.turns_used(ledger) == used
    current = queries.current_turn(ledger)
    assert current is not None
    assert current.turn == 2


def test_an_interrupted_verification_counts(
    make_ledger: Callable[..., Ledger], make_verification: Callable[..., VerificationRow]
) -> None:
    ledger = make_ledger(verification_runs=[make_verification(1, state="interrupted"), make_verification(2)])
    assert queries.verify_runs(ledger) == 2
    current = queries.current_verification(ledger)
    assert current is not None
    assert current.verify_run == 2


def test_k_is_what_is_open_at_or_above_the_threshold_and_not_known_to_be_environment(
    make_ledger: Callable[..., Ledger],
    make_finding: Callable[..., Finding],
    make_entry: Callable[..., QuarantineEntry],
) -> None:
    ledger = make_ledger(
        findings=[
            make_finding("F-1", severity=5),
            make_finding("F-2", severity=4),
            make_finding("F-3", disposition="fixed"),
            make_finding("F-4", signature="s"),
            make_finding("F-5", signature="s", location={"path": "b.py"}),
            make_finding("F-6", signature="s", location=None),
            make_finding("F-7", signature="gone"),
            make_finding("F-8", disposition="quarantined"),
        ],
        quarantine=[
            make_entry("Q-1", signature="s", paths=["a.py"]),
            make_entry("Q-2", signature="gone", active=False),
        ],
    )
    assert [finding.id for finding in queries.blocking(ledger)] == ["F-1", "F-5", "F-6", "F-7"]


def test_the_first_matching_active_entry_is_the_one(
    make_finding: Callable[..., Finding], make_entry: Callable[..., QuarantineEntry]
) -> None:
    entries = [make_entry("Q-1", signature="s", active=False), make_entry("Q-2", signature="s"), make_entry("Q-3")]
    match = queries.quarantine_match(make_finding("F-1", signature="s"), entries)
    assert match is not None
    assert match.id == "Q-2"


def test_deferred_means_deferred_in_this_run(
    make_ledger: Callable[..., Ledger],
    make_finding: Callable[..., Finding],
    make_verification: Callable[..., VerificationRow],
) -> None:
    ledger = make_ledger(
        verification_runs=[make_verification(1, run_number=EARLIER), make_verification(2)],
        findings=[
            make_finding("F-1", disposition="deferred-out-of-scope", disposition_set_at=1),
            make_finding("F-2", disposition="deferred-out-of-scope", disposition_set_at=2),
            make_finding("F-3", disposition_set_at=2),
        ],
    )
    assert [finding.id for finding in queries.deferred_in_run(ledger)] == ["F-2"]


def test_sticky_is_what_came_back_and_is_still_open_and_never_coverage(
    make_ledger: Callable[..., Ledger], make_finding: Callable[..., Finding]
) -> None:
    ledger = make_ledger(
        findings=[
            make_finding("F-1", occurrences=2),
            make_finding("F-2", occurrences=1),
            make_finding("F-3", occurrences=3, disposition="fixed"),
            make_finding("F-4", occurrences=3, class_="coverage"),
        ]
    )
    assert [finding.id for finding in queries.sticky(ledger)] == ["F-1"]


def test_every_run_number_in_the_ledger_is_taken(
    make_ledger: Callable[..., Ledger], make_turn: Callable[..., TurnRow]
) -> None:
    past = PastRun(run_number="1", options=RunOptions(executor="scripted"), turns_used=0, verify_runs=0)
    ledger = make_ledger(runs=[past], turns=[make_turn(1, run_number="2")], run_number="3")
    assert queries.taken_run_numbers(ledger) == {"1", "2", "3"}
    done = ledger.model_copy(update={"terminal": Terminal(status="APPROVED_NO_PR", reason="")})
    assert not queries.is_unfinished(done)
