"""Owns what booking knows beside the report, and how a disposition changes (spec page 4, pass 2). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from touchline.documents.base import Disposition
from touchline.documents.decision import Context
from touchline.documents.ledger import Finding, FollowUp, Ledger, VerificationRow
from touchline.gates.coverage import CoverageRules


@dataclass(frozen=True, slots=True)
class Grounds:
    """What booking needs to know beside the report."""

    ledger: Ledger
    context: Context
    coverage: CoverageRules
    quarantined: Mapping[str, str]
    """Issue id to the id of the active quarantine entry that it matched."""
    exerciser: Mapping[str, str]
    """Issue id to what the exerciser saw of it."""
    rows: Mapping[int, VerificationRow]
    """The verification rows of every run by their verifyRun."""

    @property
    def threshold(self) -> int:
        """The severity from which a finding blocks."""
        return self.ledger.severity_threshold


def tree_of(context: Context) -> str:
    """What identifies the tree that was verified.

    The work of a local run is not committed: without a tree hash its head says nothing, so the turn stands in.
    """
    if context.tree_hash is not None:
        return context.tree_hash
    return context.head_sha if context.scope_mode == "branch" else f"{context.head_sha}+turn-{context.turn}"


def disposed(finding: Finding, disposition: Disposition, reason: str, context: Context) -> Finding:
    """The finding with another disposition; one that it has already keeps when it was set."""
    changed: dict[str, object] = {"disposition_reason": reason, "follow_up": finding.follow_up}
    if finding.disposition != disposition:
        changed |= {
            "disposition": disposition,
            "disposition_set_at": context.verify_run,
            "follow_up": follow_up(disposition),
        }
    return finding.model_copy(update=changed)


def follow_up(disposition: Disposition) -> FollowUp | None:
    """Where a finding of this disposition is carried on."""
    return FollowUp(kind="pr-body") if disposition == "deferred-out-of-scope" else None
