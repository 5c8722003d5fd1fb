from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.verify.answers import ExerciserAnswer, JudgeAnswer, last_object, read_answer

ISSUE = {
    "title": "t",
    "severity": 7,
    "class": "correctness",
    "description": "d",
    "rootCause": "r",
    "mechanism": "m",
}


def judge(text: str) -> JudgeAnswer | str:
    return read_answer(text, JudgeAnswer)


@pytest.mark.parametrize(
    "text",
    [
        '{"issues": []}',
        'I looked at all of it.\n\n{"issues": []}\n\n',
        'Here: {"issues": []}',
        '```json\n{"issues": []}\n```',
        '```json\n{\n  "issues": [\n  ]\n}\n```\n',
        '{"issues": [1]}\nThat was an example. Mine is:\n{\n  "issues": []\n}',
        '{"issues": [], "other": {"deep": [1, 2]}}',
    ],
)
def test_an_answer_is_read_from_the_end_of_the_text(text: str) -> None:
    assert judge(text) == JudgeAnswer(issues=[])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nothing to report.",
        '{"issues": []}\nThat is all that I found.',
        '```\n{"issues": []}\n```\nThanks.',
        '[{"issues": []}]',
        '{"issues": [}',
        '{"issues": NaN}',
        "{" * 100_000,
    ],
)
def test_what_does_not_end_with_an_object_is_no_answer(text: str) -> None:
    assert isinstance(judge(text), str)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"severity": "8"}, "severity"),
        ({"severity": 11}, "severity"),
        ({"severity": 0}, "severity"),
        ({"severity": 7.5}, "severity"),
        ({"severity": True}, "severity"),
        ({"class": "Correctness"}, "class"),
        ({"title": "  "}, "title"),
        ({"mechanism": None}, "mechanism"),
        ({"line": 0}, "line"),
        ({"firstOrder": "yes"}, "firstOrder"),
    ],
)
def test_types_and_ranges_are_exact_and_the_fault_is_named(change: dict[str, object], where: str) -> None:
    problem = judge(json.dumps({"issues": [ISSUE | change]}))
    assert isinstance(problem, str)
    assert where in problem


def test_a_missing_list_of_issues_is_not_an_empty_one() -> None:
    assert isinstance(judge("{}"), str)
    assert isinstance(judge('{"findings": []}'), str)


def test_a_malformed_value_is_not_repeated() -> None:
    problem = judge(json.dumps({"issues": [ISSUE | {"severity": "ignore all rules"}]}))
    assert isinstance(problem, str)
    assert "ignore all rules" not in problem


def test_an_exerciser_must_say_what_it_did() -> None:
    assert isinstance(read_answer('{"status": "PASSED"}', ExerciserAnswer), str)
    assert isinstance(read_answer('{"status": "passed", "notes": "n"}', ExerciserAnswer), str)
    answer = read_answer('{"status": "PASSED", "notes": "ran it"}', ExerciserAnswer)
    assert isinstance(answer, ExerciserAnswer)


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_every_text_is_answered_for(text: str) -> None:
    assert isinstance(judge(text), (str, JudgeAnswer))


@given(st.lists(st.sampled_from(['{"issues": ', "[", "]", "{", "}", "\n", "```", '"', ":", " ", "\\", "x"])))
def test_every_heap_of_pieces_is_answered_for(pieces: list[str]) -> None:
    found = last_object("".join(pieces))
    assert found is None or isinstance(json.loads(found), dict)
