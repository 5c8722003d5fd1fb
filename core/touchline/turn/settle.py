"""The shared verdict on how a turn ended (spec page 1, "The shared settlement").

A turn that ended without a trailer is never declared done on the model's behalf: git facts decide, and the
answer is never "finished". Pure: it asks no git, writes no log.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

SettlementKind = Literal["finished", "asked", "undeclared", "silent", "failed", "interrupted"]

Role = Literal["executor", "player", "verifier"]
"""executor: dispatched work, the model commits. player: the coach commits. verifier: writes nothing."""


class FailureKind(StrEnum):
    """Why a turn failed; the table of spec page 2 says which kinds count as a turn and what follows."""

    NOT_INSTALLED = "not-installed"
    NOT_AUTHENTICATED = "not-authenticated"
    PROTOCOL = "protocol"
    USAGE_LIMIT = "usage-limit"
    RATE_LIMIT = "rate-limit"
    MODEL_ERROR = "model-error"
    STALLED = "stalled"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    LOST_RESULT = "lost-result"
    LOST_RESUME = "lost-resume"
    REFUSED_PERMISSION = "refused-permission"
    CONTRADICTED = "contradicted"
    BUDGET = "budget"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Failure:
    """A typed failure of a turn. `resets_at` (ISO 8601 UTC) only for a usage limit whose reset is known."""

    kind: FailureKind
    reason: str
    resets_at: str | None = None


@dataclass(frozen=True, slots=True)
class TurnSettlement:
    """How one turn ended; exactly one for each turn, the same shape for every executor.

    `ok` is true for `finished` alone. `text` is the turn's own text (partial if it failed). `void_reason` tells
    a live executor that broke the discipline ("undeclared") from one that is gone ("executor-gone").
    """

    kind: SettlementKind
    ok: bool
    session_id: str
    text: str = ""
    branch: str = ""
    commit: str = ""
    summary: str = ""
    report: dict[str, object] | None = None
    question: str = ""
    fail_reason: str = ""
    void_reason: Literal["", "undeclared", "executor-gone"] = ""
    failure: Failure | None = None
