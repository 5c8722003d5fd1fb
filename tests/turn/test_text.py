from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchline.turn import (
    QUESTION_TEXT_LIMIT,
    TRUNCATION_MARKER,
    clamp_question,
    head_tail,
    is_truncated,
    tail,
    truncate,
    truncate_marked,
)

texts = st.text(alphabet=st.characters(codec=None, exclude_categories=()))


@given(texts, st.integers(-3, 30))
def test_cuts_count_code_points(text: str, limit: int) -> None:
    kept = max(limit, 0)
    assert truncate(text, limit) == "".join(list(text)[:kept])
    assert tail(text, limit) == "".join(list(text)[max(len(text) - kept, 0) :])


@given(texts, st.integers(-3, 30))
def test_the_marker_stands_only_where_something_was_cut(text: str, limit: int) -> None:
    marked = truncate_marked(text, limit)
    if len(text) <= max(limit, 0):
        assert marked == text
    else:
        assert marked == truncate(text, limit) + TRUNCATION_MARKER
        assert is_truncated(marked)


@given(texts, st.integers(-3, 20), st.integers(-3, 20))
def test_head_and_tail_keep_both_ends(text: str, head: int, last: int) -> None:
    kept = head_tail(text, head, last)
    if len(text) <= max(head, 0) + max(last, 0):
        assert kept == text
    else:
        assert kept == truncate(text, head) + TRUNCATION_MARKER + tail(text, last)


def test_emoji_are_never_split() -> None:
    text = "😀" * 10
    assert [truncate(text, n) for n in range(11)] == ["😀" * n for n in range(11)]
    assert tail(text, 3) == "😀" * 3


def test_a_question_up_to_the_limit_is_unchanged() -> None:
    text = "ü" * QUESTION_TEXT_LIMIT
    assert QUESTION_TEXT_LIMIT == 8000
    assert clamp_question(text) == text


def test_a_longer_question_ends_with_where_the_full_text_is() -> None:
    clamped = clamp_question("ü" * (QUESTION_TEXT_LIMIT + 1))
    kept, closing = clamped.split("\n")
    assert kept == "ü" * QUESTION_TEXT_LIMIT
    assert "render.log" in closing
    assert TRUNCATION_MARKER not in clamped
