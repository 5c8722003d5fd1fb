"""What the runner prints, as events (spec page 2, "scripted"). Pure; never raises, whatever a line holds."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

from touchline.api import (
    Event,
    Failure,
    FailureKind,
    Notice,
    PermissionAsked,
    QuestionAsked,
    ReasoningDelta,
    Retrying,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UsageReported,
)

SHOWN = 300
"""Code points of a line that could not be understood which are shown."""


def read(line: str) -> Event:
    """The event of one line."""
    try:
        value = json.loads(line)
        return _event(value) if isinstance(value, dict) else _unknown(line)
    except (ValueError, RecursionError, KeyError, TypeError):
        return _unknown(line)


def _unknown(line: str) -> Notice:
    return Notice(f"not understood: {line[:SHOWN]}")


def _event(fields: dict[str, Any]) -> Event:
    match fields["event"]:
        case "started":
            return SessionStarted(str(fields["session_id"]), str(fields["model"]))
        case "text":
            return TextDelta(str(fields["text"]))
        case "reasoning":
            return ReasoningDelta(str(fields["text"]))
        case "tool_started":
            return ToolStarted(str(fields["tool"]), str(fields["input"]), str(fields["id"]))
        case "tool_finished":
            status = cast("Literal['ok', 'error', 'denied']", fields["status"])
            return ToolFinished(status, str(fields["output"]), float(fields["duration_s"]), str(fields["id"]))
        case "permission":
            return PermissionAsked(
                str(fields["id"]),
                cast("Literal['bash', 'write', 'edit']", fields["tool"]),
                command=str(fields["command"]),
                paths=tuple(str(path) for path in fields["paths"]),
                text=str(fields["text"]),
                raw_tool=str(fields["tool"]),
            )
        case "question":
            return QuestionAsked(str(fields["id"]), str(fields["text"]))
        case "usage":
            cost = fields.get("cost")
            return UsageReported(
                int(fields["input"]),
                int(fields["output"]),
                int(fields.get("cached", 0)),
                None if cost is None else float(cost),
            )
        case "retry":
            return Retrying(str(fields["reason"]), int(fields["attempt"]), float(fields.get("next_in_s", 0)))
        case "notice":
            return Notice(str(fields["text"]))
        case "end":
            return TurnEnded(str(fields["text"]), _failure(fields.get("failure")))
        case _:
            return _unknown(json.dumps(fields))


def _failure(fields: dict[str, Any] | None) -> Failure | None:
    if fields is None:
        return None
    return Failure(FailureKind(fields["kind"]), str(fields["reason"]), fields.get("resets_at"))
