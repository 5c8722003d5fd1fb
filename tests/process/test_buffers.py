from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchline.process.buffers import Head, Tail

chunks = st.lists(st.binary(max_size=50), max_size=30)
limits = st.integers(min_value=0, max_value=120)


@given(chunks, limits)
def test_a_head_keeps_the_first_bytes_and_counts_the_rest(parts: list[bytes], limit: int) -> None:
    head, whole = Head(limit), b"".join(parts)
    for part in parts:
        head.add(part)
    assert head.content() == whole[:limit]
    assert head.dropped == max(0, len(whole) - limit)


@given(chunks, limits)
def test_a_tail_keeps_the_last_bytes_and_counts_the_rest(parts: list[bytes], limit: int) -> None:
    tail, whole = Tail(limit), b"".join(parts)
    for part in parts:
        tail.add(part)
    assert tail.content() == (whole[-limit:] if limit else b"")
    assert tail.dropped == max(0, len(whole) - limit)
