"""Reading and writing the ledger (spec page 3, "Writing" and "Reading")."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.documents.ledger import Ledger
from touchline.errors import LedgerError
from touchline.ledger.atomic import LEFTOVER_SUFFIX, read_regular, sweep_leftovers
from touchline.ledger.store import LedgerStore, atomic_write, new_run_number, timestamp

MakeLedger = Callable[..., Ledger]
NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def store_at(folder: Path, now: datetime = NOON) -> LedgerStore:
    return LedgerStore(folder, clock=lambda: now)


def test_a_ledger_is_created_once_and_read_back_equal(tmp_path: Path, make_ledger: MakeLedger) -> None:
    store = store_at(tmp_path / "run")
    assert not store.exists()
    written = store.create(make_ledger())
    assert store.exists()
    assert written.created_at == written.updated_at == "2026-03-01T12:00:00Z"
    assert store.read() == written
    with pytest.raises(LedgerError, match="already a ledger"):
        store.create(make_ledger())
    assert store.read() == written


def test_each_read_sees_the_file_as_it_is_now(tmp_path: Path, make_ledger: MakeLedger) -> None:
    store = store_at(tmp_path)
    store.create(make_ledger())
    text = store.path.read_text()
    store.path.write_text(text.replace('"severityThreshold": 5', '"severityThreshold": 7'))
    assert store.read().severity_threshold == 7


def test_keys_are_camel_case_on_disk_and_every_document_names_its_schema(
    tmp_path: Path, make_ledger: MakeLedger
) -> None:
    store_at(tmp_path).create(make_ledger())
    document = json.loads((tmp_path / "ledger.json").read_text())
    assert document["schemaVersion"] == 1
    assert document["run"]["options"]["maxTurns"] == 10
    assert not [key for key in document if "_" in key]


def test_updated_at_follows_a_clock_that_is_set_back_and_nothing_else_moves(
    tmp_path: Path, make_ledger: MakeLedger
) -> None:
    first = store_at(tmp_path).create(make_ledger())
    later = store_at(tmp_path, NOON - timedelta(hours=2)).write(first.model_copy(update={"max_turns": 3}))
    assert later.updated_at == "2026-03-01T10:00:00Z"
    assert later.created_at == "2026-03-01T12:00:00Z"
    assert store_at(tmp_path).read() == later


def test_fields_of_a_newer_version_survive_a_read_modify_write(tmp_path: Path, make_ledger: MakeLedger) -> None:
    store = store_at(tmp_path)
    store.create(make_ledger())
    document = json.loads(store.path.read_text())
    document["fromTheFuture"] = {"deep": [1, None, "ü"]}
    document["run"]["options"]["alsoNew"] = True
    store.path.write_text(json.dumps(document))
    store.write(store.read())
    again = json.loads(store.path.read_text())
    assert again["fromTheFuture"] == {"deep": [1, None, "ü"]}
    assert again["run"]["options"]["alsoNew"] is True


CORRUPT = {
    "empty": (b"", "line 1 column 0"),
    "half": (b'{"schemaVersion": 1,\n "project": "x', "line 2 column"),
    "zeros": (b"\0" * 4096, "line 1 column 1"),
    "not utf-8": (b'{"project": "\xff\xfe"}', "line 1 column"),
    "list": (b"[]", "the top level"),
    "deep": (b"[" * 100_000, "line 1 column"),
    "version word": (b'{"schemaVersion": "2"}', "schemaVersion"),
}


@pytest.mark.parametrize("kind", CORRUPT)
def test_a_corrupt_ledger_is_named_with_the_place_of_its_fault_and_never_overwritten(
    tmp_path: Path, make_ledger: MakeLedger, kind: str
) -> None:
    data, position = CORRUPT[kind]
    store = store_at(tmp_path)
    store.path.write_bytes(data)
    for act in (store.read, lambda: store.write(make_ledger()), lambda: store.create(make_ledger())):
        with pytest.raises(LedgerError) as caught:
            act()
        assert str(store.path) in str(caught.value)
    with pytest.raises(LedgerError, match="corrupt") as caught:
        store.read()
    assert position in str(caught.value)
    assert store.path.read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]


def test_a_wrong_value_is_named_by_its_field_and_not_repeated(tmp_path: Path, make_ledger: MakeLedger) -> None:
    store = store_at(tmp_path)
    store.create(make_ledger())
    text = store.path.read_text().replace('"severityThreshold": 5', '"severityThreshold": "hunter2-secret"')
    store.path.write_text(text)
    with pytest.raises(LedgerError, match="at severityThreshold") as caught:
        store.read()
    assert "hunter2" not in str(caught.value)


@given(st.integers(min_value=2, max_value=10**12))
def test_a_newer_schema_is_refused_by_its_number_and_left_alone(
    tmp_path_factory: pytest.TempPathFactory, version: int
) -> None:
    store = store_at(tmp_path_factory.mktemp("run"))
    data = json.dumps({"schemaVersion": version, "unknownShape": []}).encode()
    store.path.write_bytes(data)
    with pytest.raises(LedgerError, match=f"newer touchline: its schemaVersion is {version}"):
        store.read()
    assert store.path.read_bytes() == data


def test_writing_needs_a_ledger_that_is_still_there(tmp_path: Path, make_ledger: MakeLedger) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        store_at(tmp_path / "gone").write(make_ledger())
    assert not (tmp_path / "gone").exists()


def test_a_value_that_could_not_be_read_back_is_never_written(tmp_path: Path, make_ledger: MakeLedger) -> None:
    store = store_at(tmp_path)
    good = store.create(make_ledger())
    with (
        pytest.warns(UserWarning, match="serialized value may not be as expected"),
        pytest.raises(LedgerError, match="refusing to write an invalid ledger"),
    ):
        store.write(good.model_copy(update={"max_turns": "many"}))
    assert store.read() == good


def test_a_ledger_that_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ledger.json")
    with pytest.raises(LedgerError, match="not a regular file"):
        store_at(tmp_path).read()
    (tmp_path / "other" / "ledger.json").mkdir(parents=True)
    with pytest.raises(LedgerError, match="cannot read"):
        store_at(tmp_path / "other").read()


def test_a_file_above_the_bound_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_regular(tmp_path / "big", max_bytes=10)
    assert read_regular(tmp_path / "big", max_bytes=11) == b"x" * 11


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_files_are_0600_and_folders_0700_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    code = (
        "import os, pathlib, sys\n"
        "from touchline.ledger.atomic import atomic_write\n"
        f"os.umask({umask})\n"
        "for data in (b'one', b'two'):\n"
        "    atomic_write(pathlib.Path(sys.argv[1]), data)\n"
    )
    file = tmp_path / "feedback" / "1" / "turn-1.md"
    subprocess.run([sys.executable, "-c", code, str(file)], check=True, timeout=30)
    assert file.read_bytes() == b"two"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["turn-1.md"]


def test_a_failed_rename_leaves_no_trace_and_one_message(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    (target / "in the way").mkdir(parents=True)
    with pytest.raises(LedgerError, match=r"cannot write .*report\.json") as caught:
        atomic_write(target, b"data")
    assert "start the same command again" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot write"):
        atomic_write(tmp_path / "file" / "deep" / "x.json", b"data")


def test_only_our_own_leftovers_are_swept(tmp_path: Path) -> None:
    ours = [tmp_path / f".ledger.json.abc{LEFTOVER_SUFFIX}", tmp_path / "reports" / f".1.json.x{LEFTOVER_SUFFIX}"]
    others = [tmp_path / "ledger.json", tmp_path / f"visible{LEFTOVER_SUFFIX}", tmp_path / ".other.tmp"]
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / f".x{LEFTOVER_SUFFIX}").write_text("")
    (tmp_path / "reports").mkdir()
    (tmp_path / "link").symlink_to(outside)
    for file in (*ours, *others):
        file.write_text("")
    assert sorted(sweep_leftovers(tmp_path)) == sorted(ours)
    assert all(file.exists() for file in others)
    assert (outside / f".x{LEFTOVER_SUFFIX}").exists()


def test_times_are_written_in_utc_whole_seconds() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    assert timestamp(datetime(2026, 1, 1, 3, 0, 0, 999_999, tzinfo=east)) == "2025-12-31T21:30:00Z"


def test_a_run_number_is_numeric_utc_and_never_one_that_is_taken() -> None:
    assert new_run_number(NOON, []) == "20260301120000"
    taken = {"20260301120000", "20260301120001"}
    number = new_run_number(NOON, taken)
    assert number.isdigit()
    assert number not in taken
    assert new_run_number(NOON.replace(second=59), {"20260301120059"}).isdigit()


@given(st.datetimes(timezones=st.just(UTC)), st.integers(min_value=1, max_value=20))
def test_runs_started_in_one_second_all_get_numbers_of_their_own(now: datetime, count: int) -> None:
    taken: set[str] = set()
    for _ in range(count):
        taken.add(new_run_number(now, taken))
    assert len(taken) == count
    assert all(number.isdecimal() for number in taken)
