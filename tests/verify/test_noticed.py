from __future__ import annotations

import json
from typing import Any

import pytest

from touchline.gates.reading import Reported
from touchline.verify.answers import JudgeAnswer
from touchline.verify.folding import make_reported
from touchline.verify.noticed import MAX_ASKED, plan_gaps, to_weigh, unanswered, weighed


def notice(severity: int = 4, *, source: str = "coach", mechanism: str = "changed-ci-configuration") -> Reported:
    return make_reported(
        title="the change touches what CI runs",
        severity=severity,
        class_="environment",
        source=source,
        mechanism=mechanism,
        description="d",
    )


def answer(**values: Any) -> JudgeAnswer:
    return JudgeAnswer.model_validate_json(json.dumps({"issues": [], **values}))


def row(item: int, asked_for: bool) -> dict[str, Any]:
    return {"item": item, "askedFor": asked_for, "evidence": "the plan"}


def test_judges_weigh_what_the_coach_noticed_and_what_does_not_count_yet() -> None:
    found = [notice(4), notice(8), notice(9), notice(3, source="judge"), notice(7)]
    assert [one.finding.severity for one in to_weigh(found)] == [4, 7]
    assert len(to_weigh([notice() for _ in range(MAX_ASKED + 5)])) == MAX_ASKED


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([], "1, 2"),
        ([row(1, True)], "2"),
        ([row(2, False), row(2, False)], "1"),
        ([row(1, True), row(2, True)], ""),
        ([row(2, True), row(1, False), row(77, True)], ""),
    ],
)
def test_each_item_wants_an_answer(rows: list[dict[str, Any]], missing: str) -> None:
    told = unanswered(answer(noticed=rows), 2)
    assert told == (f"`noticed` has no answer to item {missing}" if missing else "")


def test_one_judge_of_several_that_says_it_is_not_asked_for_is_enough() -> None:
    asked = to_weigh([notice(4)])
    answers = [("a", answer(noticed=[row(1, True)])), ("b", answer(noticed=[row(1, False)]))]
    (one,) = weighed(asked, asked, answers)
    assert (one.finding.severity, one.finding.sources) == (8, ["coach", "b"])
    assert "b: the plan does not ask for it. the plan" in (one.issue.evidence or "")


def test_an_answer_to_an_item_that_nobody_asked_about_changes_nothing() -> None:
    found = [notice(4), notice(9, mechanism="other")]
    asked = to_weigh(found)
    assert weighed(found, asked, [("a", answer(noticed=[row(2, False), row(99, False)]))]) == found


def test_missing_parts_of_the_plan_are_one_finding_with_a_key_that_does_not_change() -> None:
    parts = [
        {"part": "A", "status": "missing", "evidence": "not there"},
        {"part": "B", "status": "done"},
        {"part": "C", "status": "partial"},
    ]
    (gap,) = plan_gaps("judge", answer(plan=parts))
    assert (gap.finding.severity, gap.issue.class_, gap.issue.mechanism) == (8, "plan-completeness", "plan-incomplete")
    assert gap.issue.evidence == "missing: A. not there\npartial: C."
    assert plan_gaps("judge", answer(plan=parts[1:2])) == []
    issue = {
        "title": "A is missing",
        "severity": 8,
        "class": "plan-completeness",
        "description": "d",
        "rootCause": "r",
        "mechanism": "m",
    }
    assert plan_gaps("judge", answer(plan=parts, issues=[issue])) == [], "it reported them itself"
