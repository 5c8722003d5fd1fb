"""The conditions under which a change may be touched, for every way of keeping it (spec page 6). Pure."""

from __future__ import annotations

from touchline.api import Change, Draft, ForgeAmbiguousError, ForgeConflict


def require_head_at(now: Change, head_sha: str) -> None:
    """Raise unless the change is at exactly that head, on a branch that is there."""
    if not now.source_exists:
        raise ForgeConflict(
            f"the branch {now.source} of {now.url} is gone from the host", fix="Push it again.", observed=now.observed()
        )
    if now.head_sha != head_sha:
        raise ForgeConflict(
            f"the head of {now.url} is {now.head_sha}, not {head_sha}: someone else pushed",
            fix="Look at the new commits, verify them, then do this again.",
            observed=now.observed(),
        )


def require_same_head(was: Change, now: Change) -> None:
    """Raise unless the head is what it was; that a branch was gone before is no obstacle to a last word."""
    if now.head_sha != was.head_sha:
        require_head_at(now, was.head_sha)


def require_open(now: Change) -> None:
    """Raise unless the change is still open."""
    if not now.is_open:
        raise ForgeConflict(
            f"{now.url} is {now.state}", fix="Reopen it at the host, or open another one.", observed=now.observed()
        )


def require_same_text(was: Change, now: Change) -> None:
    """Raise when title or text was changed since the change was read."""
    if (now.title, now.body) != (was.title, was.body):
        raise ForgeConflict(
            f"title or text of {now.url} was changed by someone else since it was read; it was left as it is",
            fix="Read the change again and decide anew what its text should be.",
            observed=now.observed(),
        )


def require_text(after: Change, *, title: str, body: str) -> None:
    """Raise unless the change, as observed, has the text that was set."""
    if (after.title, after.body) != (title, body):
        raise ForgeConflict(
            f"{after.url} does not have the text that was set: the host cut it, or someone changed it right after",
            fix="Read the change again and decide anew what its text should be.",
            observed=after.observed(),
        )


def require_ready(after: Change, head_sha: str) -> None:
    """Raise unless the change, as observed, is out of draft at that head."""
    require_head_at(after, head_sha)
    if after.state not in ("ready", "queued"):
        raise ForgeConflict(
            f"{after.url} is {after.state} right after it was marked ready",
            fix="Somebody else works on it: look at the change.",
            observed=after.observed(),
        )


def require_unmoved(was: Change, after: Change, comment_id: str) -> None:
    """Raise when the head moved while a comment was made."""
    if after.head_sha != was.head_sha:
        raise ForgeConflict(
            f"the head of {after.url} moved from {was.head_sha} to {after.head_sha} while the comment was made;"
            " the comment stands",
            fix="Verify the new head, then comment again.",
            observed=after.observed(comment_id=comment_id),
        )


def the_only_one(found: list[Change], branch: str) -> Change:
    """The one change of `found`, which is not empty. Raises ForgeAmbiguousError for several."""
    if len(found) > 1:
        raise ForgeAmbiguousError(
            f"{found[0].base} has several open changes from {branch}: "
            + ", ".join(str(change.number) for change in found),
            fix="Name one by its URL or number, or close the others.",
            observed=found[0].observed(),
        )
    return found[0]


def require_draft(change: Change, draft: Draft) -> Change:
    """The open change of the branch, if it is the asked draft; raises ForgeConflict where it is something else."""
    if change.target != draft.target or change.state != "draft":
        raise ForgeConflict(
            f"{draft.source} has an open change already, {change.url}: {change.state}, to {change.target}",
            fix=f"Go on with it (--pr {change.number}), or close it first.",
            observed=change.observed(),
        )
    require_head_at(change, draft.head_sha)
    return change
