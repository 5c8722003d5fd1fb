"""Which old run folders go (spec page 3, "Place")."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from touchline.documents.ledger import Ledger, Terminal
from touchline.ledger.lock import RunLock
from touchline.ledger.pruning import prune
from touchline.ledger.store import LedgerStore

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MakeLedger = Callable[..., Ledger]
DONE = Terminal(status="APPROVED_NO_PR", reason="", reported=True)


def touch_all(folder: Path, when: datetime) -> None:
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            os.utime(Path(parent, name), (when.timestamp(),) * 2, follow_symlinks=False)
        os.utime(parent, (when.timestamp(),) * 2)


@pytest.fixture
def make_run(tmp_path: Path, make_ledger: MakeLedger) -> Callable[..., Path]:
    """Make a run folder whose files were all changed `days` ago."""

    def make(name: str, days: float, **changes: object) -> Path:
        folder = tmp_path / "state" / "project-1" / name
        LedgerStore(folder).create(make_ledger(**changes))
        (folder / "reports").mkdir()
        (folder / "reports" / "1.json").write_text("{}")
        touch_all(folder, NOW - timedelta(days=days))
        return folder

    return make


def pruned(tmp_path: Path) -> list[str]:
    result = prune(tmp_path / "state", now=NOW)
    assert result.problems == ()
    return sorted(path.name for path in result.removed)


def test_only_folders_untouched_for_thirty_days_go(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    old, young = make_run("old", 31, terminal=DONE), make_run("young", 29, terminal=DONE)
    future = make_run("future", -3, terminal=DONE)
    assert pruned(tmp_path) == ["old"]
    assert not old.exists()
    assert young.exists()
    assert future.exists()


def test_an_unfinished_run_stays_only_while_it_has_a_pull_request(
    tmp_path: Path, make_run: Callable[..., Path]
) -> None:
    url = "https://example.test/o/r/pull/1"
    kept = make_run("unfinished-open", 400, pr_url=url)
    make_run("unfinished-local", 400)
    make_run("finished-open", 400, pr_url=url, terminal=DONE)
    assert pruned(tmp_path) == ["finished-open", "unfinished-local"]
    assert LedgerStore(kept).read().pr_url == url


def test_one_recent_file_anywhere_keeps_the_folder(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    folder = make_run("run", 40, terminal=DONE)
    recent = (NOW - timedelta(days=1)).timestamp()
    os.utime(folder / "reports" / "1.json", (recent, recent))
    assert pruned(tmp_path) == []


def test_a_locked_folder_stays_however_old(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    folder = make_run("run", 400, terminal=DONE)
    with RunLock(folder):
        touch_all(folder, NOW - timedelta(days=400))
        assert pruned(tmp_path) == []
    touch_all(folder, NOW - timedelta(days=400))
    assert pruned(tmp_path) == ["run"]


def test_looking_at_a_folder_does_not_make_it_young(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    folder = make_run("run", 29.5, terminal=DONE)
    with RunLock(folder):
        pass
    assert pruned(tmp_path) == []
    assert [path.name for path in prune(tmp_path / "state", now=NOW + timedelta(days=1)).removed] == ["run"]


@pytest.mark.parametrize("data", [b"{", b'{"schemaVersion": 2}'])
def test_a_ledger_that_cannot_be_read_keeps_its_folder_and_is_reported(
    tmp_path: Path, make_run: Callable[..., Path], data: bytes
) -> None:
    folder = make_run("run", 400, terminal=DONE)
    (folder / "ledger.json").write_bytes(data)
    touch_all(folder, NOW - timedelta(days=400))
    other = make_run("zz-other", 400, terminal=DONE)
    result = prune(tmp_path / "state", now=NOW)
    assert (folder / "ledger.json").read_bytes() == data
    assert result.removed == (other,)
    assert len(result.problems) == 1
    assert str(folder) in result.problems[0]


def test_a_folder_without_a_ledger_goes_when_old_and_so_does_an_empty_project(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "project-2" / "aborted"
    folder.mkdir(parents=True)
    touch_all(folder, NOW - timedelta(days=31))
    assert pruned(tmp_path) == ["aborted"]
    assert not folder.parent.exists()
    assert (tmp_path / "state").exists()


def test_links_are_removed_and_never_followed(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("kept")
    folder = make_run("run", 40, terminal=DONE)
    (folder / "raw").symlink_to(outside)
    touch_all(folder, NOW - timedelta(days=40))
    (tmp_path / "state" / "project-1" / "linked").symlink_to(outside)
    os.utime(outside / "precious", (0, 0))
    assert pruned(tmp_path) == ["run"]
    assert (outside / "precious").read_text() == "kept"


def test_what_an_interrupted_pass_left_is_removed_by_the_next(tmp_path: Path) -> None:
    half = tmp_path / "state" / "project-1" / ".pruned-00ff"
    half.mkdir(parents=True)
    (half / "ledger.json").write_text("{")
    assert pruned(tmp_path) == []
    assert not half.exists()


def test_an_absent_state_folder_is_nothing_to_prune(tmp_path: Path) -> None:
    assert pruned(tmp_path) == []
    assert not (tmp_path / "state").exists()
