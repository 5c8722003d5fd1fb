from __future__ import annotations

from typing import Any

import pytest

from touchline.gates.quarantine import diagnosis_spent

SIGNATURE = "FAILED tests/test_db.py::test_connect - ConnectionRefusedError"


def failure(make: Any, number: int = 1, **changes: Any) -> dict[str, Any]:
    """A failing test outside the change."""
    return make.issue(
        number,
        **{
            "path": "tests/test_db.py",
            "title": "test_connect fails",
            "severity": 9,
            "class": "test-failure",
            "mechanism": "test-connect-fails",
            "signature": SIGNATURE,
            **changes,
        },
    )


def proof(make: Any, **changes: Any) -> dict[str, Any]:
    """A diagnosis that proves issue VI-1 to be pre-existing."""
    return {
        "issueId": "VI-1",
        "preExisting": "yes",
        "touchedByDiff": [],
        "reproducedAt": make.base,
        "command": "pytest tests/test_db.py",
        "outputExcerpt": "ConnectionRefusedError",
        **changes,
    }


def quarantined(make: Any) -> Any:
    """A loop in which the failure was quarantined in turn 1."""
    loop = make.loop()
    decision = loop.verify(failure(make), diagnoses=[proof(make)], diffPaths=["src/app.py"])
    assert decision.decision == "APPROVED"
    return loop


def test_a_proven_failure_opens_an_entry_and_causes_no_feedback_whatever_its_severity(make: Any) -> None:
    decided = make.judge(make.report(failure(make, severity=10), diagnoses=[proof(make)]), diffPaths=["src/app.py"])
    entry = decided.ledger.quarantine[0]
    assert (entry.id, entry.signature, entry.paths, entry.active) == ("Q-1", SIGNATURE, ["tests/test_db.py"], True)
    assert entry.provenance.reproduced_at == make.base
    assert entry.provenance.command == "pytest tests/test_db.py"
    assert entry.reraise_count == 1
    row = decided.decision.findings[0]
    assert (row.disposition, row.quarantine_id, row.severity) == ("quarantined", "Q-1", 10)
    assert decided.decision.decision == "APPROVED"
    assert (decided.decision.counts.blocking, decided.decision.counts.quarantined) == (0, 1)
    assert decided.decision.quarantine == [entry]


@pytest.mark.parametrize(
    "changes",
    [
        {"preExisting": "no"},
        {"preExisting": "unknown"},
        {"touchedByDiff": ["tests/test_db.py"]},
        {"touchedByDiff": [""]},
        {"reproducedAt": ""},
        {"reproducedAt": "c" * 40},
        {"issueId": "VI-2"},
        {"outputExcerpt": 'File "/tmp/tree/src/app.py", line 3, in connect'},
        {"outputExcerpt": "src\\app.py:3: error"},
    ],
)
def test_without_the_whole_proof_no_entry_opens(make: Any, changes: dict[str, Any]) -> None:
    decided = make.judge(make.report(failure(make), diagnoses=[proof(make, **changes)]), diffPaths=["src/app.py"])
    assert decided.ledger.quarantine == []
    assert decided.decision.decision == "FEEDBACK"


@pytest.mark.parametrize(
    "excerpt", ["src/app.pyc", "mysrc/app.py2", "src/app.py.orig", "other-src/app.pyx", "xsrc/app.py"]
)
def test_a_path_that_only_looks_like_one_of_the_diff_is_none(make: Any, excerpt: str) -> None:
    decided = make.judge(
        make.report(failure(make), diagnoses=[proof(make, outputExcerpt=excerpt)]), diffPaths=["src/app.py"]
    )
    assert len(decided.ledger.quarantine) == 1


@pytest.mark.parametrize("changes", [{"signature": None}, {"signature": " "}, {"path": None}])
def test_a_failure_that_could_not_be_recognised_again_opens_no_entry(make: Any, changes: dict[str, Any]) -> None:
    decided = make.judge(make.report(failure(make, **changes), diagnoses=[proof(make)]))
    assert decided.ledger.quarantine == []


def test_a_failure_in_a_file_of_the_diff_is_never_quarantined_whatever_the_diagnosis_claims(make: Any) -> None:
    decided = make.judge(make.report(failure(make), diagnoses=[proof(make)]), diffPaths=["./tests/test_db.py"])
    assert decided.ledger.quarantine == []


def test_an_entry_matches_by_signature_and_path_and_counts_each_reraise(make: Any) -> None:
    loop = quarantined(make)
    decision = loop.verify(failure(make, severity=10), diffPaths=["src/app.py"])
    assert (decision.decision, decision.counts.quarantined) == ("APPROVED", 1)
    assert loop.state.quarantine[0].reraise_count == 2
    assert loop.finding().occurrences == 2
    other_file = loop.verify(failure(make, path="tests/test_other.py"), diffPaths=["src/app.py"])
    assert other_file.decision == "FEEDBACK"
    assert loop.state.quarantine[0].reraise_count == 2


def test_a_new_failure_of_a_quarantined_suite_is_still_caught(make: Any) -> None:
    loop = quarantined(make)
    new = failure(
        make,
        2,
        title="test_query fails",
        mechanism="test-query",
        signature="FAILED test_query",
        rootCause="Query text is cut",
    )
    decision = loop.verify(failure(make), new, diffPaths=["src/app.py"])
    assert decision.decision == "FEEDBACK"
    assert decision.counts.blocking == 1
    assert loop.state.quarantine[0].active


def test_only_the_first_matching_entry_counts_and_only_once(make: Any) -> None:
    loop = quarantined(make)
    twin = loop.state.quarantine[0].model_copy(update={"id": "Q-2", "reraise_count": 0})
    loop.state = loop.state.model_copy(update={"quarantine": [*loop.state.quarantine, twin]})
    loop.verify(failure(make, 1), failure(make, 2, mechanism="another"), diffPaths=["src/app.py"])
    assert [entry.reraise_count for entry in loop.state.quarantine] == [2, 0]


def test_not_being_seen_closes_nothing(make: Any) -> None:
    loop = quarantined(make)
    loop.verify(diffPaths=["src/app.py"])
    assert loop.state.quarantine[0].active
    assert loop.finding().disposition == "quarantined"


CLOSED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("merge base", {"mergeBase": "e" * 40}, {}),
    ("touches", {"diffPaths": ["tests\\test_db.py"]}, {}),
    ("signature", {"diffPaths": ["src/app.py"]}, {"signature": "FAILED test_connect - TimeoutError"}),
]


@pytest.mark.parametrize(("why", "context", "changes"), CLOSED)
def test_an_entry_closes_when_its_ground_moves_and_the_failure_is_open(
    make: Any, why: str, context: dict[str, Any], changes: dict[str, Any]
) -> None:
    loop = quarantined(make)
    decision = loop.verify(failure(make, **changes), **context)
    entry = loop.state.quarantine[0]
    assert not entry.active
    assert why in (entry.invalidated_by or "")
    assert decision.decision == "FEEDBACK"
    assert (loop.finding().disposition, loop.finding().quarantine_id) == ("open", None)
    assert decision.counts.quarantined == 0


def test_a_closed_entry_is_diagnosed_once_more_and_may_open_anew(make: Any) -> None:
    loop = quarantined(make)
    moved = "e" * 40
    decision = loop.verify(failure(make), mergeBase=moved, diagnoses=[proof(make, reproducedAt=moved)])
    assert decision.decision == "APPROVED"
    assert [(entry.id, entry.active, entry.rediagnosed) for entry in loop.state.quarantine] == [
        ("Q-1", False, True),
        ("Q-2", True, False),
    ]
    assert loop.finding().quarantine_id == "Q-2"


def test_a_second_new_diagnosis_changes_nothing(make: Any) -> None:
    loop = quarantined(make)
    moved = "e" * 40
    path = "tests/test_db.py"
    loop.verify(failure(make), mergeBase=moved)
    assert not diagnosis_spent(loop.state.quarantine, SIGNATURE, path)
    loop.verify(failure(make), mergeBase=moved, diagnoses=[proof(make, preExisting="unknown", reproducedAt=moved)])
    assert diagnosis_spent(loop.state.quarantine, SIGNATURE, path)
    decision = loop.verify(failure(make), mergeBase=moved, diagnoses=[proof(make, reproducedAt=moved)])
    assert decision.decision == "FEEDBACK"
    assert [entry.active for entry in loop.state.quarantine] == [False]


def test_a_seeded_entry_counts_only_on_its_own_merge_base(make: Any) -> None:
    seeded = {
        "id": "Q-7",
        "title": "test_connect fails",
        "signature": SIGNATURE,
        "paths": ["./tests/test_db.py"],
        "provenance": {"reproducedAt": make.base, "command": "pytest", "outputExcerpt": ""},
        "firstSeen": 1,
    }
    here = make.judge(make.report(failure(make)), of=make.ledger(quarantine=[seeded]))
    assert here.decision.findings[0].quarantine_id == "Q-7"
    seeded["provenance"] = {"reproducedAt": "9" * 40, "command": "pytest", "outputExcerpt": ""}
    elsewhere = make.judge(make.report(failure(make)), of=make.ledger(quarantine=[seeded]))
    assert elsewhere.decision.decision == "FEEDBACK"
    assert not elsewhere.ledger.quarantine[0].active


def test_a_report_that_forgets_the_signature_does_not_reopen_a_quarantined_finding(make: Any) -> None:
    loop = quarantined(make)
    decision = loop.verify(failure(make, signature=None), diffPaths=["src/app.py"])
    assert decision.findings[0].disposition == "quarantined"
    assert loop.state.quarantine[0].active


def test_a_local_run_proves_at_the_start_of_the_run(make: Any) -> None:
    scope = {"mode": "files", "baseRef": None, "mergeBase": None}
    decided = make.judge(
        make.report(failure(make), scope=scope, diagnoses=[proof(make)]),
        of=make.ledger(baseRef=None),
        scopeMode="files",
        baseRef=None,
        mergeBase=None,
    )
    assert decided.decision.decision == "APPROVED"


def test_an_open_finding_with_an_active_entry_is_no_part_of_k(make: Any) -> None:
    loop = make.loop()
    loop.verify(failure(make))
    loop.verify(failure(make, id="VI-1"), diagnoses=[proof(make)], same_turn=True)
    assert loop.finding().disposition == "quarantined"
