from __future__ import annotations

from typing import Any

import pytest

from touchline.coach.opening import Start, first_ledger, next_run, opening, refuse_changed_options
from touchline.coach.options import Defaults, Flags, Surroundings, resolve
from touchline.documents.ledger import CarryForward, Terminal
from touchline.errors import UsageError

ENDED = Terminal(status="APPROVED_NO_PR", reason="", reported=True)
UNREPORTED = Terminal(status="APPROVED_NO_PR", reason="")


def start(build: Any, number: str = "20261202000000") -> Start:
    return Start("example-00000000", "main-local", number, "2026-12-02T00:00:00Z", "plan.md", build.run())


@pytest.mark.parametrize(
    ("terminal", "new", "expected"),
    [
        (None, False, "continue"),
        (None, True, "new-run"),
        (ENDED, False, "new-run"),
        (ENDED, True, "new-run"),
        (UNREPORTED, False, "report"),
        (UNREPORTED, True, "report"),
    ],
)
def test_what_a_start_does_about_the_ledger_that_it_finds(
    build: Any, terminal: Terminal | None, new: bool, expected: str
) -> None:
    assert opening(build.ledger(terminal=terminal), new=new) == expected
    assert opening(None, new=new) == "create"


def test_the_first_ledger_takes_its_numbers_from_the_options(build: Any) -> None:
    ledger = first_ledger(start(build))
    assert (ledger.max_turns, ledger.severity_threshold, ledger.base_ref) == (10, 5, None)
    assert ledger.merge_base == ledger.run.start_head


def test_a_new_run_counts_from_zero_and_keeps_the_old_one(build: Any) -> None:
    old = build.ledger(
        build.turn(1),
        verifications=(build.verification(1, 1),),
        terminal=ENDED,
        carry_forward=CarryForward(last_verified_head_sha="a" * 40),
    )
    new = next_run(old, start(build))
    assert new.terminal is None
    assert new.carry_forward == CarryForward()
    assert [(past.run_number, past.turns_used, past.verify_runs, past.terminal) for past in new.runs] == [
        (old.run_number, 1, 1, ENDED)
    ]
    assert new.turns == old.turns
    assert new.created_at == old.created_at


def test_a_continued_run_refuses_other_options_by_name(build: Any) -> None:
    around = Surroundings(plans=("plan.md",))
    ledger = build.ledger(run=build.run(options={"max_turns": 3}))
    flags = Flags(no_pr=True, max_turns="4", executor="claude")
    with pytest.raises(UsageError, match=r"--max-turns \(the run has 3, now 4\), --executor .*scripted.*claude"):
        refuse_changed_options(ledger, flags, resolve(flags, Defaults(), around))


def test_options_that_are_not_given_again_are_taken_from_the_run(build: Any) -> None:
    around = Surroundings(plans=("plan.md",))
    ledger = build.ledger(run=build.run(options={"max_turns": 3}))
    for flags in (Flags(no_pr=True), Flags(no_pr=True, max_turns="3", headless=True)):
        refuse_changed_options(ledger, flags, resolve(flags, Defaults(), around))
