"""The executors and the permission gates of one process (spec pages 2 and 8)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TextIO

from touchline.coach.executors import build_executor
from touchline.documents.ledger import Ledger
from touchline.documents.settings import Settings
from touchline.executor import Executor, PermissionAnswer, PermissionAsked
from touchline.git.repository import Repository
from touchline.ledger.store import timestamp
from touchline.permissions.gate import PermissionGate
from touchline.permissions.person import Terminal, Waiting
from touchline.permissions.policy import make_policy
from touchline.process.cancel import Cancellation
from touchline.state import RunFolder


@dataclass(frozen=True, slots=True)
class Console:
    """The terminal of a person who can be asked; `paused` holds back other output meanwhile."""

    read_fd: int
    write: TextIO
    paused: Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Gates:
    """The permission gates of one run: the player's, and the verifiers', who may ask from several threads."""

    player: PermissionGate
    verifier: PermissionGate
    _lock: threading.Lock

    def permit_verifier(self, asked: PermissionAsked) -> PermissionAnswer:
        """Decide a verifier's request; one at a time, so that a person is never asked two things at once."""
        with self._lock:
            return self.verifier.permit(asked)

    def ask_person(self, question: str) -> str | None:
        """A person's answer to the player's question; None when nobody answered."""
        answer = self.player.ask_person(question)
        return answer.text if answer is not None and answer.text.strip() else None


def run_executors(ledger: Ledger, settings: Settings, environ: Mapping[str, str]) -> dict[str, Executor]:
    """The player's executor by its configured name. Raises PluginLoadError or ExecutorError."""
    name = ledger.run.options.executor
    return {name: build_executor(name, settings, environ)}


def permission_gates(
    repo: Repository,
    folder: RunFolder,
    ledger: Ledger,
    settings: Settings,
    *,
    console: Console | None,
    cancel: Cancellation,
    clock: Callable[[], datetime],
    say: Callable[[str], None],
) -> Gates:
    """The gates of the run. Without a `console` the run is headless: what the rules leave open is denied."""
    rules: Sequence[Mapping[str, Sequence[str]]] = [settings.permissions.model_dump()]
    waiting = None
    if console is not None:
        terminal = Terminal(console.read_fd, console.write, console.paused)
        waiting = Waiting(now=lambda: timestamp(clock()), cancel=cancel, terminal=terminal, say=say)

    def gate(profile: str) -> PermissionGate:
        policy = make_policy(
            "player" if profile == "player" else "verifier",
            str(repo.work_tree),
            rules=rules,
            git_dirs=(str(repo.git_dir), str(repo.common_dir)),
        )
        return PermissionGate(policy, folder.path, run=ledger.run_number, waiting=waiting)

    return Gates(gate("player"), gate("verifier"), threading.Lock())
