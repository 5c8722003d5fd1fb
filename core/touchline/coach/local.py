"""The bookkeeping of a local run: what the player owns, and an index put back as it was (spec page 5, "--no-pr").

The work stays uncommitted. Commits of the player are taken back, its new files are owned, and the clean-up changes
only the index: every file is equal before and after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.coach.memory import Memory, TurnMemory, load_tree, save_tree
from touchline.coach.player import PlayerReport, claim_differences
from touchline.coach.run import Run
from touchline.documents.ledger import Ledger
from touchline.errors import GitError, LedgerError
from touchline.git.fingerprint import take_fingerprint
from touchline.git.folding import FoldKind, fold, mark_start
from touchline.git.index import remove_intent_to_add, restore_staged, staged_set
from touchline.git.quoting import quote_path, unquote_path
from touchline.git.repository import Repository
from touchline.git.trees import TreeState, changed_paths, snapshot
from touchline.git.untracked import ignore_rules, untracked
from touchline.ledger import queries

_CANNOT_GO_ON = (FoldKind.SWITCHED, FoldKind.REWRITTEN, FoldKind.PUSHED, FoldKind.UNFINISHED)


def remember_start(repo: Repository, memory: Memory, owned: Sequence[str]) -> TreeState:
    """Keep the repository as it is before the run; gives the state of its tracked files and the `owned` paths."""
    tree = snapshot(repo, owned)
    save_tree(memory.run_tree, tree)
    memory.save_staged(staged_set(repo))
    memory.save_fingerprint(take_fingerprint(repo))
    ignore_rules(repo, memory.rules.folder)
    return tree


def remember_turn(run: Run, turn: int) -> TreeState:
    """Keep the repository as it is before a turn; gives the state of tracked files and owned paths."""
    ledger = run.store.read()
    state = snapshot(run.repo, owned_paths(ledger))
    save_tree(run.memory.turn_tree(turn), state)
    new = frozenset(untracked(run.repo, rules=run.memory.rules))
    run.memory.save_turn(turn, TurnMemory(mark_start(run.repo), new))
    return state


def inherited_paths(repo: Repository, earlier: Ledger | None) -> list[str]:
    """What an earlier local run on the same change added and left untracked: it is this run's work too."""
    if earlier is None or earlier.run.mode != "no-pr":
        return []
    return sorted({*owned_paths(earlier)}.intersection(untracked(repo)))


def owned_paths(ledger: Ledger) -> list[str]:
    """The paths that the player added, as git names them."""
    return [unquote_path(path) for path in ledger.run.owned_paths]


def present_tree(run: Run, ledger: Ledger, turn: int, *, previous: TreeState | None = None) -> TreeState:
    """The state now of tracked files, owned paths, and every file that is new since the turn began."""
    return snapshot(run.repo, sorted({*owned_paths(ledger), *new_files(run, turn)}), previous=previous)


def record_turn(run: Run, turn: int) -> None:
    """Take back the player's commits, take over its new files, and close the turn's row.

    Raises GitError when the player left a state that a run cannot go on from (another branch, rewritten history);
    the run then stops and nothing is lost.
    """
    ledger = run.store.read()
    memory = run.memory.load_turn(turn)
    owned = {*owned_paths(ledger), *new_files(run, turn)}
    folded = fold(run.repo, memory.start, label=f"{ledger.run_number}-turn-{turn}", owned=sorted(owned))
    if folded.kind in _CANNOT_GO_ON:
        raise GitError(
            f"after turn {turn} the repository is not where the run can go on: {folded.reason}",
            fix="Put HEAD back where the turn began and start again, or give the run up with --new.",
        )
    owned.update(folded.untracked)
    before = load_tree(run.memory.turn_tree(turn))
    changed = [quote_path(path) for path in changed_paths(before, snapshot(run.repo, sorted(owned), previous=before))]
    row = queries.current_turn(ledger)
    if row is None or row.turn != turn:
        raise LedgerError(f"turn {turn} is not the last one in the ledger", fix="Start again.")
    concerns = [*row.concerns, *claim_differences(PlayerReport(changed=tuple(row.claimed_paths)), changed)]
    if folded.kind is FoldKind.FOLDED:
        concerns.append(f"the player committed; taken back and kept as {folded.kept_ref}")
    update = {
        "state": "recorded",
        "changed_paths": changed,
        "noop": not changed,
        "head_sha": run.repo.head().commit,
        "concerns": concerns,
    }
    rows = [one.model_copy(update=update) if one is row else one for one in ledger.turns]
    state = ledger.run.model_copy(update={"owned_paths": sorted(quote_path(path) for path in owned)})
    run.store.write(ledger.model_copy(update={"turns": rows, "run": state}))
    count = f"{len(changed)} path{'s' if len(changed) > 1 else ''}" if changed else "nothing"
    run.progress.say(f"turn {turn}: {count} changed")


def clear_intents(repo: Repository, ledger: Ledger) -> None:
    """Remove the intent-to-add entries of a local run; what a killed process left, or until the next verification."""
    if ledger.run.mode == "no-pr" and ledger.run.owned_paths:
        remove_intent_to_add(repo, owned_paths(ledger))


def clean_up(repo: Repository, ledger: Ledger, memory: Memory) -> None:
    """Put the index back as it was before a local run, and prove that no file changed.

    Raises GitError if a file differs afterwards.
    """
    if ledger.run.mode != "no-pr" or not memory.exists:
        return
    owned = owned_paths(ledger)
    before = snapshot(repo, owned)
    clear_intents(repo, ledger)
    if repo.head().commit == ledger.run.start_head:
        restore_staged(repo, memory.load_staged())
    after = snapshot(repo, sorted({*owned, *before.entries}), previous=before)
    if changed := changed_paths(before, after):
        raise GitError(
            f"files changed while the index was put back: {', '.join(map(quote_path, changed[:5]))}",
            fix="Stop what writes to the work tree and start again.",
        )


def new_files(run: Run, turn: int) -> list[str]:
    """The untracked files that a turn added, by the ignore rules of the start of the run."""
    known = run.memory.load_turn(turn).untracked
    return [path for path in untracked(run.repo, rules=run.memory.rules) if path not in known]
