"""How a turn of Codex ended (spec page 2, the table of failures). Pure.

The app server types its errors (`codexErrorInfo`), as a word or as an object with an HTTP status; where it says
"other", its words decide. Exit status 0 proves nothing: only a `turn/completed` with the status "completed" is an end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from touchline.agent_cli.failures import REASON_TEXT, Sign
from touchline.agent_cli.fields import iso_utc, items, mapping, text, whole
from touchline.api import Failure, FailureKind

LOGIN = "run `codex login`, or set CODEX_API_KEY"
MODEL = "check the model's name (--model)"
_WORDS: Mapping[str, FailureKind] = {
    "usageLimitExceeded": FailureKind.USAGE_LIMIT,
    "rateLimitExceeded": FailureKind.RATE_LIMIT,
    "unauthorized": FailureKind.NOT_AUTHENTICATED,
    "modelNotFound": FailureKind.PROTOCOL,
    "sessionBudgetExceeded": FailureKind.BUDGET,
    "tooManyDenials": FailureKind.REFUSED_PERMISSION,
    "sandboxError": FailureKind.CRASHED,
}
_STATUSES: Mapping[int, FailureKind] = {
    401: FailureKind.NOT_AUTHENTICATED,
    403: FailureKind.NOT_AUTHENTICATED,
    404: FailureKind.PROTOCOL,
    429: FailureKind.RATE_LIMIT,
}
_LOGIN_WORDS = re.compile(
    r"missing environment variable|not logged in|log in again|refresh token|token (was|has been) revoked", re.IGNORECASE
)
_MODEL_WORDS = re.compile(r"model.{0,80}(is not supported|does not exist)", re.IGNORECASE)
_LIMIT_WORDS = re.compile(r"you've hit your usage limit|quota exceeded", re.IGNORECASE)
_START_ERROR = re.compile(
    r"^error: (unexpected argument|unrecognized subcommand|invalid value)|unknown feature flag|error loading config",
    re.IGNORECASE | re.MULTILINE,
)
SIGNS: tuple[Sign, ...] = (
    (_START_ERROR, FailureKind.PROTOCOL, "the CLI does not start with our options or its configuration"),
)
"""What standard error tells of an end without a result."""


def turn_failure(error: Mapping[str, Any], limits: Mapping[str, Any]) -> Failure:
    """The failure that a turn's typed error tells; `limits` are the subscription's limits as last told."""
    info = error.get("codexErrorInfo")
    reason = _reason(error)
    kind = FailureKind.MODEL_ERROR
    if isinstance(info, str):
        kind = _WORDS.get(info, kind)
    elif isinstance(info, dict):
        status = next((whole(mapping(detail), "httpStatusCode") for detail in info.values()), 0)
        kind = _STATUSES.get(status, kind)
    if kind is FailureKind.MODEL_ERROR:
        kind = _by_words(reason)
    if kind is FailureKind.NOT_AUTHENTICATED:
        return Failure(kind, f"{reason}; {LOGIN}")
    if kind is FailureKind.PROTOCOL:
        return Failure(kind, f"{reason}; {MODEL}")
    return Failure(kind, reason, resets_at(limits) if kind is FailureKind.USAGE_LIMIT else None)


def interrupted(denied: bool) -> Failure:
    """A turn that Codex broke off by itself: nobody here asked it to."""
    if denied:
        return Failure(FailureKind.REFUSED_PERMISSION, "the CLI ended the turn after a denied permission")
    return Failure(FailureKind.CRASHED, "the CLI interrupted the turn by itself")


def refused_call(method: str, error: Mapping[str, Any], session_id: str) -> Failure:
    """The server answered one of our own calls with an error."""
    reason = _reason(error)
    if method == "thread/resume":
        return Failure(FailureKind.LOST_RESUME, f"session {session_id}: {reason}")
    if _by_words(reason) is FailureKind.NOT_AUTHENTICATED:
        return Failure(FailureKind.NOT_AUTHENTICATED, f"{reason}; {LOGIN}")
    return Failure(FailureKind.PROTOCOL, f"the CLI refused {method}: {reason}; update it, or check its configuration")


def resets_at(limits: Mapping[str, Any]) -> str | None:
    """When the last of the exhausted windows opens again (ISO 8601 UTC), if that was told."""
    windows = items([limits.get("primary"), limits.get("secondary")])
    times = [whole(window, "resetsAt") for window in windows if whole(window, "usedPercent") >= 100]
    latest = max(times, default=0)
    return iso_utc(latest)


def _by_words(reason: str) -> FailureKind:
    if _LIMIT_WORDS.search(reason):
        return FailureKind.USAGE_LIMIT
    if _LOGIN_WORDS.search(reason):
        return FailureKind.NOT_AUTHENTICATED
    return FailureKind.PROTOCOL if _MODEL_WORDS.search(reason) else FailureKind.MODEL_ERROR


def _reason(error: Mapping[str, Any]) -> str:
    message, details = text(error, "message"), text(error, "additionalDetails")
    words = f"{message} ({details})" if message and details else message or details
    return (words or "the CLI gave no reason")[:REASON_TEXT]
