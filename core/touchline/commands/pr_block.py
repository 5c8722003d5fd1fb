"""The two blocks of `touchline pr` (spec page 6, "`touchline pr ...`"; byte-exact). Pure.

A block tells what was observed, never what was hoped for: "none" stands wherever nothing was seen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from touchline.coach.publish.binding import Binding
from touchline.errors import Observed
from touchline.forge import Change, ReviewRequest
from touchline.turn.shown import visible

NONE = "none"
Rows = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Done:
    """What an operation observed at its end; `change` is None where a branch has no change request."""

    operation: str
    change: Change | None
    head_sha: str = ""
    comment_id: str = ""
    reviewer: str = NONE


def success_rows(done: Done, binding: Binding) -> list[tuple[str, str]]:
    """(key, value) of the success block, in its order."""
    change = done.change
    base, head = (change.base, change.head) if change is not None else (binding.base, binding.head)
    return [
        ("OPERATION", done.operation),
        ("PR_URL", change.url if change else ""),
        ("PR_NUMBER", str(change.number) if change else ""),
        ("PR_STATE", change.state if change else ""),
        ("HEAD_SHA", change.head_sha if change else done.head_sha),
        ("BASE_REPOSITORY", str(base)),
        ("HEAD_REPOSITORY", str(head) if head else ""),
        ("BASE_REMOTE", binding.base_remote),
        ("PUSH_REMOTE", binding.push_remote),
        ("MERGE_QUEUE", change.merge_queue if change else ""),
        ("COMMENT_ID", done.comment_id),
        ("TARGET", f"{change.source} -> {change.target}" if change else ""),
        ("REVIEWER", done.reviewer),
    ]


def failure_rows(operation: str, provider: str, reason: str, observed: Observed) -> list[tuple[str, str]]:
    """(key, value) of the failure block, in its order, with the last facts that were seen."""
    return [
        ("OPERATION_FAILED", operation),
        ("PROVIDER", provider),
        ("REASON", reason),
        ("PR_URL", observed.url),
        ("PR_NUMBER", observed.number),
        ("PR_STATE", observed.state),
        ("HEAD_SHA", observed.head_sha),
        ("MERGE_QUEUE", observed.merge_queue),
        ("COMMENT_ID", observed.comment_id),
    ]


def rendered(rows: Rows, *, as_json: bool) -> str:
    """The block as text or as one JSON object on one line; no value can make a line of its own or steer a terminal."""
    shown = [(key, visible(value) or NONE) for key, value in rows]
    if as_json:
        return json.dumps(dict(shown), ensure_ascii=False) + "\n"
    return "".join(f"{key}: {value}\n" for key, value in shown)


def reviewer_line(asked: ReviewRequest) -> str:
    """The REVIEWER value of what became of a request for review."""
    if asked.requested:
        return f"requested ({', '.join(asked.requested)})"
    refused = "; ".join(f"{who}: {why}" for who, why in asked.refused.items())
    return f"failed ({refused or 'nobody was asked'})"
