"""How a turn of grok ended (spec page 2, the table of failures). Pure.

Measured: exit status 0 comes with a cancelled turn too, and an answer that was cut in the stream ends as `end_turn`.
Only an `end` that says `end_turn`, after an answer whose usage was told, is an end by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from touchline.agent_cli.failures import REASON_TEXT, Sign
from touchline.agent_cli.fields import text
from touchline.api import Failure, FailureKind, TurnEnded

LOGIN = "run `grok login --device-code`, or set XAI_API_KEY"
_LOST = re.compile(
    r"not found locally|session \S+ not found|session does not exist|is already in use|failed to restore", re.IGNORECASE
)
_KEY = re.compile(r"not signed in|\(401\)|\(403\)|unauthori[sz]ed|authentication_error|grok login", re.IGNORECASE)
_LIMIT = re.compile(r"usage limit|quota|insufficient.{0,20}(credit|balance|fund)|out of credits|\b402\b", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|too many requests|\b429\b", re.IGNORECASE)
_MODEL = re.compile(r"unknown model|model .{0,60}not (found|available)|\(404\)", re.IGNORECASE)
_USAGE_ERROR = re.compile(r"^error: (unexpected argument|unrecognized|invalid value|the argument)", re.I | re.M)
SIGNS: tuple[Sign, ...] = (
    (_LOST, FailureKind.LOST_RESUME, "the session cannot be used"),
    (_USAGE_ERROR, FailureKind.PROTOCOL, "this version of grok does not know our options; update it"),
)
"""What standard error tells of an end without a result."""


def ended(event: Mapping[str, Any], final: str, *, whole: bool, denied: bool, out_of_turns: bool) -> TurnEnded:
    """The end that an `end` event tells. `whole`: the last answer came with its usage."""
    stop = text(event, "stopReason")
    if stop == "end_turn" and whole:
        return TurnEnded(final)
    if stop == "end_turn":
        return TurnEnded("", Failure(FailureKind.MODEL_ERROR, "the answer broke off: its usage was not told"))
    if out_of_turns or stop == "max_turn_requests":
        return TurnEnded("", Failure(FailureKind.TIMEOUT, "the CLI's own limit of model calls"))
    if stop in ("max_tokens", "refusal"):
        return TurnEnded("", Failure(FailureKind.MODEL_ERROR, f"the model stopped: {stop}"))
    if stop == "cancelled" and denied:
        return TurnEnded("", Failure(FailureKind.REFUSED_PERMISSION, "a denied permission ended the turn"))
    if stop == "cancelled":
        return TurnEnded("", Failure(FailureKind.REFUSED_PERMISSION, "the CLI wanted a person to approve a call"))
    return TurnEnded("", Failure(FailureKind.PROTOCOL, f"the CLI ended with {stop or 'no reason'}"))


def of_words(words: str) -> Failure:
    """An error by what the CLI says."""
    reason = " ".join(words.split())[:REASON_TEXT] or "an error without a text"
    if _LOST.search(words):
        return Failure(FailureKind.LOST_RESUME, reason)
    if _LIMIT.search(words):
        return Failure(FailureKind.USAGE_LIMIT, reason)
    if _RATE.search(words):
        return Failure(FailureKind.RATE_LIMIT, reason)
    if _KEY.search(words):
        return Failure(FailureKind.NOT_AUTHENTICATED, f"{reason}; {LOGIN}")
    if _MODEL.search(words):
        return Failure(FailureKind.PROTOCOL, f"{reason}; check the model's name (--model)")
    return Failure(FailureKind.MODEL_ERROR, reason)
