from __future__ import annotations

from typing import Any

import pytest


def gates(decided: Any) -> list[tuple[str, str, int]]:
    return [(row.gate, row.status, row.severity) for row in decided.decision.failed_gates]


@pytest.mark.parametrize(
    ("status", "failed"),
    [
        ("PASSED", []),
        ("FAILED", [("exerciser", "FAILED", 10)]),
        ("BLOCKED", [("exerciser", "BLOCKED", 9)]),
        (["PASSED", "FAILED"], [("exerciser", "FAILED", 10)]),
        (["BLOCKED", "PASSED"], [("exerciser", "BLOCKED", 9)]),
        (["BLOCKED", "FAILED", "PASSED"], [("exerciser", "FAILED", 10)]),
        (["FAILED", "NOT_RUN"], [("exerciser", "FAILED", 10)]),
    ],
)
def test_the_exerciser_must_pass_and_of_two_rows_the_worst_counts(make: Any, status: Any, failed: list[Any]) -> None:
    decided = make.judge(make.report(skillResults=make.skills(exerciser=status)))
    assert gates(decided) == failed
    assert decided.decision.decision == ("FEEDBACK" if failed else "APPROVED")


@pytest.mark.parametrize(
    ("status", "failed"),
    [("PASSED", []), ("FAILED", [("tester", "FAILED", 10)]), ("BLOCKED", [("tester", "BLOCKED", 9)])],
)
def test_the_tester_must_pass_where_tests_are_configured(make: Any, status: str, failed: list[Any]) -> None:
    document = make.report(skillResults=make.skills(tester=status))
    assert gates(make.judge(document, testsConfigured=True)) == failed
    assert gates(make.judge(document)) == []


def test_an_approval_repeats_what_the_tester_could_not_tell(make: Any) -> None:
    rows = [*make.skills(), {"skill": "tester", "status": "PASSED", "notes": "exit 0; number of tests\nunknown"}]
    decided = make.judge(make.report(skillResults=rows), testsConfigured=True)
    assert "number of tests unknown" in decided.decision.reason


@pytest.mark.parametrize("kind", ["exerciser", "review"])
@pytest.mark.parametrize(
    ("status", "severity"),
    [
        ("PASS", None),
        ("FAIL", 10),
        ("BLOCKED", 9),
        ("NOT CHECKED", 9),
        ("NOT_CHECKED", 9),
        ("pass", 9),
        ("", 9),
        ("PASSED", 9),
    ],
)
def test_each_custom_gate_must_pass(make: Any, kind: str, status: str, severity: int | None) -> None:
    rows: dict[str, list[Any]] = {"exerciser": [], "review": []}
    rows[kind] = [{"rule": "pages load", "status": status, "evidence": "looked"}, {"rule": "x", "status": "PASS"}]
    decided = make.judge(make.report(customGates=rows))
    assert gates(decided) == ([] if severity is None else [(f"custom:{kind}:pages load", status, severity)])
    if severity is not None:
        assert decided.decision.failed_gates[0].evidence == "looked"


def test_a_configured_custom_gate_without_a_row_fails(make: Any) -> None:
    configured = {"exerciser": ["pages load"], "review": ["docs are current"]}
    rows = {"exerciser": [{"rule": "pages load", "status": "PASS"}], "review": [{"rule": "other", "status": "PASS"}]}
    decided = make.judge(make.report(customGates=rows), configuredGates=configured)
    assert gates(decided) == [("custom:review:docs are current", "MISSING", 9)]


def test_of_several_answers_to_one_custom_gate_the_worst_counts(make: Any) -> None:
    rows = [{"rule": "r", "status": one} for one in ("PASS", "BLOCKED", "FAIL", "PASS")]
    assert gates(make.judge(make.report(customGates={"exerciser": rows, "review": []}))) == [
        ("custom:exerciser:r", "FAIL", 10)
    ]


def test_an_undeclared_turn_fails_the_gate_turn_discipline(make: Any) -> None:
    assert gates(make.judge(make.report(), declared=False)) == [("turn-discipline", "UNDECLARED", 9)]
    assert make.judge(make.report(), declared=False).decision.decision == "FEEDBACK"


def test_a_verification_without_a_player_turn_has_no_turn_discipline(make: Any) -> None:
    assert gates(make.judge(make.report(), declared=False, turn=0)) == []


def test_a_local_run_that_changed_nothing_fails_the_gate_no_work(make: Any) -> None:
    scope = {"mode": "files", "baseRef": None, "mergeBase": None}
    decided = make.judge(
        make.report(scope=scope),
        of=make.ledger(baseRef=None),
        scopeMode="files",
        baseRef=None,
        mergeBase=None,
        workChanged=False,
    )
    assert gates(decided) == [("no-work", "UNCHANGED", 9)]
    assert gates(make.judge(make.report(), workChanged=False)) == []


@pytest.mark.parametrize("threshold", [1, 5, 10])
def test_failed_gates_block_whatever_the_threshold_and_are_no_part_of_k(make: Any, threshold: int) -> None:
    decided = make.judge(
        make.report(skillResults=make.skills(exerciser="BLOCKED")), of=make.ledger(severityThreshold=threshold)
    )
    assert decided.decision.decision == "FEEDBACK"
    assert decided.decision.counts.blocking == 0


def test_the_row_of_the_verification_holds_the_failed_gates(make: Any) -> None:
    decided = make.judge(make.report(skillResults=make.skills(exerciser="FAILED")))
    row = decided.ledger.verification_runs[0]
    assert row.gates == decided.decision.failed_gates
    assert row.gates[0].evidence == "notes of exerciser"


def test_evidence_of_a_gate_is_bounded(make: Any) -> None:
    rows = [{"rule": "r" * 9_000, "status": "s" * 9_000, "evidence": "e" * 9_000}]
    decided = make.judge(make.report(customGates={"exerciser": [], "review": rows}))
    assert len(decided.decision.to_bytes()) < 5_000
