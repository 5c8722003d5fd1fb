"""The quarantine file that the runs of an epic share (spec page 3)."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.documents.ledger import Ledger, Provenance, QuarantineEntry
from touchline.errors import LedgerError, LockHeldError
from touchline.ledger.epic import (
    EpicQuarantine,
    QuarantineChange,
    change_between,
    entry_key,
    merge,
    seeded,
    unrecorded,
)

MakeEntry = Callable[..., QuarantineEntry]
MakeLedger = Callable[..., Ledger]

WRITER = """
import sys
from pathlib import Path
from touchline.documents.ledger import QuarantineEntry
from touchline.ledger.epic import EpicQuarantine, QuarantineChange

file, name = EpicQuarantine(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    entry = QuarantineEntry.model_validate({
        "id": "Q-1", "title": "t", "signature": f"{name}-{number}", "paths": ["a.py"], "firstSeen": 1,
        "provenance": {"reproducedAt": "d" * 40, "command": "pytest"},
    })
    file.record(QuarantineChange(opened=(entry,)))
"""


def test_parallel_runs_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "epic.json"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, "12"]) for name in ("one", "two", "three")
    ]
    try:
        assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait(timeout=10)
    entries = EpicQuarantine(path).read()
    assert {entry.signature for entry in entries} == {f"{n}-{i}" for n in ("one", "two", "three") for i in range(12)}
    assert len({entry.id for entry in entries}) == 36
    assert not [
        name for name in (path.name for path in tmp_path.iterdir()) if name not in ("epic.json", ".epic.json.lock")
    ]


def test_a_missing_file_is_empty_and_made_by_the_first_record(tmp_path: Path, make_entry: MakeEntry) -> None:
    file = EpicQuarantine(tmp_path / "epic.json")
    assert file.read() == []
    assert file.record(QuarantineChange()) == []
    assert json.loads(file.path.read_text()) == []
    entry = make_entry("Q-1")
    assert file.record(QuarantineChange(opened=(entry,))) == [entry]
    assert file.read() == [entry]
    assert json.loads(file.path.read_text())[0]["provenance"]["reproducedAt"] == "d" * 40


def test_an_invalidated_entry_is_inactive_for_all_and_active_again_when_it_is_proven_again(
    tmp_path: Path, make_entry: MakeEntry
) -> None:
    file = EpicQuarantine(tmp_path / "epic.json")
    entry = make_entry("Q-1")
    file.record(QuarantineChange(opened=(entry, make_entry("Q-2"))))
    # Another document knows the same entry under another id.
    gone = entry.model_copy(update={"id": "Q-9", "active": False, "invalidated_by": "the diff touches a.py"})
    after = file.record(QuarantineChange(invalidated=(gone,)))
    assert [(known.id, known.active, known.invalidated_by) for known in after] == [
        ("Q-1", False, "the diff touches a.py"),
        ("Q-2", True, None),
    ]
    again = file.record(QuarantineChange(opened=(entry,)))
    assert again[0] == entry


def test_unknown_fields_and_the_mode_of_the_shared_file_are_kept(tmp_path: Path, make_entry: MakeEntry) -> None:
    path = tmp_path / "epic.json"
    document = make_entry("Q-1").model_dump(mode="json", by_alias=True) | {"note": "by hand"}
    path.write_text(json.dumps([document]))
    path.chmod(0o640)
    (tmp_path / "link.json").symlink_to(path)
    EpicQuarantine(tmp_path / "link.json").record(QuarantineChange(opened=(make_entry("Q-2"),)))
    assert json.loads(path.read_text())[0]["note"] == "by hand"
    assert len(json.loads(path.read_text())) == 2
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.json").is_symlink()


@pytest.mark.parametrize("data", [b"", b"{}", b"[{}]", b"[", b"\xff"])
def test_a_corrupt_file_is_named_and_never_overwritten(tmp_path: Path, make_entry: MakeEntry, data: bytes) -> None:
    path = tmp_path / "epic.json"
    path.write_bytes(data)
    file = EpicQuarantine(path)
    with pytest.raises(LedgerError, match=r"epic\.json is corrupt"):
        file.read()
    with pytest.raises(LedgerError, match=r"epic\.json is corrupt"):
        file.record(QuarantineChange(opened=(make_entry("Q-1"),)))
    assert path.read_bytes() == data


def test_a_file_held_too_long_or_in_no_folder_is_one_message(tmp_path: Path) -> None:
    with (tmp_path / ".epic.json.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LockHeldError, match=r"in use for 0\.05 s"):
            EpicQuarantine(tmp_path / "epic.json", lock_wait_s=0.05).record(QuarantineChange())
    with pytest.raises(LedgerError, match="folder that exists"):
        EpicQuarantine(tmp_path / "absent" / "epic.json").record(QuarantineChange())


def test_only_what_a_decision_changed_goes_to_the_shared_file(make_ledger: MakeLedger, make_entry: MakeEntry) -> None:
    kept, gone, back = make_entry("Q-1"), make_entry("Q-2"), make_entry("Q-3", active=False)
    before = make_ledger(quarantine=[kept, gone, back])
    new = make_entry("Q-4")
    gone_after = gone.model_copy(update={"active": False, "invalidated_by": "moved"})
    back_after = back.model_copy(update={"active": True})
    after = make_ledger(quarantine=[kept, gone_after, back_after, new])
    change = change_between(before, after)
    assert change == QuarantineChange(opened=(back_after, new), invalidated=(gone_after,))
    assert change_between(after, after) == QuarantineChange()


def test_seeding_takes_active_unknown_entries_under_free_ids(make_ledger: MakeLedger, make_entry: MakeEntry) -> None:
    own = make_entry("Q-1", signature="own", active=False)
    ledger = make_ledger(quarantine=[own])
    shared = [
        make_entry("Q-1", signature="shared"),
        make_entry("Q-2", signature="off", active=False),
        make_entry("Q-3", signature="own"),
    ]
    after = seeded(ledger, shared)
    assert [(entry.id, entry.signature, entry.active) for entry in after.quarantine] == [
        ("Q-1", "own", False),
        ("Q-2", "shared", True),
    ]
    assert seeded(after, shared) is after


def test_what_a_crash_kept_from_the_shared_file_is_found_again(make_ledger: MakeLedger, make_entry: MakeEntry) -> None:
    lost, known, off = make_entry("Q-1"), make_entry("Q-2"), make_entry("Q-3", active=False)
    invalidated = known.model_copy(update={"active": False})
    assert unrecorded(make_ledger(quarantine=[lost, known, off]), [invalidated]) == QuarantineChange(opened=(lost,))


@given(st.data())
def test_merging_drops_nothing_and_is_done_once(data: st.DataObject) -> None:
    entries = st.lists(
        st.builds(
            QuarantineEntry,
            id=st.sampled_from(["Q-1", "Q-2", "Q-3"]),
            title=st.just("t"),
            signature=st.sampled_from("abc"),
            paths=st.lists(st.sampled_from(["a.py", "b.py"]), max_size=2),
            provenance=st.just(Provenance(reproduced_at="d", command="c")),
            firstSeen=st.just(1),
            active=st.booleans(),
        ),
        max_size=5,
    )
    known = merge([], QuarantineChange(opened=tuple(data.draw(entries))))
    change = QuarantineChange(opened=tuple(data.draw(entries)), invalidated=tuple(data.draw(entries)))
    merged = merge(known, change)
    assert [entry_key(entry) for entry in merged][: len(known)] == [entry_key(entry) for entry in known]
    assert {entry_key(entry) for entry in change.opened} <= {entry_key(entry) for entry in merged}
    assert len({entry_key(entry) for entry in merged}) == len(merged)
    assert len({entry.id for entry in merged}) == len(merged)
    assert merge(merged, change) == merged
