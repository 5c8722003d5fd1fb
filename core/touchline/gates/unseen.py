"""Owns what becomes of a known finding that a report does not repeat (spec page 4, pass 2, step 2). Pure."""

from __future__ import annotations

from collections.abc import Collection

from touchline.documents.ledger import Finding
from touchline.gates.grounds import Grounds, disposed, tree_of


def settle_unseen(
    finding: Finding,
    answers: Collection[str],
    *,
    in_delta: bool,
    grounds: Grounds,
    complete: bool,
) -> Finding:
    """A known finding that was not reported. `answers` are its rechecks, `in_delta` whether its file changed.

    Only an open one changes: it stays open when rechecked so, when the verification was incomplete, and on the
    tree on which it was last reported; it is fixed when rechecked so, after a full audit, or with its file in
    the delta.
    """
    if finding.disposition != "open":
        return finding
    context = grounds.context
    if "still-open" in answers:
        return finding.model_copy(update={"last_tree": tree_of(context)})
    if not complete or _reported_on_this_tree(finding, grounds):
        return finding
    if "fixed" in answers:
        return disposed(finding, "fixed", "rechecked as fixed", context)
    if context.full_audit:
        return disposed(finding, "fixed", "not found by a full audit", context)
    if in_delta:
        return disposed(finding, "fixed", "its file changed and it was not found again", context)
    return finding


def _reported_on_this_tree(finding: Finding, grounds: Grounds) -> bool:
    context = grounds.context
    last_tree = finding.last_tree
    if last_tree is None and (row := grounds.rows.get(finding.last_seen)) is not None:
        known = {"turn": row.turn, "head_sha": row.head_sha, "tree_hash": row.tree_hash}
        last_tree = tree_of(context.model_copy(update=known))
    # A report of a branch may name the head where another named the tree; either proves the same state.
    here = {tree_of(context), context.head_sha} if context.scope_mode == "branch" else {tree_of(context)}
    return last_tree in here
