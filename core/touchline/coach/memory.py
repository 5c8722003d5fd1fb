"""What a run keeps in its `private/` folder, because it must outlive a crash but not the run (spec page 3).

The state of the work tree at the start of the run and of each turn, so that what changed can be told after a kill.
"""

from __future__ import annotations

import json
from pathlib import Path

from touchline.errors import LedgerError
from touchline.git.trees import TreeEntry, TreeState
from touchline.ledger.store import atomic_write


def save_tree(path: Path, state: TreeState) -> None:
    """Write the state, atomically."""
    entries = {name: [entry.mode, entry.digest, entry.blob] for name, entry in state.entries.items()}
    # Undecodable file names are lone surrogates, which only ASCII JSON can carry.
    atomic_write(path, json.dumps(entries, ensure_ascii=True).encode())


def load_tree(path: Path) -> TreeState:
    """The state as it was saved. Raises LedgerError when it is gone or damaged."""
    try:
        entries = json.loads(path.read_bytes())
        return TreeState({name: TreeEntry(*values) for name, values in entries.items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise LedgerError(
            f"the state of the work tree in {path} cannot be read: {error}",
            fix="Start a new run with --new; the work tree is left as it is.",
        ) from error
