"""Owns what is said about the runs on this machine, and how a person names one of them. Changes nothing.

A folder holds one change: its present run, and what its ledger keeps of the earlier ones (spec pages 3 and 8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from touchline import state
from touchline.documents.ledger import Ledger, PastRun
from touchline.errors import LedgerError, UsageError
from touchline.ledger import queries
from touchline.ledger.lock import holder_of, process_start
from touchline.ledger.store import LedgerStore
from touchline.state import RunFolder

UNREADABLE = "UNREADABLE"
RUNNING = "RUNNING"
UNFINISHED = "UNFINISHED"
GIVEN_UP = "GIVEN_UP"
"""An earlier run that was left unfinished for a new one (`--new`)."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run. `status` is the terminal or last status, or RUNNING, UNFINISHED, GIVEN_UP, UNREADABLE.

    `current` is false for an earlier run of the change, of which the ledger keeps no time of its end.
    """

    name: str
    folder: str
    status: str
    run_number: str = ""
    current: bool = True
    detail: str = ""
    updated_at: str | None = None
    turns_used: int | None = None
    max_turns: int | None = None
    verify_runs: int | None = None
    pr_url: str | None = None


def list_runs(environ: Mapping[str, str]) -> list[RunRow]:
    """Every run, the change that was written last first and in it the newest run first.

    A change that cannot be read says why.
    """
    changes = [_rows(folder) for folder in _folders(environ)]
    changes.sort(key=lambda rows: (rows[0].updated_at or "", rows[0].name), reverse=True)
    return [row for rows in changes for row in rows]


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


def find_shown(name: str, environ: Mapping[str, str]) -> tuple[RunFolder, str]:
    """(folder, number) of a run that can be looked at: as `find_run`, and an earlier run by its number."""
    if name.isdecimal():
        for folder in _folders(environ):
            if any(past.run_number == name for past in _past(folder)):
                return folder, name
    folder = find_run(name, environ)
    return folder, LedgerStore(folder.path).read().run_number


def as_it_was(ledger: Ledger, number: str) -> Ledger:
    """The ledger as one about the run `number`: its counts, options and ending; findings are those of the change."""
    past = next((one for one in ledger.runs if one.run_number == number), None)
    if past is None:
        return ledger
    ended = {"options": past.options, "last_exit": None}
    return ledger.model_copy(
        update={
            "run_number": number,
            "run": ledger.run.model_copy(update=ended),
            "terminal": past.terminal,
            "max_turns": past.options.max_turns,
            "severity_threshold": past.options.severity,
        }
    )


def run_name(folder: RunFolder) -> str:
    """PROJECT/CHANGE."""
    return f"{folder.path.parent.name}/{folder.path.name}"


def status_of(folder: RunFolder, ledger: Ledger) -> str:
    """How the run stands, in one word; `ledger` may be one of `as_it_was`."""
    if any(past.run_number == ledger.run_number for past in ledger.runs):
        return ledger.terminal.status if ledger.terminal is not None else GIVEN_UP
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


def _past(folder: RunFolder) -> Sequence[PastRun]:
    try:
        return LedgerStore(folder.path).read().runs
    except LedgerError:
        return ()


def _rows(folder: RunFolder) -> list[RunRow]:
    """The present run of a folder, then the earlier ones, the newest first."""
    name = run_name(folder)
    try:
        ledger = LedgerStore(folder.path).read()
    except LedgerError as exc:
        return [RunRow(name, str(folder.path), UNREADABLE, detail=exc.what)]
    earlier = [
        RunRow(
            name=name,
            folder=str(folder.path),
            status=past.terminal.status if past.terminal is not None else GIVEN_UP,
            run_number=past.run_number,
            current=False,
            detail=past.terminal.reason if past.terminal is not None else "",
            turns_used=past.turns_used,
            max_turns=past.options.max_turns,
            verify_runs=past.verify_runs,
        )
        for past in reversed(ledger.runs)
    ]
    return [_row(folder, ledger), *earlier]


def _row(folder: RunFolder, ledger: Ledger) -> RunRow:
    reason = ledger.terminal or ledger.run.last_exit
    return RunRow(
        name=run_name(folder),
        folder=str(folder.path),
        status=status_of(folder, ledger),
        run_number=ledger.run_number,
        detail=reason.reason if reason else "",
        updated_at=ledger.updated_at,
        turns_used=queries.turns_used(ledger),
        max_turns=ledger.max_turns,
        verify_runs=queries.verify_runs(ledger),
        pr_url=ledger.pr_url,
    )
