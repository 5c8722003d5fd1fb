"""What a run keeps in its `private/` folder, because it must outlive a crash but not the run (spec page 3).

The work tree, the index and the repository's own settings as they were at the start of the run and of each turn, so
that what changed can still be told, and put back, after a kill.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from touchline.errors import LedgerError
from touchline.git.fingerprint import Fingerprint
from touchline.git.folding import TurnStart
from touchline.git.index import SavedIndex, StagedEntry
from touchline.git.repository import Head
from touchline.git.trees import TreeEntry, TreeState
from touchline.git.untracked import IgnoreRules
from touchline.ledger.store import atomic_write

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TurnMemory:
    """Where one turn began; `untracked` are the files that were new already then, for instance from a verifier."""

    start: TurnStart
    untracked: frozenset[str]


@dataclass(frozen=True, slots=True)
class Memory:
    """The files of one run's `private/` folder."""

    folder: Path

    @property
    def run_tree(self) -> Path:
        """The work tree at the start of the run."""
        return self.folder / "tree-start.json"

    def turn_tree(self, turn: int) -> Path:
        """The work tree at the start of a turn."""
        return self.folder / f"tree-turn-{turn}.json"

    @property
    def commit_setup(self) -> Path:
        """Identity and commit hooks as they were at the start of the run."""
        return self.folder / "commit"

    def verified_tree(self, turn: int) -> Path:
        """The work tree as a turn's first verification found it."""
        return self.folder / f"tree-verified-{turn}.json"

    @property
    def rules(self) -> IgnoreRules:
        """The ignore rules of the start of the run."""
        return IgnoreRules(self.folder / "ignore")

    @property
    def exists(self) -> bool:
        """Whether the run still has its memory; a run that was reported has none."""
        return self.folder.is_dir()

    def save_turn(self, turn: int, memory: TurnMemory) -> None:
        """Keep where a turn began."""
        index = memory.start.index
        content = None if index.content is None else base64.b64encode(index.content).decode()
        _save(
            self.folder / f"turn-{turn}.json",
            {
                "branch": memory.start.head.branch,
                "commit": memory.start.head.commit,
                "index": content,
                "indexTime": index.mtime_ns,
                "untracked": sorted(memory.untracked),
            },
        )

    def load_turn(self, turn: int) -> TurnMemory:
        """Where a turn began. Raises LedgerError when that is gone or damaged."""

        def read(found: Any) -> TurnMemory:
            content = None if found["index"] is None else base64.b64decode(found["index"])
            head = Head(found["branch"], found["commit"])
            return TurnMemory(TurnStart(head, SavedIndex(content, found["indexTime"])), frozenset(found["untracked"]))

        return _load(self.folder / f"turn-{turn}.json", read)

    def save_staged(self, staged: Iterable[StagedEntry]) -> None:
        """Keep what was staged before the run."""
        _save(self.folder / "staged.json", sorted([entry.path, entry.mode, entry.blob] for entry in staged))

    def load_staged(self) -> frozenset[StagedEntry]:
        """What was staged before the run. Raises LedgerError when that is gone or damaged."""
        return _load(self.folder / "staged.json", lambda found: frozenset(StagedEntry(*entry) for entry in found))

    def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Keep the repository's own settings as digests."""
        _save(self.folder / "fingerprint.json", dict(fingerprint.parts))

    def load_fingerprint(self) -> Fingerprint:
        """The settings' digests at the start of the run. Raises LedgerError when they are gone or damaged."""
        return _load(self.folder / "fingerprint.json", Fingerprint)


def save_tree(path: Path, state: TreeState) -> None:
    """Write the state, atomically."""
    entries = state.entries.items()
    _save(path, {name: [entry.mode, entry.digest, entry.blob, entry.permissions] for name, entry in entries})


def load_tree(path: Path) -> TreeState:
    """The state as it was saved. Raises LedgerError when it is gone or damaged."""
    return _load(path, lambda found: TreeState({name: TreeEntry(*values) for name, values in found.items()}))


def _save(path: Path, value: object) -> None:
    # Undecodable file names are lone surrogates, which only ASCII JSON can carry.
    atomic_write(path, json.dumps(value, ensure_ascii=True).encode())


def _load(path: Path, read: Callable[[Any], _T]) -> _T:
    try:
        return read(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(
            f"what the run remembers in {path} cannot be read: {error}",
            fix="Start a new run with --new; the work tree is left as it is.",
        ) from error
