"""What `touchline verify` is about: as named, else the branch against a likely base, else the last local run (page 5).

On the target branch itself there is nothing to compare a commit with. A local run that was made there knows where it
began and what it changed, so its work is what is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from touchline.coach.start import Place, find_place
from touchline.documents.base import Depth
from touchline.documents.ledger import Ledger
from touchline.errors import UsageError
from touchline.git.diff import merge_base
from touchline.git.facts import resolve_commit
from touchline.git.index import read_status
from touchline.git.quoting import unquote_path
from touchline.git.repository import Repository
from touchline.ledger.store import LedgerStore
from touchline.verify.request import ScopeMode

DEFAULT_SEVERITY = 5
_LIKELY_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options as given; None where one was left out."""

    scope: ScopeMode | None = None
    base: str | None = None
    files: tuple[str, ...] = ()
    depth: Depth | None = None
    plan_file: str | None = None
    ledger_file: str | None = None
    since: str | None = None
    no_carry_forward: bool = False
    severity: int | None = None
    epic_context: str | None = None
    reviewers: tuple[str, ...] = ()
    executor: str | None = None
    model: str | None = None
    config_file: Path | None = None

    @property
    def threshold(self) -> int:
        """Findings of this severity and above count."""
        return self.severity or DEFAULT_SEVERITY

    @property
    def mode(self) -> ScopeMode:
        """The scope in effect."""
        return self.scope or ("files" if self.files else "branch")


@dataclass(frozen=True, slots=True)
class Compared:
    """The options with the scope settled, the name and commit that is compared with, and what to say about it."""

    chosen: Chosen
    base_ref: str | None
    base: str
    said: str = ""


def settle_scope(repo: Repository, chosen: Chosen, head: str, environ: Mapping[str, str]) -> Compared:
    """What the verification is about. Raises UsageError saying which option is missing or has no meaning."""
    if chosen.mode != "branch":
        if chosen.base is not None:
            raise UsageError(f"--base has no meaning in the scope {chosen.mode}", fix="Leave it out.")
        if chosen.mode == "files" and not chosen.files:
            raise UsageError("the scope files needs --files", fix="Name each changed path with --files PATH.")
        return Compared(chosen, None, head)
    if chosen.files:
        raise UsageError("--files has no meaning in the scope branch", fix="Leave it out, or use --scope files.")
    names = [chosen.base] if chosen.base is not None else list(_LIKELY_BASES)
    for name in names:
        commit = resolve_commit(repo, name)
        if commit is not None and (chosen.base is not None or commit != head):
            common = merge_base(repo, commit, head)
            if common:
                return Compared(chosen, name, common)
    found = _last_local_run(repo, chosen, head, environ) if chosen.scope is None and chosen.base is None else None
    if found is not None:
        return found
    raise UsageError(
        f"there is no commit to compare with ({', '.join(names)})",
        fix="Name the branch that the change started from: --base REF. "
        "For what is not committed: --scope unstaged, --scope staged, or --files PATH for each path.",
    )


def _last_local_run(repo: Repository, chosen: Chosen, head: str, environ: Mapping[str, str]) -> Compared | None:
    place = find_place(repo.work_tree, environ)
    store = LedgerStore(place.folder.path)
    ledger = store.read() if store.exists() else None
    if ledger is None or ledger.run.mode != "no-pr":
        return None
    start = ledger.run.start_head
    if start == head:
        return _uncommitted(place, ledger, chosen, head)
    if start and merge_base(repo, start, head) == start:
        said = f"comparing with {start[:12]}, where the local run {ledger.run_number} began"
        return Compared(_with_plan(place, chosen), start, start, said)
    return None


def _uncommitted(place: Place, ledger: Ledger, chosen: Chosen, head: str) -> Compared | None:
    """What the runs from this commit changed and what still differs from it."""
    status = read_status(place.repo)
    differs = {*status.dirty_tracked, *status.untracked, *status.staged}
    told = {path for row in ledger.turns if row.start_head == head for path in row.changed_paths}
    files = sorted(differs.intersection(unquote_path(path) for path in (*told, *ledger.run.owned_paths)))
    if not files:
        return None
    said = f"verifying the {len(files)} uncommitted paths of the local run {ledger.run_number} since {head[:12]}"
    return Compared(replace(_with_plan(place, chosen), scope="files", files=tuple(files)), None, head, said)


def _with_plan(place: Place, chosen: Chosen) -> Chosen:
    """The options with the plan of the run, where none was named."""
    if chosen.plan_file is not None or not place.folder.plan.is_file():
        return chosen
    return replace(chosen, plan_file=str(place.folder.plan))
