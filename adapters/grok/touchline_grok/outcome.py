"""How a turn of grok ended (spec page 2, the table of failures). Pure.

Measured: exit status 0 comes with a cancelled turn too, and an answer that was cut in the stream ends as `end_turn`.
Only an `end` that says `end_turn`, after an answer whose usage was told, is an end by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from touchline.api import Ending, Failure, FailureKind, TurnEnded
from touchline_grok.values import text

LOGIN = "run `grok login --device-code`, or set XAI_API_KEY"
REASON_TEXT = 500
"""Code points of the CLI's own words that a reason quotes."""

_LOST = re.compile(
    r"not found locally|session \S+ not found|session does not exist|is already in use|failed to restore", re.IGNORECASE
)
_KEY = re.compile(r"not signed in|\(401\)|\(403\)|unauthori[sz]ed|authentication_error|grok login", re.IGNORECASE)
_LIMIT = re.compile(r"usage limit|quota|insufficient.{0,20}(credit|balance|fund)|out of credits|\b402\b", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|too many requests|\b429\b", re.IGNORECASE)
_MODEL = re.compile(r"unknown model|model .{0,60}not (found|available)|\(404\)", re.IGNORECASE)
_USAGE_ERROR = re.compile(r"^error: (unexpected argument|unrecognized|invalid value|the argument)", re.I | re.M)


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


def without_end(ending: Ending, returncode: int | None, stderr: str) -> Failure:
    """The failure of a process that gave no `end`; `stderr` is the tail of what it said there."""
    said = stderr.strip()[-REASON_TEXT:]
    tail = f": {said}" if said else ""
    if ending == "wall":
        return Failure(FailureKind.TIMEOUT, f"the turn's time was over before grok gave a result{tail}")
    if ending == "idle":
        return Failure(FailureKind.STALLED, f"grok was silent for too long{tail}")
    if ending == "cancelled":
        return Failure(FailureKind.CANCELLED, "grok was stopped")
    if _LOST.search(said):
        return Failure(FailureKind.LOST_RESUME, said)
    if _USAGE_ERROR.search(said):
        return Failure(FailureKind.PROTOCOL, f"this version of grok does not know our options{tail}; update it")
    if ending == "exited" and returncode == 0:
        return Failure(FailureKind.LOST_RESULT, f"grok exited with status 0 but gave no result{tail}")
    if ending == "exited" and returncode is not None and returncode < 0:
        return Failure(FailureKind.CRASHED, f"grok was killed by signal {-returncode}{tail}")
    if ending == "exited":
        return Failure(FailureKind.CRASHED, f"grok exited with status {returncode} without a result{tail}")
    return Failure(FailureKind.LOST_RESULT, f"how grok ended is not known ({ending}){tail}")
