from __future__ import annotations

from pathlib import Path

import pytest

from touchline.documents.base import FindingClass, Location
from touchline.gates.reading import Reported
from touchline.verify.answers import AnswerIssue
from touchline.verify.folding import fold, from_answer, make_reported, number

TREE = Path("/home/me/project")


def one(
    source: str,
    *,
    mechanism: str = "missing-null-check",
    path: str | None = "src/a.py",
    severity: int = 6,
    class_: FindingClass = "correctness",
    title: str = "",
    signature: str | None = None,
    evidence: str | None = None,
) -> Reported:
    return make_reported(
        title=title or f"{mechanism} in {path}",
        severity=severity,
        class_=class_,
        source=source,
        mechanism=mechanism,
        description=f"{source} says {mechanism}",
        location=Location(path=path) if path else None,
        signature=signature,
        evidence=evidence,
    )


def test_one_defect_of_two_judges_is_one_finding_with_the_highest_severity() -> None:
    folded = fold([one("a", severity=5, evidence="x"), one("b", severity=8, evidence="y")])
    assert len(folded) == 1
    assert folded[0].finding.severity == 8
    assert folded[0].finding.sources == ["a", "b"]
    assert folded[0].finding.description == "b says missing-null-check"
    assert folded[0].issue.evidence == "y\n\nx"


def test_two_findings_of_one_judge_are_never_folded() -> None:
    assert len(fold([one("a", title="same"), one("a", title="same")])) == 2


def test_different_files_are_never_folded() -> None:
    assert len(fold([one("a"), one("b", path="src/b.py")])) == 2


def test_failures_of_different_signatures_are_never_folded() -> None:
    assert len(fold([one("a", signature="s1"), one("b", signature="s2")])) == 2
    assert len(fold([one("a", signature="s1"), one("b")])) == 1


def test_coverage_never_caps_what_another_judge_calls_a_defect() -> None:
    folded = fold([one("a", class_="coverage", severity=8), one("b", class_="correctness", severity=5)])
    assert [(f.issue.class_, f.finding.severity) for f in folded] == [("correctness", 8)]


def test_numbers_are_given_in_order_and_later_findings_keep_the_earlier_ids() -> None:
    first = number(fold([one("a"), one("a", mechanism="other")]))
    assert [f.issue.id for f in first] == ["VI-1", "VI-2"]
    second = number(fold([one("x"), one("x", mechanism="third")], into=first))
    assert [f.issue.id for f in second] == ["VI-1", "VI-2", "VI-3"]
    assert second[0].finding.sources == ["a", "x"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("/home/me/project/src/a.py", "src/a.py"),
        ("/etc/passwd", None),
        ("../other/a.py", None),
        ("src/../../a.py", None),
        ("..", None),
        ("", None),
        (None, None),
    ],
)
def test_an_answer_names_only_places_inside_the_work_tree(path: str | None, expected: str | None) -> None:
    issue = AnswerIssue.model_validate(
        {
            "title": "t",
            "severity": 5,
            "class": "style",
            "description": "d",
            "rootCause": "r",
            "mechanism": "m",
            "path": path,
        }
    )
    found = from_answer(issue, "a", work_tree=TREE, known=())
    assert (found.finding.location.path if found.finding.location else None) == expected


def test_only_ids_that_were_handed_over_can_be_cited() -> None:
    issue = AnswerIssue.model_validate(
        {
            "title": "t",
            "severity": 5,
            "class": "style",
            "description": "d",
            "rootCause": "r",
            "mechanism": "m",
            "matches": "F-7",
        }
    )
    assert from_answer(issue, "a", work_tree=TREE, known={"F-7"}).issue.matches == "F-7"
    assert from_answer(issue, "a", work_tree=TREE, known={"F-1"}).issue.matches is None
