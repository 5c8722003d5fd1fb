from __future__ import annotations

import json
from typing import Any

import pytest

from touchline.documents.ledger import TurnRow


def missing(make: Any, number: int = 1, **changes: Any) -> dict[str, Any]:
    return make.issue(number, **{"class": "coverage", "path": f"tests/test_{number}.py", **changes})


def took_turn(make: Any, loop: Any, turn: int, **changes: Any) -> None:
    """Book that the player took `turn`."""
    row = TurnRow.model_validate_json(json.dumps(make.turn_row(turn, **changes)))
    loop.state = loop.state.model_copy(update={"turns": [*loop.state.turns, row]})


def given(*ids: str) -> dict[str, Any]:
    return {"feedbackItemsGiven": len(ids), "feedbackFindingIds": list(ids)}


def receipts(*ids: str) -> dict[str, Any]:
    rows = [{"item": str(n), "findingId": one, "status": "addressed"} for n, one in enumerate(ids, start=1)]
    return {"feedbackItemsGiven": len(ids), "receipts": rows}


@pytest.mark.parametrize("feedback", [given("F-1"), receipts("F-1"), {"feedbackItemsGiven": 1}])
@pytest.mark.parametrize("first_order", [False, True])
def test_coverage_of_what_a_coverage_turn_touched_is_second_order_and_never_blocks(
    make: Any, feedback: dict[str, Any], first_order: bool
) -> None:
    loop = make.loop()
    assert loop.verify(missing(make, 1)).decision == "FEEDBACK"
    took_turn(make, loop, 2, changedPaths=["./tests/test_2.py"], **feedback)
    decision = loop.verify(missing(make, 2, severity=9, firstOrder=first_order))
    row = decision.findings[0]
    assert (row.disposition, row.severity) == ("deferred-out-of-scope", 4)
    assert row.follow_up is not None
    assert row.follow_up.kind == "pr-body"
    assert (decision.decision, decision.counts.deferred, decision.counts.blocking) == ("APPROVED", 1, 0)


@pytest.mark.parametrize(
    "turn",
    [
        {"changedPaths": ["tests/test_9.py"], **given("F-1")},
        {"changedPaths": ["tests/test_2.py"], **given()},
        {"changedPaths": ["tests/test_2.py"], **given("F-3")},
    ],
)
def test_otherwise_a_coverage_finding_of_an_early_turn_blocks(make: Any, turn: dict[str, Any]) -> None:
    loop = make.loop()
    loop.verify(missing(make, 1), make.issue(5), make.issue(6))
    took_turn(make, loop, 2, **turn)
    assert loop.verify(missing(make, 2)).decision == "FEEDBACK"
    assert loop.finding("F-4").disposition == "open"


def test_another_class_in_the_same_place_is_never_capped(make: Any) -> None:
    loop = make.loop()
    loop.verify(missing(make, 1))
    took_turn(make, loop, 2, changedPaths=["tests/test_2.py"], **given("F-1"))
    loop.verify(make.issue(2, path="tests/test_2.py", title="The test asserts nothing", severity=8))
    finding = loop.finding("F-2")
    assert (finding.disposition, finding.severity) == ("open", 8)


@pytest.mark.parametrize(
    ("turn", "first_order", "disposition"),
    [
        (1, False, "open"),
        (2, False, "open"),
        (3, False, "deferred-out-of-scope"),
        (9, False, "deferred-out-of-scope"),
        (3, True, "open"),
        (9, True, "open"),
    ],
)
def test_new_coverage_is_capped_from_the_third_turn_on_unless_first_order(
    make: Any, turn: int, first_order: bool, disposition: str
) -> None:
    decided = make.judge(make.report(missing(make, firstOrder=first_order)), turn=turn)
    assert decided.decision.findings[0].disposition == disposition
    assert decided.decision.findings[0].severity == (8 if disposition == "open" else 4)


def test_the_round_of_the_cap_is_the_ledgers_policy(make: Any) -> None:
    state = make.ledger(policy={"coverageCapFromRound": 6})
    assert make.judge(make.report(missing(make)), of=state, turn=5).decision.decision == "FEEDBACK"
    assert make.judge(make.report(missing(make)), of=state, turn=6).decision.decision == "APPROVED"


@pytest.mark.parametrize(("threshold", "severity"), [(1, 1), (2, 1), (5, 4), (10, 8)])
def test_the_cap_is_one_below_the_threshold_and_never_below_one_nor_above_the_report(
    make: Any, threshold: int, severity: int
) -> None:
    decided = make.judge(make.report(missing(make)), of=make.ledger(severityThreshold=threshold), turn=3)
    assert decided.decision.findings[0].severity == severity
    assert decided.decision.decision == "APPROVED"


def test_deferred_and_seen_again_stays_deferred(make: Any) -> None:
    loop = make.loop()
    loop.turn = 2
    loop.verify(missing(make))
    for _ in range(3):
        decision = loop.verify(missing(make, severity=10, firstOrder=True, newHarmEvidence="look"))
        assert decision.decision == "APPROVED"
    finding = loop.finding()
    assert (finding.disposition, finding.severity, finding.disposition_set_at) == ("deferred-out-of-scope", 4, 1)
    assert finding.follow_up is not None


def test_coverage_never_escalates_by_recurring(make: Any) -> None:
    loop = make.loop()
    for _ in range(4):
        decision = loop.verify(missing(make, severity=6))
        assert decision.sticky == []
    assert loop.finding().occurrences == 4
    assert loop.finding().severity == 6


def test_an_old_open_coverage_finding_still_blocks_in_a_late_turn(make: Any) -> None:
    loop = make.loop()
    loop.verify(missing(make))
    loop.turn = 5
    assert loop.verify(missing(make)).decision == "FEEDBACK"


def test_a_loop_over_endless_new_coverage_remarks_ends(make: Any) -> None:
    loop = make.loop()
    decisions = []
    for turn in range(1, 9):
        if turn > 1:
            blocking = [one.id for one in loop.state.findings if one.disposition == "open"]
            took_turn(make, loop, turn, changedPaths=[f"tests/test_{turn}.py"], **given(*blocking))
        decision = loop.verify(missing(make, turn, severity=10))
        decisions.append(decision.decision)
        if decision.decision == "APPROVED":
            break
    assert decisions == ["FEEDBACK", "APPROVED"]
    late = make.loop()
    kinds = [late.verify(missing(make, turn, severity=10)).decision for turn in range(1, 5)]
    assert kinds == ["FEEDBACK", "FEEDBACK", "APPROVED", "APPROVED"], "even where no turn was asked for coverage"


def test_deferred_counts_those_of_this_run(make: Any) -> None:
    loop = make.loop()
    loop.turn = 2
    assert loop.verify(missing(make, 1)).counts.deferred == 1
    loop.state = loop.state.model_copy(update={"run_number": "20260303000000"})
    assert loop.verify(missing(make, 2)).counts.deferred == 1
