"""What every step of a run is given beside the ledger: services and places, never ledger state (spec page 3)."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TextIO

from touchline.coach.checks import Checks
from touchline.coach.memory import Memory
from touchline.coach.progress import Progress
from touchline.coach.publish.publication import Publication
from touchline.coach.services import Gates
from touchline.documents.ledger import Ledger, TurnRow
from touchline.documents.settings import ExecutorConfig, Settings
from touchline.executor import Executor, Limits
from touchline.git.repository import Repository
from touchline.ledger import queries
from touchline.ledger.store import LedgerStore, timestamp
from touchline.plugins.hooks import Hooks
from touchline.process.cancel import Cancellation
from touchline.turn.record import TurnRecord


@dataclass(frozen=True, slots=True)
class Run:
    """The services of one process that works on one run."""

    store: LedgerStore
    repo: Repository
    settings: Settings
    executors: Mapping[str, Executor]
    """Every executor that this run may use, by its configured name."""
    record: TurnRecord
    progress: Progress
    cancel: Cancellation
    gates: Gates
    checks: Checks
    hooks: Hooks
    clock: Callable[[], datetime]
    result: TextIO
    """Where the terminal block goes, alone."""
    as_json: bool = False
    secrets: tuple[str, ...] = ()
    publication: Publication | None = None
    """The services of publishing; None for a local run."""

    @property
    def memory(self) -> Memory:
        """What the run keeps until it ends."""
        return Memory(self.store.folder.private)

    def now(self) -> str:
        """ISO 8601 UTC, whole seconds."""
        return timestamp(self.clock())

    def limits(self, name: str) -> Limits:
        """The bounds of one turn of the executor configured as `name`."""
        bounds = self.settings.executors.get(name, ExecutorConfig()).limits
        return Limits(wall_s=bounds.wall_s, idle_s=bounds.idle_s, grace_s=bounds.grace_s)

    def player(self, ledger: Ledger) -> Executor:
        """The executor that plays in this run."""
        return self.executors[ledger.run.options.executor]

    def update_run(self, **values: object) -> Ledger:
        """Read the ledger, change fields of `run`, write it."""
        ledger = self.store.read()
        return self.store.write(ledger.model_copy(update={"run": ledger.run.model_copy(update=values)}))

    def update_turn(self, turn: int, **values: object) -> TurnRow:
        """Read the ledger, change fields of one turn of this run, write it; gives the row as written."""
        ledger = self.store.read()
        rows = [
            row.model_copy(update=values) if row.run_number == ledger.run_number and row.turn == turn else row
            for row in ledger.turns
        ]
        written = self.store.write(ledger.model_copy(update={"turns": rows}))
        return next(row for row in queries.turns_of_run(written) if row.turn == turn)

    def pause(self, seconds: float) -> bool:
        """Wait, but no longer than until the run is cancelled; gives whether the whole time passed."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.cancel.is_set():
            select.select([self.cancel], [], [], min(left, 60.0))
        return not self.cancel.is_set()
