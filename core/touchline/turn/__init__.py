"""The turn protocol: what the model is taught and how its answer is read (spec page 1).

Knows no executor, starts no process, sends no request and writes no store but the turn record.
"""

from __future__ import annotations

from touchline.turn.protocol import Role, Trailer, parse_trailer, protocol_rules, render_prompt
from touchline.turn.settle import (
    Failure,
    FailureKind,
    TurnSettlement,
    check_finish,
    no_trailer_settlement,
    question_or_silent,
)
from touchline.turn.text import (
    QUESTION_TEXT_LIMIT,
    TRUNCATION_MARKER,
    clamp_question,
    head_tail,
    is_truncated,
    tail,
    truncate,
    truncate_marked,
)

__all__ = [
    "QUESTION_TEXT_LIMIT",
    "TRUNCATION_MARKER",
    "Failure",
    "FailureKind",
    "Role",
    "Trailer",
    "TurnSettlement",
    "check_finish",
    "clamp_question",
    "head_tail",
    "is_truncated",
    "no_trailer_settlement",
    "parse_trailer",
    "protocol_rules",
    "question_or_silent",
    "render_prompt",
    "tail",
    "truncate",
    "truncate_marked",
]
