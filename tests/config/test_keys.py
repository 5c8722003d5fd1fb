"""The text form of a key's path: what is rendered is parsed back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.config import keys

steps = st.one_of(st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable()), st.integers(0, 999))


@given(st.tuples(st.text(alphabet='ab."[]-\\ é', min_size=1, max_size=8), st.lists(steps, max_size=4)))
def test_a_rendered_path_is_parsed_back(parts: tuple[str, list[str | int]]) -> None:
    path = (parts[0], *parts[1])
    assert keys.parse(keys.render(path)) == path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("run.max_turns", ("run", "max_turns")),
        ("reviewers[0].name", ("reviewers", 0, "name")),
        ('forge."git.example.com".driver', ("forge", "git.example.com", "driver")),
        ("executors.my-claude.model", ("executors", "my-claude", "model")),
    ],
)
def test_what_a_person_types_is_understood(text: str, path: tuple[str | int, ...]) -> None:
    assert keys.parse(text) == path
    assert keys.render(path) == text


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "[0]", "a[x]", "a[0", 'a."b', "a.[0]", "a b\n]"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no key"):
        keys.parse(text)
