from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.turn import Role, Trailer, parse_trailer, protocol_rules, render_prompt

ASK = '{"ask": "q"}'
FINISH = '{"branch": "main", "commit": "abc1234", "summary": "done"}'
FINISHED = Trailer("finish", branch="main", commit="abc1234", summary="done")
NONE = Trailer("none")


def examples(role: Role) -> list[str]:
    return [line for line in protocol_rules(role).splitlines() if line.startswith("{")]


@pytest.mark.parametrize("role", get_args(Role))
def test_every_example_that_the_rules_show_is_understood(role: Role) -> None:
    kinds = [parse_trailer(example).kind for example in examples(role)]
    assert kinds == ([] if role == "verifier" else ["ask", "finish"])
    for example in examples(role):
        keys = set(json.loads(example))
        assert keys <= {"ask", "branch", "commit", "summary", "report"}


def test_the_players_example_carries_the_whole_report() -> None:
    report = parse_trailer(examples("player")[1]).report
    assert report is not None
    assert set(report) == {"changed", "build", "tests", "app", "concerns", "receipts"}


def test_only_the_executor_is_told_to_commit() -> None:
    assert "commit it first. Never push" in protocol_rules("executor")
    assert "do not commit" in protocol_rules("player")
    assert "commit nothing" in protocol_rules("verifier")
    for role in get_args(Role):
        assert "Stay on the current branch. Change no git configuration." in protocol_rules(role)


@given(st.text())
def test_the_plan_stands_verbatim_at_the_end_of_the_prompt(plan: str) -> None:
    assert render_prompt("T-1", plan, role="executor").endswith("## Plan\n\n" + plan)


def test_template_syntax_in_a_plan_is_not_interpreted() -> None:
    plan = '{task_id} {{x}} %s ${HOME} {"ask": "q"} {0!r}'
    prompt = render_prompt("T-1", plan, role="player", discipline="{task_id}")
    assert prompt.startswith("# Task T-1\n\n" + "## Rules of the turn\n\n" + protocol_rules("player"))
    assert "## Discipline\n\n{task_id}\n\n## Plan\n\n" + plan in prompt


def test_an_absent_discipline_leaves_no_heading_and_no_blank_section() -> None:
    for blank in ("", "  \n"):
        prompt = render_prompt("T-1", "plan", role="executor", discipline=blank)
        assert "Discipline" not in prompt
        assert "\n\n\n" not in prompt


def test_a_task_id_stays_on_the_title_line() -> None:
    assert render_prompt("T\n## Plan\n1", "p", role="executor").startswith("# Task T ## Plan 1\n\n## Rules")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FINISH, FINISHED),
        ("Some work.\n" + FINISH + "\n\n  \n", FINISHED),
        ("Done." + FINISH, FINISHED),
        (FINISH + " thanks", FINISHED),
        (ASK + " thanks", Trailer("ask", question="q")),
        ('{"ask": "q", "branch": "main", "summary": "s"}', Trailer("ask", question="q")),
        ('{"ask": "", "summary": "s"}', Trailer("finish", summary="s")),
        ('{"ask": null, "summary": "s"}', Trailer("finish", summary="s")),
        ('{"ask": " "}', Trailer("ask", question=" ")),
        ('{"summary": " s ", "branch": "", "commit": null}', Trailer("finish", summary=" s ")),
        ('{"summary": "s", "report": {"a": [1]}}', Trailer("finish", summary="s", report={"a": [1]})),
        ('{"summary": "s", "report": [1]}', Trailer("finish", summary="s")),
        ('{"summary": "s", "report": null, "other": {}}', Trailer("finish", summary="s")),
        ('{"summary": "first", "summary": "last"}', Trailer("finish", summary="last")),
        ('{"Ask": "q"}', NONE),
        ('{"report": {"a": 1}}', NONE),
        ("{}", NONE),
        ("", NONE),
        (" \n\t\n", NONE),
        ("no protocol at all", NONE),
        ("[" + ASK + "]", Trailer("ask", question="q")),
        ('{"ask": 1}', NONE),
        ('{"commit": 1234567, "summary": "s"}', NONE),
        ('{"ask": "q", "commit": 12}', NONE),
        ('{"ask": "q", "branch": ["main"]}', NONE),
        ('{"ask": "q", "summary": true}', NONE),
        ('{"ask": "q", "x": NaN}', NONE),
        ('{"ask": "q", "x": -Infinity}', NONE),
        ('{"ask": "a\tb"}', NONE),
        ('{"ask": "q"', NONE),
        ("{'ask': 'q'}", NONE),
        ('{"\\u0061sk": "q"}', Trailer("ask", question="q")),
        ('{"ask": "\\ud800"}', Trailer("ask", question="\ufffd")),
        ('{"ask": "\\ud83d\\ude00"}', Trailer("ask", question="😀")),
        ('{"ask": "a\x00"}', NONE),
        ("\x00" + ASK, Trailer("ask", question="q")),
        ('{"summary": "has { and } in it"} }', Trailer("finish", summary="has { and } in it")),
        ("use {x} here " + ASK, NONE),
    ],
)
def test_the_last_line_is_read_from_its_first_brace(text: str, expected: Trailer) -> None:
    assert parse_trailer(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```json\n" + FINISH + "\n```", FINISHED),
        ("```json\n" + FINISH + "\n```\n\nThat is all.\n\nBye.", FINISHED),
        (FINISH + "\n1\n\n2\n \n3\n", FINISHED),
        (FINISH + "\n1\n2\n3\n4", NONE),
        ("  " + FINISH + "  \r\nThat is all {really}.", FINISHED),
        (FINISH + " trailing\nThat is all.", NONE),
        ("Done." + FINISH + "\nThat is all.", NONE),
        (FINISH + "\n{broken\nThat is all.", NONE),
        (FINISH + "\n{}", NONE),
        (ASK + "\n" + FINISH, FINISHED),
        (FINISH + "\n" + ASK + "\nWaiting.", Trailer("ask", question="q")),
        ("```\n" + ASK + "\n```\nI will follow this.\nNow the work.\nAll is done.\n" + "{x: 1}", NONE),
    ],
)
def test_a_trailer_a_little_further_up_must_be_a_line_of_its_own(text: str, expected: Trailer) -> None:
    assert parse_trailer(text) == expected


@pytest.mark.parametrize("separator", ["\r", "\u2028", "\u0085", "\f", "\v", "\x1e"])
def test_only_a_newline_ends_a_line(separator: str) -> None:
    assert parse_trailer("prose" + separator + ASK) == Trailer("ask", question="q")
    assert parse_trailer(ASK + separator + "prose") == Trailer("ask", question="q")
    assert parse_trailer(f'{{"ask": "q"}}{separator}{{"summary": "s"}}') == Trailer("ask", question="q")


def test_numbers_that_python_cannot_hold_spoil_nothing_but_a_protocol_field() -> None:
    digits = "9" * 5000
    assert parse_trailer(f'{{"ask": "q", "n": {digits}}}') == Trailer("ask", question="q")
    assert parse_trailer(f'{{"ask": {digits}}}') == NONE
    assert parse_trailer(f'{{"commit": -{digits}, "summary": "s"}}') == NONE
    assert parse_trailer(f'{{"ask": 1e{digits}}}') == NONE
    report = parse_trailer(f'{{"summary": "s", "report": {{"n": {digits}, "f": 1e999}}}}').report
    assert report == {"n": digits, "f": "1e999"}
    assert all(type(value) is str for value in report.values())


def test_a_report_can_always_be_encoded() -> None:
    report = parse_trailer('{"summary": "s", "report": {"\\udc00": ["\\ud800x", {"a": "\\udfff"}]}}').report
    assert report == {"\ufffd": ["\ufffdx", {"a": "\ufffd"}]}
    assert json.dumps(report, ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize("depth", [101, 5_000, 100_000])
def test_nesting_beyond_the_bound_is_no_trailer(depth: int) -> None:
    assert parse_trailer('{"ask": "q", "x": ' + "[" * depth + "]" * depth + "}") == NONE
    assert parse_trailer("{" * depth) == NONE
    assert parse_trailer('{"a":' * depth + "1" + "}" * depth) == NONE


def test_nesting_within_the_bound_is_read_wherever_the_caller_stands() -> None:
    text = '{"summary": "s", "report": ' + '{"a":' * 98 + "{}" + "}" * 98 + "}"

    def down(levels: int) -> Trailer:
        return parse_trailer(text) if levels == 0 else down(levels - 1)

    assert down(0).kind == "finish"
    assert down(400) == down(0)


def test_no_depth_of_the_callers_stack_makes_it_raise() -> None:
    text = '{"summary": "s", "report": ' + '{"a":' * 98 + "{}" + "}" * 98 + "}"
    kinds = set()

    def down() -> None:
        try:
            down()
        except RecursionError:
            return
        kinds.add(parse_trailer(text).kind)

    down()
    assert kinds <= {"finish", "none"}
    assert "finish" in kinds


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_it_answers_for_every_text(text: str) -> None:
    assert parse_trailer(text).kind in ("ask", "finish", "none")


@given(st.lists(st.sampled_from(['{"', '"}', "{", "}", "[", "]", ":", ",", '"', "\\", "\n", " ", "1", "ask", "e9"])))
def test_it_answers_for_every_heap_of_protocol_pieces(pieces: list[str]) -> None:
    assert parse_trailer("".join(pieces)).kind in ("ask", "finish", "none")


@given(st.text(), st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.text(max_size=40))
def test_a_trailer_on_the_last_line_is_found_after_any_text(before: str, value: str, branch: str) -> None:
    line = json.dumps({"summary": value or "s", "branch": branch})
    found = parse_trailer(before + "\n" + line + "\n")
    assert (found.kind, found.summary, found.branch) == ("finish", value or "s", branch)
    assert json.dumps(found.summary).encode()


HUGE = 10_000_000


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x" * HUGE + ASK, "ask"),
        (ASK[:-2] + "x" * HUGE + '"}', "ask"),
        ("{" * HUGE, "none"),
        ('{"ask": "' + '\\"' * (HUGE // 2), "none"),
        ('{"a":' * (HUGE // 5), "none"),
        ("{\n" * (HUGE // 2), "none"),
        (ASK + "\n" * HUGE, "ask"),
        (ASK + "\n" * (HUGE // 2) + "x" + " " * (HUGE // 2), "ask"),
        ('{"ask":"q","n":' + "9" * HUGE + "}", "ask"),
        ("a {b}\n" * (HUGE // 6), "none"),
    ],
    ids=["prose", "value", "braces", "quotes", "nesting", "lines", "blanks", "gap", "digits", "prose-lines"],
)
def test_ten_megabytes_are_read_in_linear_time(text: str, kind: str) -> None:
    start = time.process_time()
    assert parse_trailer(text).kind == kind
    assert time.process_time() - start < 5


def test_the_parser_is_imported_without_anything_heavy() -> None:
    code = (
        "import sys; from touchline.turn import parse_trailer; "
        "print([n for n in ('pydantic', 'git', 'click', 'rich', 'psutil', 'asyncio') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
