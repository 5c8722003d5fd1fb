from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchline.turn.shown import printable, printable_lines


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    for shown in (printable(text, 80), *printable_lines(text).split("\n")):
        assert "\x1b" not in shown
        assert not any(ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in shown)
        assert not set(shown) & set("\u202e\u2066\u2028\u200f\ufeff")
    assert len(printable(text, 80)) <= 80


def test_an_escape_sequence_is_shown_not_obeyed() -> None:
    assert printable("\x1b[31mred\x07", 80) == "\\x1b[31mred\\x07"
    assert printable_lines("a\r\n\tb") == "a\\x0d\n        b"
    assert printable("käse · чай", 80) == "käse · чай"
