"""How a turn of Claude Code ended (spec page 2, the table of failures). Pure.

Measured: `subtype` is "success" on API errors too, and exit status 0 proves nothing; only a result that says that it
is no error, with a text, is an end by itself. A missing result is a verdict of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from touchline.agent_cli.failures import REASON_TEXT, Sign
from touchline.agent_cli.fields import flag, iso_utc, items, number, text, whole
from touchline.api import Failure, FailureKind, TurnEnded

LOGIN = "run `claude` once and log in with /login, or set ANTHROPIC_API_KEY"
_LOST_SESSION = re.compile(r"no conversation found|session id \S+ is already in use", re.IGNORECASE)
_OLD_LIMIT = re.compile(r"usage limit reached\|(\d{9,11})")
_LIMIT_WORDS = re.compile(r"you've hit your .{0,40}limit|usage limit reached", re.IGNORECASE)
_USAGE_ERROR = re.compile(r"^error: (unknown option|unknown command|option .* argument)", re.IGNORECASE | re.MULTILINE)
SIGNS: tuple[Sign, ...] = (
    (_LOST_SESSION, FailureKind.LOST_RESUME, "the session cannot be used"),
    (_USAGE_ERROR, FailureKind.PROTOCOL, "this version of the CLI does not know our options; update it"),
)
"""What standard error tells of an end without a result."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The subscription's limit as the CLI last told it; `resets_at` is ISO 8601 UTC."""

    status: str = ""
    name: str = ""
    resets_at: str | None = None

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> RateLimit:
        """From the `rate_limit_info` of an event."""
        return cls(text(info, "status"), text(info, "rateLimitType"), iso_utc(number(info, "resetsAt")))


def ended(result: Mapping[str, Any], *, limit: RateLimit, session_id: str) -> TurnEnded:
    """The end that a `result` event tells."""
    final = text(result, "result")
    if text(result, "subtype") == "success" and result.get("is_error") is False:
        if "result" in result and isinstance(result["result"], str):
            return TurnEnded(final)
        return TurnEnded("", Failure(FailureKind.LOST_RESULT, "the CLI reported success without a text"))
    return TurnEnded("", _failure(result, final, limit, session_id))


def _failure(result: Mapping[str, Any], final: str, limit: RateLimit, session_id: str) -> Failure:
    subtype, status = text(result, "subtype"), whole(result, "api_error_status")
    errors = result.get("errors")
    words = "; ".join(str(error) for error in errors) if isinstance(errors, list) else ""
    reason = (final or words or f"the CLI ended with {subtype or 'an unreadable result'}")[:REASON_TEXT]
    if subtype == "error_max_turns":
        return Failure(FailureKind.TIMEOUT, f"the CLI's own limit of model calls: {reason}")
    if subtype == "error_max_budget_usd":
        return Failure(FailureKind.BUDGET, f"the CLI's own budget: {reason}")
    if _LOST_SESSION.search(words):
        return Failure(FailureKind.LOST_RESUME, f"session {session_id}: {reason}")
    if subtype == "error_during_execution":
        if items(result.get("permission_denials")):
            return Failure(FailureKind.REFUSED_PERMISSION, f"a denied permission ended the turn: {reason}")
        return Failure(FailureKind.CRASHED, f"the CLI stopped while it was working: {reason}")
    if not flag(result, "is_error"):
        return Failure(FailureKind.PROTOCOL, f"the CLI ended with a result that is not understood: {reason}")
    return api_failure(status, reason, limit)


def api_failure(status: int, reason: str, limit: RateLimit) -> Failure:
    """An error of the model API, by status; without one by what the CLI says."""
    old = _OLD_LIMIT.search(reason)
    if old or limit.status == "rejected" or (status in (0, 429) and _LIMIT_WORDS.search(reason)):
        return Failure(FailureKind.USAGE_LIMIT, reason, iso_utc(float(old[1])) if old else limit.resets_at)
    if status == 429:
        return Failure(FailureKind.RATE_LIMIT, reason)
    if status in (401, 403) or re.search(r"not logged in|/login|invalid api key|credit balance", reason, re.IGNORECASE):
        return Failure(FailureKind.NOT_AUTHENTICATED, f"{reason}; {LOGIN}")
    if status == 404:
        return Failure(FailureKind.PROTOCOL, f"{reason}; check the model's name (--model)")
    return Failure(FailureKind.MODEL_ERROR, reason)
