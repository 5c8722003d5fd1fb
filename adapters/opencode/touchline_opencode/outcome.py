"""How a turn of opencode ended (spec page 2, the table of failures). Pure.

The message list decides: only a last answer without an error whose finish is "stop" is an end by itself. An idle
session proves nothing: it is idle after a refusal, an abort and every error too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from touchline.agent_cli.failures import REASON_TEXT
from touchline.agent_cli.fields import items, mapping, text, whole
from touchline.api import Failure, FailureKind, TurnEnded

LOGIN = "run `opencode auth login`, or set the provider's API key"
_LIMIT = re.compile(r"usage limit|quota|insufficient.{0,20}(credit|balance|fund)|billing", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|too many requests|\b429\b", re.IGNORECASE)
_KEY = re.compile(r"api.?key|unauthori[sz]ed|not logged in|authenticat|\b401\b", re.IGNORECASE)
_MODEL = re.compile(r"model not found|ProviderModelNotFound|ProviderInitError|no such model", re.IGNORECASE)


def ended(messages: object, *, session_error: Mapping[str, Any], denied: bool, session_id: str) -> TurnEnded:
    """The end that the message list of this turn tells; `session_error` is what an event told besides."""
    answers = items(messages)
    if not answers:
        if session_error:
            return TurnEnded("", of_error(session_error))
        return TurnEnded("", Failure(FailureKind.LOST_RESULT, f"session {session_id} became idle without an answer"))
    last = answers[-1]
    info = mapping(last.get("info"))
    final = "\n".join(
        text(part, "text")
        for part in items(last.get("parts"))
        if text(part, "type") == "text" and not part.get("synthetic") and not part.get("ignored")
    )
    error = mapping(info.get("error")) or session_error
    if error:
        return TurnEnded("", of_error(error))
    finish = text(info, "finish")
    if finish == "stop":
        return TurnEnded(final)
    if denied:
        return TurnEnded("", Failure(FailureKind.REFUSED_PERMISSION, "a denied permission ended the turn"))
    if finish == "tool-calls":
        return TurnEnded("", Failure(FailureKind.LOST_RESULT, "the turn ended at a tool call, without an answer"))
    return TurnEnded("", Failure(FailureKind.MODEL_ERROR, f"the answer broke off (finish: {finish or 'none'})"))


def of_error(error: Mapping[str, Any]) -> Failure:
    """An error as the server reports it in a message or an event."""
    name, data = text(error, "name"), mapping(error.get("data"))
    words = (text(data, "message") or name or "an error without a name")[:REASON_TEXT]
    if name == "MessageAbortedError":
        return Failure(FailureKind.CRASHED, f"the turn was aborted from elsewhere: {words}")
    if name == "ProviderAuthError":
        return Failure(FailureKind.NOT_AUTHENTICATED, f"{words}; {LOGIN}")
    if name in ("ContextOverflowError", "MessageOutputLengthError", "ContentFilterError"):
        return Failure(FailureKind.MODEL_ERROR, f"{name}: {words}")
    return of_words(words, status=whole(data, "statusCode"))


def of_words(words: str, *, status: int = 0, resets_at: str | None = None) -> Failure:
    """An error by its status; without one, by what it says."""
    if status in (401, 403) or (not status and _KEY.search(words)):
        return Failure(FailureKind.NOT_AUTHENTICATED, f"{words}; {LOGIN}")
    if resets_at is not None or (status in (0, 402, 429) and _LIMIT.search(words)):
        return Failure(FailureKind.USAGE_LIMIT, words, resets_at)
    if status == 429 or (not status and _RATE.search(words)):
        return Failure(FailureKind.RATE_LIMIT, words)
    if status == 404 or _MODEL.search(words):
        return Failure(FailureKind.PROTOCOL, f"{words}; check the model's name (--model provider/model)")
    return Failure(FailureKind.MODEL_ERROR, words)


def of_bridge(failed: Mapping[str, Any], *, resumed: bool, session_id: str) -> Failure:
    """What the bridge says when there can be no message list."""
    stage, status, detail = text(failed, "stage"), failed.get("status"), text(failed, "detail")[:REASON_TEXT]
    tail = f": {detail}" if detail else ""
    if stage == "start":
        return Failure(FailureKind.NOT_INSTALLED, f"the server could not be started{tail}")
    if stage == "resume" and resumed and status in (400, 404):
        return Failure(FailureKind.LOST_RESUME, f"session {session_id} is not known{tail}")
    if stage in ("ready", "session", "resume", "rules", "prompt", "read", "permission"):
        told = f" (status {status})" if status else ""
        return Failure(FailureKind.PROTOCOL, f"the server did not do as asked at: {stage}{told}{tail}")
    if stage == "exited":
        return Failure(FailureKind.CRASHED, f"the server ended with status {status} in the middle of the turn{tail}")
    if stage == "interrupted":
        return Failure(FailureKind.CANCELLED, "the turn was interrupted")
    return Failure(FailureKind.LOST_RESULT, f"the turn was lost ({stage or 'no reason'}){tail}")
