from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.agent_cli import fields

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(anything)
def test_no_value_raises_and_every_answer_has_its_type(value: object) -> None:
    row = {"key": value}
    assert isinstance(fields.mapping(value), dict)
    assert all(isinstance(entry, dict) for entry in fields.items(value))
    for text in (fields.text(row, "key"), *fields.texts(value)):
        text.encode()
    assert fields.whole(row, "key") >= 0
    assert math.isfinite(fields.number(row, "key"))
    assert fields.number(row, "key") >= 0
    assert fields.flag(row, "key") is (value is True)
    seconds = fields.seconds(row, "key")
    assert seconds is None or 0 <= seconds < 366 * 86_400


@given(st.text())
def test_no_line_raises(line: str) -> None:
    found = fields.parsed(line)
    assert found is None or json.loads(line) == found


def test_a_deeply_nested_line_is_no_object() -> None:
    assert fields.parsed('{"a":' + "[" * 100_000) is None
    assert fields.parsed('{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("value", "whole", "number"),
    [
        (3, 3, 3.0),
        (3.9, 3, 3.9),
        (-1, 0, 0.0),
        (True, 0, 0.0),
        ("3", 0, 0.0),
        (10**400, 10**400, 0.0),
        (math.inf, 0, 0),
    ],
)
def test_numbers(value: object, whole: int, number: float) -> None:
    assert fields.whole({"key": value}, "key") == whole
    assert fields.number({"key": value}, "key") == number


def test_what_cannot_be_encoded_is_replaced_and_the_rest_stays() -> None:
    assert fields.text({"key": "a\ud800b é"}, "key") == "a\ufffdb é"
    assert fields.text({"key": 5}, "key") == ""
    assert fields.texts(["a", 5, "b"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("epoch_s", "iso"),
    [
        (1_764_547_200, "2025-12-01T00:00:00+00:00"),
        (1_764_547_200.9, "2025-12-01T00:00:00+00:00"),
        (0, None),
        (-5, None),
        (math.inf, None),
        (math.nan, None),
        (1e15, None),
    ],
)
def test_times(epoch_s: float, iso: str | None) -> None:
    assert fields.iso_utc(epoch_s) == iso
