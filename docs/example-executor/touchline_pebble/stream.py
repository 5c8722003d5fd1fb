"""What pebble prints, as touchline's events. Pure: a line in, events out; nothing here raises, whatever the line is."""

from __future__ import annotations

import json
from typing import Any

from touchline.api import (
    Event,
    Failure,
    FailureKind,
    Notice,
    PermissionAsked,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UsageReported,
)

FAILURES = {
    "no-session": FailureKind.LOST_RESUME,
    "http-401": FailureKind.NOT_AUTHENTICATED,
    "http-429": FailureKind.RATE_LIMIT,
}


def events_of(line: str, session_id: str) -> list[Event]:
    """The events of one line; what is not understood is a notice, never an end."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return [Notice(f"not understood: {line[:200]}")]
    if not isinstance(said, dict):
        return [Notice(f"not understood: {line[:200]}")]
    match said.get("type"):
        case "session":
            return [SessionStarted(session_id, _text(said, "model"))]
        case "permission":
            command = _text(said, "command")
            return [PermissionAsked(_text(said, "id"), "bash", command=command, text=command, raw_tool="Bash")]
        case "tool":
            return [ToolStarted("Bash", _text(said, "command"), _text(said, "id"))]
        case "tool-end":
            status = said.get("status")
            known = status if status in ("ok", "error", "denied") else "unknown"
            return [ToolFinished(known, _text(said, "output"), id=_text(said, "id"))]
        case "usage":
            return [UsageReported(_number(said, "input"), _number(said, "output"), _number(said, "cached"))]
        case "end" if isinstance(said.get("text"), str):
            return [TextDelta(said["text"]), TurnEnded(said["text"])]
        case "error":
            kind = FAILURES.get(_text(said, "kind"), FailureKind.MODEL_ERROR)
            return [TurnEnded("", Failure(kind, _text(said, "message")))]
    return [Notice(f"not understood: {line[:200]}")]


def _text(said: dict[str, Any], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) else ""


def _number(said: dict[str, Any], key: str) -> int:
    value = said.get(key)
    return value if type(value) is int and value >= 0 else 0
