"""Committing and publishing one turn (spec page 5): folded, scanned, one commit, then pushed (see `push`).

Every step can be repeated: a turn found `committing` adopts its own commit.
"""

from __future__ import annotations

from touchline.coach.local import new_files, owned_paths
from touchline.coach.memory import load_tree
from touchline.coach.player import PlayerReport, claim_differences
from touchline.coach.publish.observed import cleaned, publishing_failed
from touchline.coach.publish.publication import Publication
from touchline.coach.publish.push import PublishStopped, is_unpublished, publish
from touchline.coach.run import Run
from touchline.documents.ledger import Ledger, TurnRow
from touchline.errors import ForgeError, GitError, LedgerError
from touchline.git.commits import CommitKind, Committed, commit_turn, intended_tree, is_turn_commit
from touchline.git.folding import FoldKind, fold
from touchline.git.hooks import load_commit_setup
from touchline.git.messages import clean_message, message_digest
from touchline.git.quoting import quote_path
from touchline.git.trees import changed_paths, snapshot
from touchline.ledger import queries
from touchline.secrets.changes import scan_change, scan_commits

_CANNOT_GO_ON = (FoldKind.SWITCHED, FoldKind.REWRITTEN, FoldKind.PUSHED, FoldKind.UNFINISHED)
_COMMIT_TRIES = 3
HOOK_OUTPUT_KEPT = 2000


def record_published_turn(run: Run, publication: Publication, turn: int) -> None:
    """Close a turn's row: its commit made and published, or no commit where nothing changed.

    Raises GitError for a repository that the run cannot go on in. A failure to publish is written down as the run's
    first cause; the planner then ends the run.
    """
    ledger = run.store.read()
    row = queries.current_turn(ledger)
    if row is None or row.turn != turn:
        raise LedgerError(f"turn {turn} is not the last one in the ledger", fix="Start again.")
    try:
        if row.state == "returned":
            row = _commit(run, publication, ledger, row)
        elif row.intended_tree is not None:
            row = _commit_again(run, publication, ledger, row)
        if row.head_sha is not None and is_unpublished(run, row.head_sha):
            if row.noop:
                _refuse_secrets(run, publication, row.head_sha, row.head_sha)
            publish(run, publication, row.head_sha)
        run.update_turn(turn, state="recorded")
    except (PublishStopped, ForgeError) as failure:
        if isinstance(failure, ForgeError) and run.cancel.is_set():
            raise  # a call that was broken off for us says nothing about the host; the next start goes on here
        publishing_failed(run, failure, turn=True, head_sha=row.head_sha or run.repo.head().commit)


def _commit(run: Run, publication: Publication, ledger: Ledger, row: TurnRow) -> TurnRow:
    """From a turn that is back to its commit: fold, take over new files, scan, write down, commit."""
    memory = run.memory.load_turn(row.turn)
    owned = {*owned_paths(ledger), *new_files(run, row.turn)}
    folded = fold(run.repo, memory.start, label=f"{ledger.run_number}-turn-{row.turn}", owned=sorted(owned))
    if folded.kind in _CANNOT_GO_ON:
        raise GitError(
            f"after turn {row.turn} the repository is not where the run can go on: {folded.reason}",
            fix="Put HEAD back where the turn began and start again, or give the run up with --new.",
        )
    owned.update(folded.untracked)
    before = load_tree(run.memory.turn_tree(row.turn))
    changed = changed_paths(before, snapshot(run.repo, sorted(owned), previous=before))
    _refuse_dirty(publication, changed)
    named = [quote_path(path) for path in changed]
    concerns = [*row.concerns, *claim_differences(PlayerReport(changed=tuple(row.claimed_paths)), named)]
    if folded.kind is FoldKind.FOLDED:
        concerns.append(f"the player committed; taken back and kept as {folded.kept_ref}")
    values: dict[str, object] = {"changed_paths": named, "concerns": concerns, "noop": not changed}
    run.update_run(owned_paths=sorted(quote_path(path) for path in owned))
    if not changed:
        return run.update_turn(row.turn, head_sha=row.start_head, **values)
    intended = intended_tree(run.repo, changed, start=row.start_head)
    summary = row.settlement.summary if row.settlement is not None else None
    message = cleaned(run, publication, "commit message", clean_message(summary or "", paths=changed))
    _refuse_secrets(run, publication, row.start_head, intended.tree)
    row = run.update_turn(
        row.turn, state="committing", intended_tree=intended.tree, message_digest=message_digest(message), **values
    )
    return _make(run, publication, row, message, list(changed))


def _commit_again(run: Run, publication: Publication, ledger: Ledger, row: TurnRow) -> TurnRow:
    """A turn that was being committed when its process ended: its commit is adopted, or made."""
    assert row.intended_tree is not None
    if is_turn_commit(run.repo, row.start_head, row.intended_tree, row.message_digest or ""):
        return run.update_turn(row.turn, head_sha=run.repo.head().commit)
    return _commit(run, publication, ledger, row)


def _make(run: Run, publication: Publication, row: TurnRow, message: str, changed: list[str]) -> TurnRow:
    setup = load_commit_setup(run.memory.commit_setup)
    committed = Committed(CommitKind.NOTHING)
    for _ in range(_COMMIT_TRIES):
        intended = intended_tree(run.repo, changed, start=row.start_head)
        committed = commit_turn(run.repo, intended, message, setup=setup, paths=changed, cancel=run.cancel)
        if committed.kind is not CommitKind.HOOK_CHANGED:
            break
        # What a hook changed goes into the commit, so it is scanned like the player's own work.
        again = intended_tree(run.repo, changed, start=row.start_head)
        _refuse_secrets(run, publication, row.start_head, again.tree)
        row = run.update_turn(row.turn, intended_tree=again.tree)
    match committed.kind:
        case CommitKind.COMMITTED:
            run.progress.say(f"turn {row.turn}: committed {committed.commit[:12]} {message.partition(chr(10))[0]}")
            return run.update_turn(row.turn, head_sha=committed.commit)
        case CommitKind.NOTHING:
            return run.update_turn(row.turn, head_sha=row.start_head, noop=True)
        case CommitKind.HOOK_FAILED:
            output = cleaned(run, publication, "hook output", committed.output[-HOOK_OUTPUT_KEPT:])
            told = f"the hook {committed.hook} refused the commit: {committed.reason}\n{output}"
        case CommitKind.HOOK_CHANGED:
            told = f"commit hooks keep changing files: {', '.join(map(quote_path, committed.changed[:10]))}"
    run.progress.say(told)
    return run.update_turn(row.turn, head_sha=row.start_head, noop=True, commit_refused=told)


def _refuse_dirty(publication: Publication, changed: tuple[str, ...]) -> None:
    touched = sorted(set(changed).intersection(publication.dirty_at_start))
    if touched:
        shown = ", ".join(map(quote_path, touched[:10]))
        raise PublishStopped(f"the turn changed files that held changes before the run: {shown}")


def _refuse_secrets(run: Run, publication: Publication, start: str, tree: str) -> None:
    """Stop before commit and push if the change, or an earlier commit of the branch, would publish a secret."""
    scan = scan_change(publication.scanner, run.repo, start, tree)
    earlier = scan_commits(publication.scanner, run.repo, start, since=[run.store.read().merge_base])
    reasons = [*scan.reasons(), *earlier.reasons()]
    if scan.stops or earlier.stops:
        raise PublishStopped(f"suspected secrets: {'; '.join(reasons[:5])}")
