"""What a start finds at the host of a branch that has been published before (spec page 5, phase 0).

A new run goes on where an earlier one left the branch and its change request, if they are still this branch's own;
somebody else's commits are never pushed over. An unfinished run goes on only with the git settings that it began with.
"""

from __future__ import annotations

from dataclasses import dataclass

from touchline.coach.memory import Memory
from touchline.coach.publish.binding import Binding
from touchline.documents.ledger import Ledger
from touchline.errors import ForgeConflict, ForgeNotFoundError, GitError
from touchline.forge import ByUrl, Change
from touchline.git.diff import merge_base
from touchline.git.fingerprint import take_fingerprint, transport_changes
from touchline.git.repository import Repository


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
    tip = tip_at_host(binding, branch)
    if tip and merge_base(repo, tip, repo.head().commit) != tip:
        raise ForgeConflict(
            f"the branch {branch} at the host is at {tip}, with commits that are not here",
            fix="Someone else pushed: fetch the branch, look at it and merge it; it is never overwritten.",
            operation="preflight",
            provider=binding.provider,
        )
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


def tip_at_host(binding: Binding, branch: str) -> str:
    """The full SHA of a branch of the repository that is pushed to, brought here; "" where it is not there."""
    try:
        return binding.forge.fetch_branch(binding.head, branch)
    except ForgeNotFoundError:
        return ""


def require_kept_transport(repo: Repository, memory: Memory) -> None:
    """Raise GitError when what says where a push goes and who gets a credential is not as the run began with it."""
    changed = transport_changes(memory.load_fingerprint(), take_fingerprint(repo))
    if changed:
        raise GitError(
            f"git settings that steer pushes were changed since the run began: {'; '.join(changed[:10])}",
            fix="Look at them with `git config --list --show-origin` and put them back; or start anew with --new.",
        )
