from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from touchline.turn.raw import read_processes
from touchline.turn.record import TurnRecord

SECRET = "s3cr3t-value"


def sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in sorted((folder / "raw").glob("*.log"))}


def test_streams_of_processes_that_run_at_once_are_kept_apart(tmp_path: Path) -> None:
    with TurnRecord(tmp_path) as record:
        first, second = record.raw({"turn": 1}), record.raw({"turn": 1})
        for _ in range(3):
            first.write(b"a\n")
            second.write(b"b\n")
        second.end({"ending": "exited"})
        first.end({"ending": "wall"})
    found = list(read_processes(tmp_path))
    assert [one.stream for one in found] == [b"a\n" * 3, b"b\n" * 3]
    assert [one.ended and one.ended["ending"] for one in found] == ["wall", "exited"]


def test_a_process_is_found_with_what_it_was_started_for_and_its_events(tmp_path: Path) -> None:
    for turn in (1, 2):
        with TurnRecord(tmp_path) as record:
            record.event(turn, "Notice", {"text": "before"})
            stream = record.raw({"turn": turn})
            stream.write(b"%d" % turn)
            record.event(turn, "TurnEnded", {})
            stream.end({"ending": "exited"})
    found = list(read_processes(tmp_path))
    assert [(one.number, one.began["turn"], one.stream, one.first, one.last) for one in found] == [
        (1, 1, b"1", 1, 2),
        (2, 2, b"2", 3, 4),
    ]


def test_a_process_whose_recorder_was_killed_has_no_end(tmp_path: Path) -> None:
    with TurnRecord(tmp_path) as record:
        record.raw({}).write(b"half a li")
    with (tmp_path / "raw" / "processes.jsonl").open("ab") as index:
        index.write(b'{"process": 2, "beg')
    (found,) = read_processes(tmp_path)
    assert (found.stream, found.ended, found.last) == (b"half a li", None, None)
    with TurnRecord(tmp_path) as record:
        record.raw({}).end({"ending": "exited"})
    assert [one.number for one in read_processes(tmp_path)] == [1, 2]


def test_a_long_stream_goes_on_in_the_next_file_and_the_oldest_give_way(tmp_path: Path) -> None:
    with TurnRecord(tmp_path, raw_file_bytes=100, raw_files=3) as record:
        early = record.raw({})
        early.write(b"e" * 60)
        early.end({})
        long = record.raw({})
        for _ in range(10):
            long.write(b"x" * 49)
        long.end({})
        last = record.raw({})
        last.write(b"y" * 10)
        last.end({})
    assert sizes(tmp_path) == {"000002-0004.log": 100, "000002-0005.log": 90, "000003-0001.log": 10}
    assert [one.stream for one in read_processes(tmp_path)] == [None, None, b"y" * 10]


def test_a_stream_that_is_still_written_keeps_its_file(tmp_path: Path) -> None:
    with TurnRecord(tmp_path, raw_file_bytes=100, raw_files=2) as record:
        open_one = record.raw({})
        open_one.write(b"o" * 90)
        for _ in range(5):
            stream = record.raw({})
            stream.write(b"s" * 90)
            stream.end({})
        open_one.write(b"o" * 10)
        open_one.end({})
    found = list(read_processes(tmp_path))
    assert found[0].stream == b"o" * 100
    assert found[-1].stream == b"s" * 90
    assert sum(sizes(tmp_path).values()) <= 300


def test_many_small_streams_do_not_fill_the_folder(tmp_path: Path) -> None:
    with TurnRecord(tmp_path) as record:
        for number in range(300):
            stream = record.raw({})
            stream.write(b"%d" % number)
            stream.end({})
    assert len(sizes(tmp_path)) == 256
    assert [one.stream for one in read_processes(tmp_path)][-2:] == [b"298", b"299"]


def test_a_part_that_is_gone_makes_the_stream_unknown(tmp_path: Path) -> None:
    with TurnRecord(tmp_path, raw_file_bytes=10) as record:
        stream = record.raw({})
        stream.write(b"x" * 25)
        stream.end({})
    (tmp_path / "raw" / "000001-0003.log").unlink()
    assert [one.stream for one in read_processes(tmp_path)] == [None]


def test_what_is_told_of_a_process_is_masked(tmp_path: Path) -> None:
    with TurnRecord(tmp_path, [SECRET]) as record:
        record.raw({}).end({"stderrTail": f"key {SECRET}"})
    index = (tmp_path / "raw" / "processes.jsonl").read_text()
    assert SECRET not in index
    assert [one.masked for one in read_processes(tmp_path)] == [True]


def test_a_record_without_a_place_drops_the_stream(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("in the way")
    with TurnRecord(tmp_path) as record:
        stream = record.raw({})
        stream.write(b"x")
        stream.end({})
    assert (tmp_path / "raw").read_text() == "in the way"


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 30))
def test_any_bytes_come_back_however_they_were_cut(pieces: list[bytes], file_bytes: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with TurnRecord(folder, raw_file_bytes=file_bytes, raw_files=1000) as record:
            stream = record.raw({})
            for piece in pieces:
                stream.write(piece)
            stream.end({})
        (found,) = read_processes(folder)
        assert found.stream == b"".join(pieces)
        assert all(json.loads(line) for line in (folder / "raw" / "processes.jsonl").read_bytes().splitlines())
