from __future__ import annotations

from typing import Any

import pytest


def test_a_new_finding_is_booked_with_everything_that_the_report_says(make: Any) -> None:
    loop = make.loop()
    decision = loop.verify(make.issue(1, symbol="f", symptom="hangs", evidence="it hung for a minute"))
    row = decision.findings[0]
    assert (row.issue, row.ledger_id, row.is_new, row.match_reason, row.occurrences) == ("VI-1", "F-1", True, None, 1)
    finding = loop.finding()
    assert finding.key == "src/file1.py#mechanism-1"
    assert (finding.severity, finding.severity_history, finding.disposition) == (8, [8], "open")
    assert (finding.first_seen, finding.last_seen, finding.disposition_set_at, finding.last_turn) == (1, 1, 1, 1)
    assert (finding.sources, finding.evidence, finding.location.line) == (
        ["codex-reviewer"],
        "it hung for a minute",
        11,
    )
    assert loop.state.verification_runs[0].finding_ids == ["F-1"]


def test_a_finding_seen_again_keeps_its_id_and_says_why(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    decision = loop.verify(make.issue(1, id="VI-77", severity=6))
    row = decision.findings[0]
    assert (row.ledger_id, row.is_new, row.match_reason, row.occurrences) == ("F-1", False, "same-key", 2)
    finding = loop.finding()
    assert (finding.severity, finding.severity_history) == (6, [8, 6])
    assert (finding.matched_to, finding.match_reason) == ("F-1", "same-key")
    assert decision.sticky == ["F-1"]


def test_an_occurrence_counts_at_most_once_a_turn(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1), fullAudit=False)
    loop.verify(make.issue(1), same_turn=True)
    assert loop.finding().occurrences == 1
    loop.verify(make.issue(1))
    assert loop.finding().occurrences == 2


def test_turn_one_of_a_later_run_is_another_turn(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    loop.state = loop.state.model_copy(update={"run_number": "20260202000000"})
    loop.turn = 0
    loop.verify(make.issue(1))
    assert loop.finding().occurrences == 2


def test_two_issues_of_one_report_that_are_the_same_finding_are_one(make: Any) -> None:
    loop = make.loop()
    first = make.issue(1, severity=6, evidence="seen by the first judge")
    second = make.issue(2, severity=9, path="src/file1.py", mechanism="mechanism-1", evidence="and by the second")
    decision = loop.verify(first, second)
    assert [row.ledger_id for row in decision.findings] == ["F-1", "F-1"]
    assert [row.is_new for row in decision.findings] == [True, False]
    assert len(loop.state.findings) == 1
    finding = loop.finding()
    assert (finding.severity, finding.occurrences) == (9, 1)
    assert "seen by the first judge" in finding.evidence
    assert "and by the second" in finding.evidence
    assert first["title"] in finding.evidence


@pytest.mark.parametrize(
    ("severity", "threshold", "disposition", "k"),
    [
        (4, 5, "accepted-below-threshold", 0),
        (5, 5, "open", 1),
        (10, 10, "open", 1),
        (9, 10, "accepted-below-threshold", 0),
        (1, 1, "open", 1),
    ],
)
def test_the_threshold_divides_open_from_accepted(
    make: Any, severity: int, threshold: int, disposition: str, k: int
) -> None:
    decided = make.judge(make.report(make.issue(1, severity=severity)), of=make.ledger(severityThreshold=threshold))
    assert decided.decision.findings[0].disposition == disposition
    assert decided.decision.counts.blocking == k
    assert decided.decision.decision == ("FEEDBACK" if k else "APPROVED")


@pytest.mark.parametrize(
    "class_",
    [
        "correctness",
        "security",
        "coverage",
        "comment",
        "ux",
        "visual",
        "test-failure",
        "environment",
        "style",
        "plan-completeness",
    ],
)
def test_any_class_blocks_at_the_threshold(make: Any, class_: str) -> None:
    assert make.judge(make.report(make.issue(1, severity=5, **{"class": class_}))).decision.decision == "FEEDBACK"


def test_now_below_the_threshold_is_accepted(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    decision = loop.verify(make.issue(1, severity=3))
    assert decision.decision == "APPROVED"
    assert (loop.finding().disposition, loop.finding().severity) == ("accepted-below-threshold", 3)


def test_a_fixed_finding_that_is_reported_again_is_open_again_under_its_id(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    loop.verify()
    assert loop.finding().disposition == "fixed"
    decision = loop.verify(make.issue(1))
    assert decision.findings[0].ledger_id == "F-1"
    assert (loop.finding().disposition, loop.finding().occurrences) == ("open", 2)
    loop.verify()
    loop.verify(make.issue(1, severity=2))
    assert loop.finding().disposition == "accepted-below-threshold"


@pytest.mark.parametrize(
    ("full", "harm", "disposition"),
    [
        (False, None, "accepted-below-threshold"),
        (False, "  ", "accepted-below-threshold"),
        (False, "test_login fails: 500 instead of 200", "open"),
        (True, None, "open"),
    ],
)
def test_accepted_and_reported_higher_needs_new_harm_in_a_delta_and_nothing_in_a_full_audit(
    make: Any, full: bool, harm: str | None, disposition: str
) -> None:
    loop = make.loop()
    loop.verify(make.issue(1, severity=3))
    decision = loop.verify(make.issue(1, severity=8, newHarmEvidence=harm), fullAudit=full)
    assert loop.finding().disposition == disposition
    assert decision.decision == ("FEEDBACK" if disposition == "open" else "APPROVED")


def test_harm_that_the_ledger_knows_already_is_no_new_evidence(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1, severity=3, evidence="test_login fails"))
    loop.verify(make.issue(1, severity=8, newHarmEvidence="Test_login fails!"), fullAudit=False)
    assert loop.finding().disposition == "accepted-below-threshold"


def test_agreement_of_another_judge_is_recorded_and_is_no_evidence(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1, severity=3))
    loop.verify(make.issue(1, severity=9, sources=["reviewer", "third"]), fullAudit=False)
    finding = loop.finding()
    assert finding.disposition == "accepted-below-threshold"
    assert finding.reaffirmed_by == ["reviewer", "third"]
    assert finding.sources == ["codex-reviewer", "reviewer", "third"]


OTHER = {"scope": {"deltaFiles": ["src/other.py"]}}
SAME = {"scope": {"deltaFiles": ["./src/file1.py"]}}
STILL = {"rechecks": [{"ledgerId": "F-1", "status": "still-open"}]}
GONE = {"rechecks": [{"ledgerId": "F-1", "status": "fixed"}]}


@pytest.mark.parametrize(
    ("changes", "disposition"),
    [
        ({"fullAudit": True}, "fixed"),
        ({"fullAudit": False}, "open"),
        ({"fullAudit": False, **OTHER}, "open"),
        ({"fullAudit": False, **SAME}, "fixed"),
        ({"fullAudit": True, **STILL}, "open"),
        ({"fullAudit": False, **SAME, **STILL}, "open"),
        ({"fullAudit": False, **GONE}, "fixed"),
        ({"fullAudit": False, "rechecks": [*GONE["rechecks"], *STILL["rechecks"]]}, "open"),
        ({"fullAudit": False, "rechecks": [{"ledgerId": "F-9", "status": "fixed"}]}, "open"),
        ({"fullAudit": True, "skillResults": [], "rerunsThisTurn": 2}, "open"),
        ({"fullAudit": True, "skillResults": [], "rerunsThisTurn": 2, **GONE}, "open"),
    ],
)
def test_an_open_finding_that_is_not_reported(make: Any, changes: dict[str, Any], disposition: str) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    loop.verify(**changes)
    assert loop.finding().disposition == disposition
    assert loop.finding().occurrences == 1


@pytest.mark.parametrize("changes", [{}, GONE, {"fullAudit": False, **SAME}, {"fullAudit": False, **GONE}])
def test_a_finding_is_never_fixed_on_the_tree_on_which_it_was_last_reported(make: Any, changes: dict[str, Any]) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    loop.verify(same_turn=True, **changes)
    assert loop.finding().disposition == "open"


def test_a_turn_that_changed_nothing_does_not_fix_anything(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    loop.turn += 1
    decision = loop.verify(same_turn=True)
    assert decision.decision == "FEEDBACK"
    assert loop.finding().disposition == "open"


def test_a_recheck_that_finds_it_still_open_is_a_report_on_that_tree(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    loop.verify(fullAudit=False, **STILL)
    loop.verify(same_turn=True)
    assert loop.finding().disposition == "open"


def test_a_ledger_without_tree_marks_is_judged_by_its_rows(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    unmarked = [loop.finding().model_copy(update={"last_tree": None, "last_turn": None})]
    loop.state = loop.state.model_copy(update={"findings": unmarked})
    loop.verify(same_turn=True)
    assert loop.finding().disposition == "open"
    loop.state = loop.state.model_copy(update={"findings": unmarked})
    loop.verify()
    assert loop.finding().disposition == "fixed"


def test_the_work_of_a_local_run_is_told_apart_by_its_tree_not_its_head(make: Any) -> None:
    def verify(state: Any, turn: int, tree: str | None, *issues: dict[str, Any]) -> Any:
        scope = {"mode": "files", "baseRef": None, "mergeBase": None, "treeHash": tree}
        return make.judge(
            make.report(*issues, scope=scope),
            of=state,
            scopeMode="files",
            baseRef=None,
            mergeBase=None,
            treeHash=tree,
            turn=turn,
            verifyRun=len(state.verification_runs) + 1,
        ).ledger

    for tree_1, tree_2 in (("t1", "t2"), (None, None)):
        first = verify(make.ledger(baseRef=None), 1, tree_1, make.issue(1))
        assert verify(first, 1, tree_1).findings[0].disposition == "open"
        assert verify(first, 2, tree_2).findings[0].disposition == "fixed"


def test_a_renamed_file_keeps_its_findings_and_moves_them(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    decision = loop.verify(make.issue(1, path="lib/file1.py"), renames={"src/file1.py": "lib/file1.py"})
    assert (decision.findings[0].ledger_id, decision.findings[0].match_reason) == ("F-1", "same-mechanism")
    assert loop.finding().location.path == "lib/file1.py"
    decision = loop.verify(make.issue(1, path="lib/file1.py"))
    assert decision.findings[0].match_reason == "same-key"


def test_an_open_finding_in_a_renamed_file_is_in_the_delta_under_its_new_name(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1))
    loop.verify(fullAudit=False, renames={"src/file1.py": "lib/file1.py"}, scope={"deltaFiles": ["lib/file1.py"]})
    assert loop.finding().disposition == "fixed"


def test_two_alike_problems_of_one_source_stay_two_and_of_two_sources_become_one(make: Any) -> None:
    def alike(number: int, source: str) -> dict[str, Any]:
        cause = f"The handler of route {number} does not check the size of the body that it reads"
        return make.issue(number, path="src/a.py", rootCause=cause, sources=[source])  # type: ignore[no-any-return]

    decision = make.judge(make.report(alike(1, "reviewer"), alike(2, "reviewer"))).decision
    assert [row.ledger_id for row in decision.findings] == ["F-1", "F-2"]
    assert decision.counts.blocking == 2
    decision = make.judge(make.report(alike(1, "reviewer"), alike(2, "codex-reviewer"))).decision
    assert [row.ledger_id for row in decision.findings] == ["F-1", "F-1"]
    assert decision.findings[1].match_reason == "similar-cause"


def test_a_mere_likeness_never_takes_the_id_of_an_exact_match(make: Any) -> None:
    loop = make.loop()
    cause = "The handler of route one does not check the size of the body that it reads"
    loop.verify(make.issue(1, path="src/a.py", rootCause=cause))
    new = make.issue(2, path="src/a.py", rootCause=cause.replace("one", "two"))
    decision = loop.verify(new, make.issue(1, path="src/a.py", rootCause="told in quite other words"))
    assert [(row.issue, row.ledger_id) for row in decision.findings] == [("VI-2", "F-2"), ("VI-1", "F-1")]


def test_ids_are_never_used_again_even_if_a_finding_vanished(make: Any) -> None:
    loop = make.loop()
    loop.verify(make.issue(1), make.issue(2))
    loop.state = loop.state.model_copy(update={"findings": loop.state.findings[:1]})
    decision = loop.verify(make.issue(3))
    assert decision.findings[0].ledger_id == "F-3"


def test_long_texts_of_a_model_are_kept_bounded(make: Any) -> None:
    loop = make.loop()
    long = "x" * 100_000
    loop.verify(
        make.issue(1, title=long, rootCause=long, mechanism=long, evidence=long, signature=long, sources=[long])
    )
    finding = loop.finding()
    assert len(loop.state.to_bytes()) < 30_000
    assert finding.title.endswith("…")
    decision = loop.verify(make.issue(1, title=long, rootCause=long, mechanism=long))
    assert decision.findings[0].match_reason == "same-key"


def test_what_the_exerciser_saw_of_an_issue_is_kept_as_evidence(make: Any) -> None:
    document = make.report(make.issue(1))
    document["exerciserVerification"] = [{"issueId": "VI-1", "status": "CONFIRMED", "evidence": "clicked, crashed"}]
    finding = make.judge(document).ledger.findings[0]
    assert "CONFIRMED" in finding.evidence
    assert "clicked, crashed" in finding.evidence
