from __future__ import annotations

from typing import Any

import pytest


def test_a_complete_report_without_problems_is_approved(make: Any) -> None:
    decided = make.judge(make.report())
    assert (decided.decision.decision, decided.decision.next) == ("APPROVED", "PHASE_2")
    assert decided.decision.reviewer == "codex-reviewer"


MALFORMED: dict[str, Any] = {
    "schema as text": {"schemaVersion": "1"},
    "schema as true": {"schemaVersion": True},
    "schema as 1.0": {"schemaVersion": 1.0},
    "another schema": {"schemaVersion": 2},
    "status in another case": {"status": "OK"},
    "unknown status": {"status": "fine"},
    "ok with an error": {"error": "but something broke"},
    "no findings key": {"findings": None},
    "no issues list": {"issues": {}},
    "gates as a list": {"customGates": []},
    "unknown recheck": {"rechecks": [{"ledgerId": "F-1", "status": "FIXED"}]},
    "unknown diagnosis": {"diagnoses": [{"issueId": "VI-1", "preExisting": "YES", "touchedByDiff": []}]},
    "blocked": {"status": "blocked", "error": "no network"},
    "error": {"status": "error", "error": "crashed"},
    "another head": {"scope": {"headSha": "c" * 40}},
    "head in upper case": {"scope": {"headSha": "A" * 40}},
    "short head": {"scope": {"headSha": "a" * 12}},
    "another base": {"scope": {"baseRef": "upstream/main"}},
    "no base": {"scope": {"baseRef": None}},
    "another merge base": {"scope": {"mergeBase": "d" * 40}},
    "another scope": {"scope": {"mode": "files", "baseRef": None, "mergeBase": None}},
    "only a delta where a full audit was asked": {"scope": {"deltaBaseSha": "c" * 40}},
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_report_that_is_malformed_or_for_something_else_is_a_rerun(make: Any, name: str) -> None:
    decided = make.judge(make.report(**MALFORMED[name]))
    assert (decided.decision.decision, decided.decision.next) == ("RERUN", "RERUN_VERIFY")
    assert decided.decision.reason


@pytest.mark.parametrize("severity", [0, 11, "8", 8.0, True, None, -1])
def test_a_severity_outside_the_whole_numbers_1_to_10_is_malformed(make: Any, severity: object) -> None:
    decided = make.judge(make.report(make.issue(severity=severity)))
    assert decided.decision.decision == "RERUN"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"schemaVersion": 1}',
        b"[" * 100_000,
        b'{"schemaVersion": 1, "schemaVersion": 1}',
        b'{"schemaVersion": NaN}',
        b'{"schemaVersion": ' + b"9" * 5000 + b"}",
    ],
)
def test_bytes_that_are_no_report_are_a_rerun(make: Any, data: bytes) -> None:
    from touchline.gates.decide import decide

    decided = decide(make.ledger(), data, make.context())
    assert decided.decision.decision == "RERUN"
    assert decided.ledger.verification_runs[0].status == "unavailable"


def test_a_doubled_key_is_malformed_since_it_has_two_meanings(make: Any) -> None:
    from touchline.gates.decide import decide

    text = make.as_bytes(make.report(status="blocked", error="x")).replace(
        b'"status": "blocked", "error": "x"', b'"status": "blocked", "error": null, "status": "ok"'
    )
    assert b'"status": "ok"' in text
    assert decide(make.ledger(), text, make.context()).decision.decision == "RERUN"


def test_keys_in_another_spelling_are_no_keys(make: Any) -> None:
    document = make.report()
    document["skill_results"] = document.pop("skillResults")
    assert make.judge(document).decision.decision == "RERUN"


def test_findings_and_issues_that_differ_contradict_each_other(make: Any) -> None:
    document = make.report(make.issue(1), make.issue(2))
    del document["issues"][1]
    decided = make.judge(document)
    assert decided.decision.decision == "RERUN"
    assert "2 findings and 1 issues" in decided.decision.reason


def test_two_issues_of_one_id_contradict_each_other(make: Any) -> None:
    assert make.judge(make.report(make.issue(1), make.issue(2, id="VI-1"))).decision.decision == "RERUN"


def test_a_report_that_looked_deeper_than_asked_is_fine(make: Any) -> None:
    decided = make.judge(make.report(), fullAudit=False)
    assert (decided.decision.decision, decided.decision.next) == ("APPROVED", "FULL_AUDIT")


def test_a_tree_hash_is_compared_exactly_where_the_coach_knows_one(make: Any) -> None:
    assert make.judge(make.report(scope={"treeHash": "T1"}), treeHash="t1").decision.decision == "RERUN"
    assert make.judge(make.report(), treeHash="t1").decision.decision == "RERUN"
    assert make.judge(make.report(scope={"treeHash": "t1"}), treeHash="t1").decision.decision == "APPROVED"


@pytest.mark.parametrize(
    ("scope", "decision"),
    [
        ({"mode": "files", "baseRef": None, "mergeBase": None}, "APPROVED"),
        ({"mode": "files", "baseRef": "origin/main", "mergeBase": None}, "RERUN"),
        ({"mode": "files", "baseRef": None, "mergeBase": "b" * 40}, "RERUN"),
        ({"mode": "branch", "baseRef": None, "mergeBase": None}, "RERUN"),
    ],
)
def test_local_file_scope_has_no_base(make: Any, scope: dict[str, Any], decision: str) -> None:
    state = make.ledger(baseRef=None)
    decided = make.judge(make.report(scope=scope), of=state, scopeMode="files", baseRef=None, mergeBase=None)
    assert decided.decision.decision == decision


def test_the_ledger_names_base_and_merge_base_where_the_context_does_not(make: Any) -> None:
    assert make.judge(make.report(), baseRef=None, mergeBase=None).decision.decision == "APPROVED"
    wrong = make.report(scope={"mergeBase": "e" * 40})
    assert make.judge(wrong, baseRef=None, mergeBase=None).decision.decision == "RERUN"


@pytest.mark.parametrize("status", [None, "NOT_RUN", "SKIPPED", "passed", "COMPLETED", "", "OK", ["PASSED", "NOT_RUN"]])
def test_an_exerciser_that_did_not_run_is_a_rerun(make: Any, status: Any) -> None:
    assert make.judge(make.report(skillResults=make.skills(exerciser=status))).decision.decision == "RERUN"


@pytest.mark.parametrize("status", [None, "NOT_RUN", "SKIPPED", "COMPLETED"])
def test_a_tester_that_did_not_run_is_a_rerun_only_where_tests_are_configured(make: Any, status: Any) -> None:
    document = make.report(skillResults=make.skills(tester=status))
    assert make.judge(document, testsConfigured=True).decision.decision == "RERUN"
    assert make.judge(document).decision.decision == "APPROVED"


@pytest.mark.parametrize("status", [None, "BLOCKED", "FAILED", "PASSED", "NOT_RUN", "completed"])
def test_a_verification_without_a_completed_judge_is_a_rerun(make: Any, status: Any) -> None:
    document = make.report(skillResults=make.skills(**{"codex-reviewer": status}))
    assert make.judge(document).decision.decision == "RERUN"


def test_the_most_preferred_judge_that_completed_is_recorded(make: Any) -> None:
    both = make.report(skillResults=make.skills(reviewer="COMPLETED"))
    assert make.judge(both).decision.reviewer == "codex-reviewer"
    second = make.judge(make.report(skillResults=make.skills(**{"codex-reviewer": "BLOCKED", "reviewer": "COMPLETED"})))
    assert second.decision.reviewer == "reviewer"
    assert second.ledger.verification_runs[0].reviewer == "reviewer"
    own = make.report(skillResults=make.skills(**{"codex-reviewer": None, "mine": "COMPLETED"}))
    assert make.judge(own, judges=["mine"]).decision.reviewer == "mine"
    assert make.judge(own).decision.decision == "RERUN"


def test_a_rerun_books_nothing_but_its_row_and_the_counter(make: Any) -> None:
    before = make.loop()
    before.verify(make.issue(1), make.issue(2, **{"class": "coverage"}))
    state = before.state
    decided = make.judge(make.report(make.issue(3), status="error", error="died"), of=state, verifyRun=2, turn=2)
    after = decided.ledger
    assert decided.decision.decision == "RERUN"
    assert decided.decision.findings == decided.decision.failed_gates == []
    assert after.findings == state.findings
    assert after.quarantine == state.quarantine
    assert after.carry_forward == state.carry_forward
    assert after.run.reruns_this_turn == 1
    row = after.verification_runs[-1]
    assert (row.verify_run, row.state, row.decision, row.status, row.finding_ids) == (
        2,
        "decided",
        "RERUN",
        "error",
        [],
    )
    assert "died" in row.reason
    assert after.model_copy(update={"verification_runs": state.verification_runs, "run": state.run}) == state, (
        "something else changed"
    )


def test_a_rerun_comes_before_findings_and_gates(make: Any) -> None:
    document = make.report(
        make.issue(1, severity=10), skillResults=make.skills(exerciser="FAILED", **{"codex-reviewer": None})
    )
    assert make.judge(document).decision.decision == "RERUN"


@pytest.mark.parametrize(("before", "decision"), [(0, "RERUN"), (1, "RERUN"), (2, "FEEDBACK"), (7, "FEEDBACK")])
def test_the_third_incomplete_result_in_a_turn_is_feedback(make: Any, before: int, decision: str) -> None:
    decided = make.judge(make.report(skillResults=[]), rerunsThisTurn=before)
    assert decided.decision.decision == decision
    gates = [(row.gate, row.severity) for row in decided.decision.failed_gates]
    assert gates == ([("verification", 9)] if decision == "FEEDBACK" else [])


def test_an_incomplete_full_audit_counts_as_a_rerun(make: Any) -> None:
    loop = make.loop()
    loop.verify(fullAudit=False)
    decision = loop.verify(same_turn=True, skillResults=[])
    assert decision.decision == "RERUN"
    assert loop.state.run.reruns_this_turn == 1


def test_the_third_incomplete_result_books_what_the_report_validly_holds(make: Any) -> None:
    good, bad = make.issue(1), make.issue(2, severity=11)
    decided = make.judge(make.report(good, bad), rerunsThisTurn=2)
    assert [row.issue for row in decided.decision.findings] == ["VI-1"]
    assert decided.decision.counts.blocking == 1
    assert [row.gate for row in decided.decision.failed_gates] == ["verification"]


def test_a_report_for_another_head_holds_nothing_about_this_one(make: Any) -> None:
    decided = make.judge(make.report(make.issue(1), scope={"headSha": "f" * 40}), rerunsThisTurn=2)
    assert decided.decision.findings == []
    assert [row.gate for row in decided.decision.failed_gates] == ["verification"]
    assert decided.decision.decision == "FEEDBACK"


def test_an_incomplete_result_proves_nothing_of_its_head(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    before = loop.state.carry_forward
    loop.verify(skillResults=[], rerunsThisTurn=2)
    assert loop.state.carry_forward == before
    assert loop.finding().disposition == "open"


def test_a_row_that_has_its_decision_is_never_decided_again(make: Any) -> None:
    loop = make.loop()
    first = loop.verify(make.issue(1))
    again = make.judge(
        make.report(make.issue(1), scope={"headSha": loop.head}), of=loop.state, headSha=loop.head, verifyRun=1
    )
    assert again.ledger == loop.state
    assert again.decision.decision == first.decision == "FEEDBACK"


def test_a_row_found_read_becomes_decided_in_place(make: Any) -> None:
    row = {
        "runNumber": "20260101000000",
        "verifyRun": 1,
        "turn": 1,
        "state": "read",
        "headSha": make.head,
        "reportPath": "reports/1.json",
        "fullAudit": True,
    }
    decided = make.judge(make.report(make.issue(1)), of=make.ledger(verificationRuns=[row]))
    rows = decided.ledger.verification_runs
    assert len(rows) == 1
    assert (rows[0].state, rows[0].decision, rows[0].finding_ids, rows[0].next) == (
        "decided",
        "FEEDBACK",
        ["F-1"],
        "PLAYER_TURN",
    )
