"""What a start finds at the host of a branch that has been published before (spec page 5, phase 0).

A new run goes on where an earlier one left the branch and its change request, if they are still this branch's own;
somebody else's commits are never pushed over. An unfinished run goes on only with the git settings that it began with.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from touchline.coach.memory import Memory
from touchline.coach.publish.binding import Binding
from touchline.coach.run import Run
from touchline.documents.ledger import Ledger
from touchline.errors import ForgeConflict, ForgeNotFoundError, GitError, LedgerError
from touchline.forge import ByUrl, Change
from touchline.git.diff import merge_base
from touchline.git.fingerprint import take_fingerprint, transport_changes, transport_digest
from touchline.git.repository import Repository
from touchline.ledger.store import LedgerStore
from touchline.state import RunFolder

UNCLAIMED_MAX = 50
AT_START, AT_END = "transport", "transportAtEnd"
"""Keys of `run.configuration`: digests of the git settings that steer pushes."""


@dataclass(frozen=True, slots=True)
class Left:
    """The branch at the host ("": not there) and its open change request, if it has one."""

    head_sha: str
    change: Change | None

    def kept(self, ledger: Ledger) -> Ledger:
        """The ledger of the new run with what was seen."""
        change = self.change
        state = {"remote_head_sha": self.head_sha or None, "pr_state": change.state if change is not None else None}
        return ledger.model_copy(
            update={
                "pr_url": change.url if change is not None else None,
                "run": ledger.run.model_copy(update=state),
            }
        )


def left_at_host(binding: Binding, repo: Repository, ledger: Ledger, target: str) -> Left:
    """What earlier runs left. Raises ForgeConflict for a branch or change that this run may not go on with."""
    branch = ledger.run.source_branch or ""
    tip = own_tip_at_host(binding, repo, branch)
    change = binding.forge.inspect(ByUrl(ledger.pr_url)) if ledger.pr_url is not None else None
    if change is None or not change.is_open:
        return Left(tip, None)
    if not tip:
        raise ForgeConflict(
            f"the branch {branch} of {change.url} is gone from the host",
            fix="Push it again, or close the change request; then start again.",
            operation="preflight",
            provider=binding.provider,
            observed=change.observed(),
        )
    if change.target != target:
        raise ForgeConflict(
            f"{change.url} goes to {change.target}, not to {target}",
            fix=f"Start with --target {change.target}, or change its target at the host.",
            operation="preflight",
            provider=binding.provider,
            observed=change.observed(),
        )
    return Left(tip, change)


def with_unclaimed(repo: Repository, ledger: Ledger, target_sha: str) -> Ledger:
    """The ledger with the commits of the branch that no turn made, as evidence of what happened between two runs."""
    listed = repo.git("rev-list", f"--max-count={UNCLAIMED_MAX + len(ledger.turns)}", "HEAD", f"^{target_sha}")
    claimed = {row.head_sha for row in ledger.turns}
    told = [
        f"commit {sha} of the branch was made by no turn of touchline"
        for sha in reversed(listed.decode("ascii", "replace").split())
        if sha not in claimed
    ]
    new = [text for text in told[-UNCLAIMED_MAX:] if text not in ledger.interruptions]
    return ledger.model_copy(update={"interruptions": [*ledger.interruptions, *new]})


def tip_at_host(binding: Binding, branch: str) -> str:
    """The full SHA of a branch of the repository that is pushed to, brought here; "" where it is not there."""
    try:
        return binding.forge.fetch_branch(binding.head, branch)
    except ForgeNotFoundError:
        return ""


def own_tip_at_host(binding: Binding, repo: Repository, branch: str) -> str:
    """The same of a branch that only we may move: raises ForgeConflict where it holds commits that HEAD does not."""
    tip = tip_at_host(binding, branch)
    if tip and merge_base(repo, tip, repo.head().commit) != tip:
        raise ForgeConflict(
            f"the branch {branch} at the host is at {tip}, with commits that are not here",
            fix="Someone else pushed: fetch the branch, look at it and merge it; it is never overwritten.",
            operation="preflight",
            provider=binding.provider,
        )
    return tip


def keep_transport(run: Run) -> None:
    """Keep with the ledger what steers pushes at the end of the run, to know what was changed while it went on."""
    digest = transport_digest(take_fingerprint(run.repo))
    run.update_run(configuration={**run.store.read().run.configuration, AT_END: digest})


def require_kept_transport(repo: Repository, root: Path) -> None:
    """Raise GitError when a run of this work tree left other settings for pushes than it began with.

    A player may have written them. What a person changed after the run is no concern. `root` holds the folders of
    all projects: with the remote's URL the project itself changes its name.
    """
    now = take_fingerprint(repo)
    folder, ledger = _last_published(repo, root)
    if folder is None or ledger is None:
        return
    began, ended = ledger.run.configuration.get(AT_START), ledger.run.configuration.get(AT_END)
    digest = transport_digest(now)
    if began in (None, digest) or (ledger.terminal is not None and ended != digest):
        return
    memory = Memory(RunFolder(folder).private)
    changed = transport_changes(memory.load_fingerprint(), now) if memory.exists else ()
    named = f": {'; '.join(changed[:10])}" if changed else ""
    raise GitError(
        f"git settings that steer pushes were changed while the run of {ledger.run.source_branch} went on{named}",
        fix="Look at `git config --list --show-origin` and put them back; if they are your own, start with --new.",
    )


def _last_published(repo: Repository, root: Path) -> tuple[Path | None, Ledger | None]:
    """The folder and the ledger of the published run of this work tree that was written last."""
    found: list[tuple[str, Path, Ledger]] = []
    for place in root.glob("*/*/ledger.json"):
        try:
            ledger = LedgerStore(place.parent).read()
        except LedgerError:
            continue  # its own start says so
        if ledger.run.repo == str(repo.work_tree) and ledger.run.mode == "published":
            found.append((ledger.updated_at, place.parent, ledger))
    _, folder, newest = max(found, key=lambda one: one[0], default=("", None, None))
    return folder, newest
