from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.coach.difference import differing
from touchline.documents.base import Location

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abid", max_size=2), inner, max_size=3)
)


@settings(deadline=None)
@given(VALUES)
def test_a_value_does_not_differ_from_its_copy(value: Any) -> None:
    assert differing(value, copy.deepcopy(value)) is None


@settings(deadline=None)
@given(VALUES, VALUES)
def test_two_values_differ_exactly_when_their_json_does(one: Any, other: Any) -> None:
    import json

    found = differing(one, other)
    assert (found is None) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))
    if found is not None:
        assert found.then != found.now or type(found.then) is not type(found.now)


def test_the_place_names_rows_by_their_ids() -> None:
    then = {"findings": [{"id": "F-1", "severity": 3}, {"id": "F-2", "severity": 4}]}
    now = {"findings": [{"id": "F-1", "severity": 3}, {"id": "F-2", "severity": 5}]}
    assert differing(then, now) == ("findings[F-2].severity", 4, 5)
    now["findings"].pop()
    assert differing(then, now) == ("findings[F-2]", {"id": "F-2", "severity": 4}, "absent")


def test_documents_are_compared_as_they_are_written() -> None:
    one, other = Location(path="a", end_line=2), Location(path="a", end_line=3)
    assert differing([one], [other]) == ("[0].endLine", 2, 3)
    assert differing(True, 1) == ("", True, 1)
