"""Small ledgers and helpers to build their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from touchline.documents.ledger import (
    Finding,
    Ledger,
    QuarantineEntry,
    RunOptions,
    RunState,
    TurnRow,
    VerificationRow,
)


@pytest.fixture
def make_ledger() -> Callable[..., Ledger]:
    """Build a ledger of one fresh run; keyword arguments replace its fields."""

    def make(**changes: Any) -> Ledger:
        fields: dict[str, Any] = {
            "project": "owner-repo-0123abcd",
            "change_key": "feature",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            "run_number": "20260101000000",
            "plan_file": "docs/plans/plan.md",
            "severity_threshold": 5,
            "max_turns": 10,
            "merge_base": "a" * 40,
            "run": RunState(
                options=RunOptions(executor="scripted"),
                mode="no-pr",
                start_head="a" * 40,
                start_tree="b" * 40,
                plan_digest="c" * 64,
            ),
        }
        return Ledger(**(fields | changes))

    return make


@pytest.fixture
def make_turn() -> Callable[..., TurnRow]:
    """Build a turn's row."""

    def make(turn: int, **changes: Any) -> TurnRow:
        fields: dict[str, Any] = {
            "run_number": "20260101000000",
            "turn": turn,
            "state": "recorded",
            "executor": "scripted",
            "start_head": "a" * 40,
            "start_tree": "b" * 40,
            "started_at": "2026-01-01T00:00:00Z",
        }
        return TurnRow(**(fields | changes))

    return make


@pytest.fixture
def make_verification() -> Callable[..., VerificationRow]:
    """Build a verification run's row."""

    def make(verify_run: int, **changes: Any) -> VerificationRow:
        fields: dict[str, Any] = {
            "run_number": "20260101000000",
            "verify_run": verify_run,
            "turn": 1,
            "state": "decided",
            "head_sha": "a" * 40,
            "report_path": f"reports/{verify_run}.json",
            "full_audit": True,
        }
        return VerificationRow(**(fields | changes))

    return make


@pytest.fixture
def make_finding() -> Callable[..., Finding]:
    """Build a finding; open, severity 8, in a.py."""

    def make(id_: str, **changes: Any) -> Finding:
        fields: dict[str, Any] = {
            "id": id_,
            "key": f"a.py:{id_}",
            "location": {"path": "a.py", "line": 3},
            "title": "Division by zero",
            "root_cause": "no guard",
            "mechanism": "division-by-zero",
            "class_": "correctness",
            "severity": 8,
            "first_seen": 1,
            "last_seen": 1,
            "disposition": "open",
            "disposition_set_at": 1,
        }
        return Finding(**(fields | changes))

    return make


@pytest.fixture
def make_entry() -> Callable[..., QuarantineEntry]:
    """Build an active quarantine entry."""

    def make(id_: str, **changes: Any) -> QuarantineEntry:
        fields: dict[str, Any] = {
            "id": id_,
            "title": "Broken suite",
            "signature": f"signature of {id_}",
            "paths": ["a.py"],
            "provenance": {"reproduced_at": "d" * 40, "command": "pytest"},
            "first_seen": 1,
        }
        return QuarantineEntry(**(fields | changes))

    return make
