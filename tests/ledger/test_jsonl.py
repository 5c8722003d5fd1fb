"""Lines of evidence, whole or absent (spec page 3, "Place")."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import LedgerError
from touchline.ledger.jsonl import append_jsonl, read_jsonl

records = st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=30), max_size=4)


@given(st.lists(records, max_size=5))
def test_records_come_back_in_order(tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, object]]) -> None:
    path = tmp_path_factory.mktemp("run") / "steps.jsonl"
    for record in written:
        append_jsonl(path, record)
    assert read_jsonl(path) == written


@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_a_line_torn_at_any_byte_is_skipped_and_the_next_append_stands_alone(
    tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, object]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("run") / "steps.jsonl"
    for record in written:
        append_jsonl(path, record)
    whole = path.read_bytes()
    kept = data.draw(st.integers(min_value=0, max_value=len(whole)))
    path.write_bytes(whole[:kept])
    survivors = read_jsonl(path)
    assert survivors == written[: whole[:kept].count(b"\n")]
    append_jsonl(path, {"next": True})
    again = read_jsonl(path)
    # A last line that lacks nothing but its newline is completed, any other is cut off.
    assert again[: len(survivors)] == survivors
    assert again[-1] == {"next": True}
    assert len(again) - len(survivors) in (1, 2)
    assert all(record in [*written, {"next": True}] for record in again)


def test_the_file_is_private_and_one_record_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "run" / "steps.jsonl"
    append_jsonl(path, {"text": "a\nb\r\n\u2028c", "lone": "\ud800"})
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.read_bytes().count(b"\n") == 1
    assert read_jsonl(path) == [{"text": "a\nb\r\n\u2028c", "lone": "\ud800"}]


def test_a_broken_line_before_the_last_is_named(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    for broken in (b'{"a": 1}\n{"b"\n{"c": 3}\n', b'{"a": 1}\n[]\n'):
        path.write_bytes(broken)
        with pytest.raises(LedgerError, match="corrupt at line 2"):
            read_jsonl(path)
        assert path.read_bytes() == broken
    assert read_jsonl(tmp_path / "absent.jsonl") == []


def test_what_cannot_be_appended_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "steps.jsonl").mkdir()
    with pytest.raises(LedgerError, match="cannot append"):
        append_jsonl(tmp_path / "steps.jsonl", {})
    with pytest.raises(ValueError, match="Out of range float"):
        append_jsonl(tmp_path / "other.jsonl", {"x": float("nan")})
    assert read_jsonl(tmp_path / "other.jsonl") == []
