from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.process.lines import HEAD_BYTES, Line, LineSplitter


def split(chunks: list[bytes], max_line_bytes: int = 1 << 20) -> list[Line]:
    splitter = LineSplitter(max_line_bytes)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return [*lines, *splitter.flush()]


def cut(content: bytes, at: list[int]) -> list[bytes]:
    places = sorted({place % (len(content) + 1) for place in at})
    return [content[a:b] for a, b in zip([0, *places], [*places, len(content)], strict=True)]


pieces = st.lists(
    st.one_of(st.text().map(str.encode), st.binary(), st.sampled_from([b"\n", b"\r\n", b"\xf0\x9f\x98", b"\xff"]))
).map(b"".join)


@given(pieces, st.lists(st.integers(min_value=0, max_value=10_000)))
def test_the_same_bytes_give_the_same_lines_however_they_arrive(content: bytes, at: list[int]) -> None:
    assert split(cut(content, at)) == split([content])


@given(pieces)
def test_lines_are_what_stands_between_newlines_with_invalid_bytes_replaced(content: bytes) -> None:
    expected = content.split(b"\n")
    if not expected[-1]:
        expected.pop()
    expected = [line.removesuffix(b"\r") for line in expected]
    lines = split([content])
    assert [line.text for line in lines] == [line.decode("utf-8", "replace") for line in expected]
    assert [line.size for line in lines] == [len(line) for line in expected]


@given(pieces, st.lists(st.integers(min_value=0, max_value=10_000)), st.integers(min_value=1, max_value=40))
def test_a_line_over_the_limit_comes_once_with_its_head_and_the_next_line_is_whole(
    content: bytes, at: list[int], limit: int
) -> None:
    lines = split(cut(content, at), limit)
    expected = content.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert len(lines) == len(expected)
    for line, whole in zip(lines, expected, strict=True):
        assert line.oversized == (len(whole) > limit)
        if line.oversized:
            assert line.size == len(whole)
            assert line.text == whole[:limit].decode("utf-8", "replace")


def test_a_code_point_may_be_split_at_each_byte() -> None:
    content = "Grüße 😀 漢字\n".encode()
    for place in range(len(content)):
        assert [line.text for line in split([content[:place], content[place:]])] == ["Grüße 😀 漢字"]


def test_a_line_of_5_mb_is_an_ordinary_line() -> None:
    content = b"x" * 5_000_000
    lines = split([content[i : i + 65536] for i in range(0, len(content), 65536)] + [b"\nend\n"], 16 << 20)
    assert [(line.size, line.oversized) for line in lines] == [(5_000_000, False), (3, False)]


def test_an_endless_line_takes_no_more_memory_than_the_limit() -> None:
    chunk = b"y" * 65536
    splitter = LineSplitter(1 << 20)
    tracemalloc.start()
    for _ in range(1024):
        assert list(splitter.feed(chunk)) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    [line] = splitter.flush()
    assert (line.oversized, line.size, len(line.text)) == (True, 64 << 20, HEAD_BYTES)
    assert peak < 3 << 20


def test_late_is_said_of_the_lines_that_a_late_chunk_completes() -> None:
    splitter = LineSplitter()
    assert [line.late for line in splitter.feed(b"one\ntw")] == [False]
    assert [(line.text, line.late) for line in splitter.feed(b"o\n", late=True)] == [("two", True)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
def test_the_ending_is_no_part_of_the_line(ending: bytes) -> None:
    assert split([b"word" + ending]) == [Line("word", 4)]
