"""Owns what is said about the run folders on this machine, and how a person names one of them. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from touchline import state
from touchline.documents.ledger import Ledger
from touchline.errors import LedgerError, UsageError
from touchline.ledger import queries
from touchline.ledger.lock import holder_of, process_start
from touchline.ledger.store import LedgerStore
from touchline.state import RunFolder

UNREADABLE = "UNREADABLE"
RUNNING = "RUNNING"
UNFINISHED = "UNFINISHED"


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run folder. `status` is the terminal or last status, or RUNNING, UNFINISHED, UNREADABLE."""

    name: str
    folder: str
    status: str
    detail: str = ""
    updated_at: str | None = None
    turns_used: int | None = None
    max_turns: int | None = None
    verify_runs: int | None = None
    pr_url: str | None = None


def list_runs(environ: Mapping[str, str]) -> list[RunRow]:
    """Every run folder, the one that was written last first; one that cannot be read says why."""
    rows = [_row(folder) for folder in _folders(environ)]
    return sorted(rows, key=lambda row: (row.updated_at or "", row.name), reverse=True)


def find_run(name: str, environ: Mapping[str, str]) -> RunFolder:
    """The run folder called `name`: PROJECT/CHANGE, CHANGE alone where only one project has it, or a run's number.

    Raises UsageError naming the candidates.
    """
    known = {run_name(folder): folder for folder in _folders(environ)}
    if name in known:
        return known[name]
    matching = sorted(one for one in known if one.partition("/")[2] == name)
    if not matching and name.isdecimal():  # as the start of a run announces it
        matching = sorted(one for one, folder in known.items() if _number(folder) == name)
    if len(matching) == 1:
        return known[matching[0]]
    if matching:
        raise UsageError(f"several runs are called {name!r}", fix=f"Say which one: {', '.join(matching)}.")
    raise UsageError(f"there is no run {name!r}", fix="`touchline runs` lists them.")


def run_name(folder: RunFolder) -> str:
    """PROJECT/CHANGE."""
    return f"{folder.path.parent.name}/{folder.path.name}"


def status_of(folder: RunFolder, ledger: Ledger) -> str:
    """How the run stands, in one word."""
    if ledger.terminal is not None:
        return ledger.terminal.status
    if is_running(folder):
        return RUNNING
    return ledger.run.last_exit.status if ledger.run.last_exit else UNFINISHED


def is_running(folder: RunFolder) -> bool:
    """Whether the process named in the run's lock still lives. Taking the lock to find out would disturb it."""
    holder = holder_of(folder.path)
    return holder is not None and holder.start != "" and process_start(holder.pid) == holder.start


def _folders(environ: Mapping[str, str]) -> list[RunFolder]:
    """The folders that hold a ledger; a run that was refused before its first step leaves one without."""
    folders = state.run_folders(state.state_root(environ))
    return [folder for folder in folders if LedgerStore(folder.path).exists()]


def _number(folder: RunFolder) -> str:
    """The number of the run that the folder holds now; "" where that cannot be read."""
    try:
        return LedgerStore(folder.path).read().run_number
    except LedgerError:
        return ""


def _row(folder: RunFolder) -> RunRow:
    name = run_name(folder)
    try:
        ledger = LedgerStore(folder.path).read()
    except LedgerError as exc:
        return RunRow(name, str(folder.path), UNREADABLE, exc.what)
    reason = ledger.terminal or ledger.run.last_exit
    return RunRow(
        name=name,
        folder=str(folder.path),
        status=status_of(folder, ledger),
        detail=reason.reason if reason else "",
        updated_at=ledger.updated_at,
        turns_used=queries.turns_used(ledger),
        max_turns=ledger.max_turns,
        verify_runs=queries.verify_runs(ledger),
        pr_url=ledger.pr_url,
    )
