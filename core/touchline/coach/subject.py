"""What one verification of a run is about: the work tree of a local run, or a commit against its fetched target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from touchline.coach import local
from touchline.coach.memory import load_tree
from touchline.coach.publish.publication import Publication
from touchline.coach.run import Run
from touchline.coach.steps import Verify
from touchline.documents.base import Location
from touchline.documents.ledger import Ledger, TurnRow
from touchline.gates.reading import Reported
from touchline.git.diff import compare, merge_base
from touchline.git.index import intend_to_add
from touchline.git.quoting import quote_path
from touchline.git.trees import TreeState, changed_paths, snapshot
from touchline.secrets.changes import scan_change
from touchline.verify.folding import make_reported

REFUSED_SEVERITY = 8
SECRET_SEVERITY = 7
SECRETS_MAX = 50


@dataclass(frozen=True, slots=True)
class Subject:
    """The scope of one verification. Paths as git names them; `changed` is everything that differs from the base."""

    mode: Literal["branch", "files"]
    head: str
    base_commit: str
    base_ref: str | None
    tree: TreeState
    changed: tuple[str, ...]
    files: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    known_dirty: tuple[str, ...] = ()
    since: str | None = None


def subject_of(run: Run, ledger: Ledger, step: Verify) -> Subject:
    """The subject of `step` as it is now. Raises GitError, and ForgeError when the target cannot be fetched."""
    if run.publication is None:
        return _local(run, ledger)
    return _published(run, run.publication, ledger, step)


def noticed_secrets(run: Run, subject: Subject) -> tuple[Reported, ...]:
    """What looks like a secret by name or randomness: a finding for the player, no stop (spec page 5)."""
    if run.publication is None:
        return ()
    scan = scan_change(run.publication.scanner, run.repo, subject.base_commit, subject.head)
    return tuple(
        make_reported(
            title=f"this looks like a secret ({hit.kind})",
            severity=SECRET_SEVERITY,
            class_="security",
            source="coach",
            mechanism=f"possible-secret-{hit.kind}",
            description="A value that may be a secret is part of the change. Take it out, or read it from outside.",
            location=Location(path=quote_path(hit.path), line=hit.line or None),
        )
        for hit in scan.noticed[:SECRETS_MAX]
    )


def refused_commit(turn: TurnRow) -> tuple[Reported, ...]:
    """The finding on a commit that a hook of the repository refused, if one did."""
    if turn.commit_refused is None:
        return ()
    return (
        make_reported(
            title="a commit hook of the repository refuses this change",
            severity=REFUSED_SEVERITY,
            class_="correctness",
            source="coach",
            mechanism="commit-hook-refused",
            description=turn.commit_refused,
            evidence=turn.commit_refused,
        ),
    )


def _local(run: Run, ledger: Ledger) -> Subject:
    owned = tuple(local.owned_paths(ledger))
    intend_to_add(run.repo, owned)
    start = load_tree(run.memory.run_tree)
    tree = snapshot(run.repo, owned, previous=start)
    changed = changed_paths(start, tree)
    return Subject(
        "files",
        run.repo.head().commit,
        ledger.merge_base,
        None,
        tree,
        changed,
        files=tuple(sorted({*changed, *owned})),
        owned=owned,
    )


def _published(run: Run, publication: Publication, ledger: Ledger, step: Verify) -> Subject:
    head = run.repo.head().commit
    base = merge_base(run.repo, publication.fetch_target(), head)
    if base != ledger.merge_base:
        run.store.write(ledger.model_copy(update={"merge_base": base}))
    return Subject(
        "branch",
        head,
        base,
        publication.base_ref,
        snapshot(run.repo),
        tuple(compare(run.repo, base, head).changed_paths()),
        known_dirty=tuple(sorted(publication.dirty_at_start)),
        since=None if step.full_audit else ledger.carry_forward.last_verified_head_sha,
    )
