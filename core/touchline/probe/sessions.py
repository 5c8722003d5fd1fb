"""Stored sessions of the probe: one JSON file each in the state folder (spec page 7).

A session id is a name, never a path. The same session gives the same bytes: nothing of time or machine is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from touchline.documents.base import Document
from touchline.errors import LedgerError, UsageError
from touchline.ledger.atomic import atomic_write, read_regular
from touchline.probe.engine import (
    PermissionDenial,
    StopReason,
    TurnEngine,
    TurnResult,
    UsageSummary,
    clean,
)
from touchline.state import state_root

SCHEMA_VERSION = 1
FOLDER = ".sessions"
"""Below the state root; no slug, so it is never taken for a project."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


class StoredDenial(Document):
    """One denied tool."""

    tool: str
    reason: str


class StoredUsage(Document):
    """Tokens of the session after a turn."""

    input_tokens: int = 0
    output_tokens: int = 0


class StoredTurn(Document):
    """One turn, the ones at the message limit included."""

    prompt: str
    output: str
    matched_commands: tuple[str, ...] = ()
    matched_tools: tuple[str, ...] = ()
    permission_denials: tuple[StoredDenial, ...] = ()
    usage: StoredUsage = StoredUsage()
    stop_reason: StopReason


class StoredSession(Document):
    """A session as it is on disk."""

    schema_version: int = SCHEMA_VERSION
    session_id: str
    messages: tuple[str, ...] = ()
    usage: StoredUsage = StoredUsage()
    turns: tuple[StoredTurn, ...] = ()


def check_session_id(session_id: str) -> str:
    """The id itself; UsageError for anything that is no plain name."""
    if _ID.fullmatch(session_id) is None:
        raise UsageError(
            f"{clean(session_id)[:80]!r} is no session id",
            fix="Use at most 64 letters, digits, _ and -, beginning with a letter or digit.",
        )
    return session_id


def session_path(session_id: str, environ: Mapping[str, str] | None = None) -> Path:
    """Where the session of that id is or would be kept. Raises UsageError for a hostile id."""
    checked = check_session_id(session_id)
    return state_root(os.environ if environ is None else environ) / FOLDER / f"{checked}.json"


def store_session(engine: TurnEngine, environ: Mapping[str, str] | None = None) -> Path:
    """Keep what `engine` holds, in one step; gives the file. Raises LedgerError."""
    path = session_path(engine.session_id, environ)
    stored = StoredSession(
        session_id=engine.session_id,
        messages=tuple(clean(one) for one in engine.replay_user_messages()),
        usage=_usage(engine.usage),
        turns=tuple(_stored(result) for result in engine.results),
    )
    atomic_write(path, stored.to_bytes())
    return path


def load_session(session_id: str, environ: Mapping[str, str] | None = None) -> StoredSession:
    """The stored session. UsageError if there is none of that id, LedgerError if its file cannot be trusted."""
    path = session_path(session_id, environ)
    try:
        data = read_regular(path)
    except FileNotFoundError:
        raise UsageError(
            f"there is no session {session_id!r}", fix="Store one with `touchline bootstrap` or --persist."
        ) from None
    except OSError as error:
        raise LedgerError(f"{path} cannot be read: {error.strerror or error}", fix="Repair or remove it.") from error
    try:
        stored = StoredSession.model_validate_json(data)
    except ValidationError as error:
        raise LedgerError(f"{path} is no stored session", fix="Remove it; sessions can be made again.") from error
    if stored.schema_version > SCHEMA_VERSION:
        raise LedgerError(
            f"{path} has schemaVersion {stored.schema_version}, this touchline knows {SCHEMA_VERSION}",
            fix="Use a newer touchline.",
        )
    if stored.session_id != session_id:
        raise LedgerError(f"{path} holds the session {stored.session_id!r}", fix="Remove it; it was renamed.")
    return stored


def fill_engine(engine: TurnEngine, environ: Mapping[str, str] | None = None) -> None:
    """Put what is stored under the engine's session id into it. Raises as `load_session` does."""
    stored = load_session(engine.session_id, environ)
    usage = UsageSummary(stored.usage.input_tokens, stored.usage.output_tokens)
    engine.restore(stored.messages, usage, [_result(turn) for turn in stored.turns])


def _usage(usage: UsageSummary) -> StoredUsage:
    return StoredUsage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def _stored(result: TurnResult) -> StoredTurn:
    return StoredTurn(
        prompt=clean(result.prompt),
        output=result.output,
        matched_commands=result.matched_commands,
        matched_tools=result.matched_tools,
        permission_denials=tuple(
            StoredDenial(tool=clean(one.tool), reason=clean(one.reason)) for one in result.permission_denials
        ),
        usage=_usage(result.usage),
        stop_reason=result.stop_reason,
    )


def _result(turn: StoredTurn) -> TurnResult:
    return TurnResult(
        turn.prompt,
        turn.output,
        turn.matched_commands,
        turn.matched_tools,
        tuple(PermissionDenial(one.tool, one.reason) for one in turn.permission_denials),
        UsageSummary(turn.usage.input_tokens, turn.usage.output_tokens),
        turn.stop_reason,
    )
