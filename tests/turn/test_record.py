from __future__ import annotations

import json
import logging
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import LockHeldError
from touchline.turn.masking import MASK, MaskedStream, Masker
from touchline.turn.record import TurnRecord, read_events

SECRET = "ghp_0123456789abcdef"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with TurnRecord(tmp_path / "run") as record:
            record.text("hello")
            record.event(1, "Notice", {"text": "x"})
            record.raw({}).write(b"bytes")
    finally:
        os.umask(before)
    assert mode(tmp_path / "run") == mode(tmp_path / "run" / "raw") == 0o700
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(files) == 4
    assert {mode(path) for path in files} == {0o600}


def test_text_is_appended_as_it_arrives_and_across_processes(tmp_path: Path) -> None:
    with TurnRecord(tmp_path) as record:
        record.text("one ")
        assert (tmp_path / "render.log").read_text() == "one "
        record.text("two")
    with TurnRecord(tmp_path) as record:
        record.text(" three")
    assert (tmp_path / "render.log").read_text() == "one two three"


def test_events_carry_sequence_turn_and_time_and_go_on_counting(tmp_path: Path) -> None:
    for turn in (1, 2):
        with TurnRecord(tmp_path) as record:
            for number in range(3):
                record.event(turn, "ToolStarted", {"tool": "bash", "number": number})
    events = list(read_events(tmp_path))
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5, 6]
    assert [event["turn"] for event in events] == [1, 1, 1, 2, 2, 2]
    assert events[0]["payload"] == {"tool": "bash", "number": 0}
    assert str(events[0]["at"]).endswith("+00:00")


@pytest.mark.parametrize("torn", [b'{"seq": 4, "tu', b"\x00\x00\x00", b'{"seq": 4, "payload": {}'])
def test_a_torn_last_line_is_skipped_and_repaired(tmp_path: Path, torn: bytes) -> None:
    with TurnRecord(tmp_path) as record:
        record.event(1, "Notice", {"text": "kept"})
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(torn)
    assert [event["seq"] for event in read_events(tmp_path)] == [1]
    with TurnRecord(tmp_path) as record:
        record.event(2, "Notice", {"text": "next"})
    assert [event["seq"] for event in read_events(tmp_path)] == [1, 2]
    assert torn not in (tmp_path / "events.jsonl").read_bytes()


def test_a_whole_last_line_that_lacks_only_its_newline_is_kept(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"seq": 7, "turn": 1, "kind": "Notice", "payload": {}}')
    with TurnRecord(tmp_path) as record:
        record.event(2, "Notice", {})
    assert [event["seq"] for event in read_events(tmp_path)] == [7, 8]


def test_a_broken_stretch_of_any_length_does_not_restart_the_sequence(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b'{"seq": 7}\n' + b"\x00" * 200_000 + b"\n" + b"x\n" * 50_000)
    with TurnRecord(tmp_path) as record:
        record.event(1, "Notice", {})
    assert [event["seq"] for event in read_events(tmp_path)] == [7, 8]


def test_reading_what_was_never_written_gives_nothing(tmp_path: Path) -> None:
    assert list(read_events(tmp_path)) == []


def test_a_second_writer_is_refused_and_the_folder_is_free_after_closing(tmp_path: Path) -> None:
    with TurnRecord(tmp_path), pytest.raises(LockHeldError, match="another writer"):
        TurnRecord(tmp_path)
    TurnRecord(tmp_path).close()


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_secret_is_masked_in_all_three_however_it_is_cut(tmp_path: Path, size: int) -> None:
    text = f"before {SECRET} between {SECRET[:8]} and {SECRET}{SECRET} after"
    with TurnRecord(tmp_path, [SECRET]) as record:
        raw = record.raw({})
        for start in range(0, len(text), size):
            piece = text[start : start + size]
            record.text(piece)
            record.event(1, "TextDelta", {"text": piece})
            raw.write(piece.encode())
    expected = text.replace(SECRET, MASK)
    assert (tmp_path / "render.log").read_text() == expected
    assert "".join(json.loads(json.dumps(e["payload"]))["text"] for e in read_events(tmp_path)) == expected
    assert (tmp_path / "raw" / "000001-0001.log").read_text() == expected


def test_a_secret_is_masked_anywhere_in_an_event_and_as_json_writes_it(tmp_path: Path) -> None:
    secret = 'p"ss\\wörd/1'
    with TurnRecord(tmp_path, [secret]) as record:
        record.event(1, "ToolFinished", {"output": {"deep": [f"x{secret}y"], secret: 1}, "path": Path(secret)})
        stream = json.dumps({"a": secret}).encode() + b"\n" + json.dumps(secret, ensure_ascii=False).encode()
        record.raw({}).write(stream)
        record.text(json.dumps(secret))
    assert next(read_events(tmp_path))["payload"] == {"output": {"deep": [f"x{MASK}y"], MASK: 1}, "path": MASK}
    assert (tmp_path / "raw" / "000001-0001.log").read_text() == f'{{"a": "{MASK}"}}\n"{MASK}"'
    assert (tmp_path / "render.log").read_text() == f'"{MASK}"'


def test_a_long_field_is_masked_before_it_is_cut(tmp_path: Path) -> None:
    output = "a" * (8000 - 5) + SECRET + "b" * 20_000
    with TurnRecord(tmp_path, [SECRET]) as record:
        record.event(1, "ToolFinished", {"output": output})
    line = (tmp_path / "events.jsonl").read_text()
    assert SECRET[:5] not in line
    assert "[truncated]" in line
    assert len(line) < 17_000


def test_short_values_are_words_and_are_not_masked(tmp_path: Path) -> None:
    with TurnRecord(tmp_path, ["", "main"]) as record:
        record.text("on main")
    assert (tmp_path / "render.log").read_text() == "on main"


def test_flushing_writes_what_was_held_back(tmp_path: Path) -> None:
    with TurnRecord(tmp_path, [SECRET]) as record:
        record.text("ends with " + SECRET[:5])
        assert (tmp_path / "render.log").read_text() == "ends with "
        record.flush()
        assert (tmp_path / "render.log").read_text() == "ends with " + SECRET[:5]


def test_a_masker_never_shows_its_values() -> None:
    assert SECRET not in repr(Masker([SECRET]))


@given(
    st.lists(st.text(alphabet="abc", min_size=6, max_size=9), min_size=1, max_size=3),
    st.text(alphabet="abc", max_size=60),
    st.lists(st.integers(1, 9), max_size=20),
)
def test_no_cutting_lets_a_value_through(secrets: list[str], text: str, sizes: list[int]) -> None:
    stream = MaskedStream(Masker(secrets))
    out, rest = "", text
    for size in sizes:
        out += stream.feed(rest[:size])
        rest = rest[size:]
    out += stream.feed(rest) + stream.end()
    assert all(secret not in part for part in out.split(MASK) for secret in secrets)
    if all(secret not in text for secret in secrets):
        assert out == text


def test_any_text_and_any_bytes_are_recorded(tmp_path: Path) -> None:
    with TurnRecord(tmp_path, [SECRET]) as record:
        record.text("\ud800 ok 😀\x00")
        record.event(1, "Notice", {"text": "\ud800", "n": float("nan"), "many": {1: (2, None, True, 1.5)}})
        record.raw({}).write(bytes(range(256)))
    assert (tmp_path / "render.log").read_bytes() == "\\ud800 ok 😀\x00".encode()
    payload = next(read_events(tmp_path))["payload"]
    assert payload == {"text": "\ud800", "n": "nan", "many": {"1": [2, None, True, 1.5]}}
    assert (tmp_path / "raw" / "000001-0001.log").read_bytes() == bytes(range(256))


def test_a_failure_to_append_warns_once_and_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("render.log", "events.jsonl", "raw"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with caplog.at_level(logging.WARNING), TurnRecord(tmp_path) as record:
        for _ in range(3):
            record.text("x")
            record.event(1, "Notice", {})
            record.raw({}).write(b"x")
    assert len(caplog.records) == 1
    assert "incomplete" in caplog.text
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_cannot_be_made_warns_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING), TurnRecord(tmp_path / "file" / "run") as record:
        record.text("x")
        record.event(1, "Notice", {})
    assert len(caplog.records) == 1


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from touchline.turn.record import TurnRecord
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
record = TurnRecord(Path(sys.argv[1]))
record.event(1, "Notice", {"text": "first"})
resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
record.event(1, "Notice", {"text": "x" * 1000})
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
record.event(1, "Notice", {"text": "second"})
record.close()
"""


def test_an_append_that_fails_half_way_leaves_no_half_line(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(argv, timeout=60, capture_output=True, text=True, check=True)
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["payload"]["text"] for line in lines] == ["first", "second"]
    assert [json.loads(line)["seq"] for line in lines] == [1, 2]
    assert done.stderr.count("incomplete") == 1


WRITER = """
import sys
from pathlib import Path
from touchline.turn.record import TurnRecord
record = TurnRecord(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    record.event(1, "TextDelta", {"text": "x" * 5000})
"""


def test_a_killed_writer_leaves_a_record_that_goes_on(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.2)
        child.send_signal(signal.SIGKILL)
    before = len(list(read_events(tmp_path)))
    with TurnRecord(tmp_path) as record:
        record.event(2, "Notice", {})
    sequence = [event["seq"] for event in read_events(tmp_path)]
    assert before > 0
    assert sequence == list(range(1, len(sequence) + 1))


def test_threads_share_one_record(tmp_path: Path) -> None:
    with TurnRecord(tmp_path) as record:

        def work(turn: int) -> None:
            for number in range(100):
                record.event(turn, "Notice", {"number": number})

        threads = [threading.Thread(target=work, args=(turn,)) for turn in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
    events = list(read_events(tmp_path))
    assert [event["seq"] for event in events] == list(range(1, 401))
    assert sorted(int(str(event["turn"])) for event in events) == sorted(list(range(4)) * 100)


def test_what_comes_after_closing_is_dropped(tmp_path: Path) -> None:
    record = TurnRecord(tmp_path)
    record.text("kept")
    record.close()
    record.text("late")
    record.event(1, "Notice", {})
    record.close()
    assert (tmp_path / "render.log").read_text() == "kept"
    assert list(read_events(tmp_path)) == []
