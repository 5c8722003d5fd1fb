from __future__ import annotations

from typing import Any

import pytest


def test_feedback_asks_for_a_player_turn_while_the_budget_lasts(make: Any) -> None:
    document = make.report(make.issue(1))
    assert make.judge(document, turn=9).decision.next == "PLAYER_TURN"
    last = make.judge(document, turn=10).decision
    assert (last.decision, last.next) == ("FEEDBACK", "TERMINAL:TURN_LIMIT_VERIFY")
    assert "turn 10 of 10 was the last" in last.reason
    assert make.judge(make.report(), turn=10).decision.next == "PHASE_2"


def test_a_spent_budget_does_not_forbid_a_rerun_or_the_full_audit(make: Any) -> None:
    assert make.judge(make.report(skillResults=[]), turn=10).decision.next == "RERUN_VERIFY"
    assert make.judge(make.report(), turn=10, fullAudit=False).decision.next == "FULL_AUDIT"


def test_an_approval_of_a_delta_is_always_provisional(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    delta = loop.verify(fullAudit=False, scope={"deltaFiles": ["src/file1.py"]})
    assert (delta.decision, delta.next) == ("APPROVED", "FULL_AUDIT")
    assert loop.state.carry_forward.last_decision == "PROVISIONAL"
    assert loop.state.run.reruns_this_turn == 0
    full = loop.verify(same_turn=True)
    assert (full.decision, full.next) == ("APPROVED", "PHASE_2")
    assert loop.state.carry_forward.last_decision == "APPROVED"


def test_a_delta_that_looked_at_none_of_the_blocking_findings_leaves_them_to_the_full_audit(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    delta = loop.verify(fullAudit=False, scope={"deltaFiles": ["src/other.py"]})
    assert (delta.decision, delta.next, delta.counts.blocking) == ("APPROVED", "FULL_AUDIT", 1)
    assert loop.state.carry_forward.last_decision == "PROVISIONAL"
    full = loop.verify(same_turn=True)
    assert full.decision == "APPROVED"
    assert loop.finding().disposition == "fixed"


@pytest.mark.parametrize(
    "changes",
    [
        {"rechecks": [{"ledgerId": "F-1", "status": "still-open"}]},
        {"skillResults": [{"skill": "exerciser", "status": "FAILED"}, {"skill": "reviewer", "status": "COMPLETED"}]},
        {"declared": False},
    ],
)
def test_a_delta_blocks_as_soon_as_it_looked_or_something_else_blocks(make: Any, changes: dict[str, Any]) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    assert loop.verify(fullAudit=False, **changes).decision == "FEEDBACK"


def test_one_new_blocking_finding_makes_the_delta_count_with_all(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    decision = loop.verify(make.issue(2), fullAudit=False)
    assert (decision.decision, decision.counts.blocking) == ("FEEDBACK", 2)


def test_a_full_audit_that_finds_nothing_new_still_blocks_on_what_is_open(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1), rechecks=[])
    decision = loop.verify(rechecks=[{"ledgerId": "F-1", "status": "still-open"}])
    assert (decision.decision, decision.counts.blocking, decision.findings) == ("FEEDBACK", 1, [])


def test_carry_forward_describes_the_sha_and_the_threshold_of_its_own_decision(make: Any) -> None:
    loop = make.loop()
    loop.verify()
    first = loop.head
    carry = loop.state.carry_forward
    assert (carry.last_verified_head_sha, carry.last_verified_threshold, carry.last_full_audit_sha) == (first, 5, first)
    assert carry.last_decision == "APPROVED"
    loop.state = loop.state.model_copy(update={"severity_threshold": 3})
    assert loop.state.carry_forward.last_verified_threshold == 5, "a later run's own threshold changes nothing"
    loop.verify(fullAudit=False)
    carry = loop.state.carry_forward
    assert (carry.last_verified_head_sha, carry.last_verified_threshold) == (loop.head, 3)
    assert (carry.last_full_audit_sha, carry.last_decision) == (first, "PROVISIONAL")
    loop.verify(make.issue(1))
    assert loop.state.carry_forward.last_decision == "FEEDBACK"


def test_an_incomplete_result_on_an_approved_sha_takes_the_approval_back(make: Any) -> None:
    loop = make.loop()
    loop.verify()
    loop.verify(same_turn=True, skillResults=[], rerunsThisTurn=2)
    assert loop.state.carry_forward.last_decision == "FEEDBACK"


def test_counts_are_those_of_the_whole_ledger_after_the_decision(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1), make.issue(2, severity=2))
    decision = loop.verify(make.issue(3), fullAudit=False)
    assert (decision.counts.blocking, decision.counts.quarantined, decision.counts.deferred) == (2, 0, 0)
    assert "2 blocking: F-1, F-3" in decision.reason


def test_sticky_is_open_seen_more_than_once_and_no_coverage(make: Any) -> None:
    loop = make.loop()
    problems = (make.issue(1), make.issue(2, **{"class": "coverage"}), make.issue(3, severity=2))
    loop.verify(*problems)
    assert loop.verify(*problems, make.issue(4)).sticky == ["F-1"]


def test_the_printed_decision_has_exactly_the_promised_keys(make: Any) -> None:
    import json

    printed = json.loads(
        make.judge(make.report(make.issue(1), skillResults=make.skills(exerciser="FAILED"))).decision.to_bytes()
    )
    assert set(printed) == {
        "decision",
        "next",
        "counts",
        "findings",
        "failedGates",
        "quarantine",
        "sticky",
        "reviewer",
        "reason",
    }
    assert set(printed["counts"]) == {"blocking", "quarantined", "deferred"}
    assert set(printed["findings"][0]) == {
        "issue",
        "ledgerId",
        "isNew",
        "matchReason",
        "disposition",
        "severity",
        "occurrences",
        "followUp",
        "quarantineId",
    }
    assert {"gate", "status", "severity"} <= set(printed["failedGates"][0])
