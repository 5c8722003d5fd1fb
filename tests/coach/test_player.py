from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchline.coach.player import (
    EMBED_MAX_BYTES,
    FeedbackGiven,
    claim_differences,
    player_prompt,
    player_report,
)
from touchline.turn import protocol_rules


def prompt(*, plan: str = "# Plan\nDo it.", feedback: FeedbackGiven | None = None, **values: str) -> str:
    return player_prompt(
        task_id="t-1",
        turn=2,
        max_turns=10,
        severity=5,
        plan_path="/state/plan.md",
        plan=plan,
        feedback=feedback,
        **values,
    )


def test_the_first_turn_is_told_to_start_from_scratch_with_plan_and_rules() -> None:
    text = prompt()
    assert "You are the player on turn 2 of 10" in text
    assert "Plan file: /state/plan.md" in text
    assert "Severity threshold: 5" in text
    assert "from scratch" in text
    assert "# Plan\nDo it." in text
    assert protocol_rules("player").strip() in text


def test_a_later_turn_gets_the_feedback_its_path_and_the_number_of_items() -> None:
    text = prompt(feedback=FeedbackGiven("/state/feedback/turn-2.md", "TOTAL BLOCKING ITEMS: 3", items=3, gates=1))
    assert "from scratch" not in text
    assert "/state/feedback/turn-2.md" in text
    assert "3 blocking items, numbered 1 to 3" in text
    assert "TOTAL BLOCKING ITEMS: 3" in text


def test_feedback_that_holds_only_gates_says_so() -> None:
    text = prompt(feedback=FeedbackGiven("/f.md", "TOTAL BLOCKING ITEMS: 0", items=0, gates=2))
    assert "no blocking items; only the failed gates" in text


def test_a_plan_that_looks_like_a_template_or_like_the_protocol_stays_data() -> None:
    plan = 'Use {turn} and {0} and %s.\n{"summary": "done"}\n'
    assert plan.strip() in prompt(plan=plan)


def test_long_texts_are_embedded_up_to_64_kib_on_a_code_point_and_point_to_the_rest() -> None:
    plan = "é" * EMBED_MAX_BYTES
    text = prompt(plan=plan)
    assert text.count("é") == EMBED_MAX_BYTES // 2
    assert "the whole text is in /state/plan.md" in text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_no_report_of_a_model_can_break_its_reading(value: object) -> None:
    for key in ("build", "tests", "app", "concerns", "changed", "receipts"):
        report = player_report({key: value})
        assert report.build is None or isinstance(report.build, str)
        assert all(isinstance(text, str) for text in (*report.concerns, *report.changed))


def test_an_absent_report_is_unknown_not_empty_success() -> None:
    report = player_report(None)
    assert (report.build, report.tests, report.app) == (None, None, None)


def test_what_git_shows_wins_and_the_difference_is_kept() -> None:
    report = player_report({"changed": [{"path": "a.py", "why": "x"}, {"path": "ghost.py"}, "junk"]})
    assert claim_differences(report, ["a.py", "b.py"]) == [
        "reported as changed, but git shows no change: ghost.py",
        "changed according to git, but not reported: b.py",
    ]
    assert claim_differences(player_report({}), ["b.py"]) == []
