"""Builders for ledgers, reports and contexts; a test changes only what it is about."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from touchline.documents.decision import Context, Decision
from touchline.documents.ledger import Ledger
from touchline.gates.decide import Decided, decide

HEAD, BASE = "a" * 40, "b" * 40


def issue(number: int = 1, **changes: Any) -> dict[str, Any]:
    """One reported problem: keys of `findings[i]` and `issues[i]` together; `path=None` for no location."""
    path = changes.pop("path", f"src/file{number}.py")
    row = {
        "id": f"VI-{number}",
        "title": f"Problem {number} of its own kind",
        "severity": 8,
        "description": f"What goes wrong in case {number}",
        "sources": ["codex-reviewer"],
        "class": "correctness",
        "rootCause": f"Cause {number} that nothing else shares",
        "mechanism": f"mechanism-{number}",
        **changes,
    }
    if path is not None:
        row["location"] = {"path": path, "line": 10 + number}
    return row


_FINDING_KEYS = ("title", "severity", "description", "sources", "location")


def report(*issues: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A complete report of schema v1 for HEAD against BASE; `scope` changes are merged."""
    scope = {
        "mode": "branch",
        "baseRef": "origin/main",
        "mergeBase": BASE,
        "headSha": HEAD,
        "includedFiles": [],
        "excludedFiles": [],
        "deltaBaseSha": None,
        "deltaFiles": [],
        **changes.pop("scope", {}),
    }
    return {
        "schemaVersion": 1,
        "status": "ok",
        "error": None,
        "findings": [{key: row[key] for key in _FINDING_KEYS if key in row} for row in issues],
        "scope": scope,
        "triage": {"skillsRun": [], "skillsSkipped": []},
        "skillResults": skills(),
        "issues": [{key: value for key, value in row.items() if key not in _FINDING_KEYS} for row in issues],
        "exerciserVerification": [],
        "customGates": {"exerciser": [], "review": []},
        **changes,
    }


def skills(**status: str | list[str] | None) -> list[dict[str, str]]:
    """Rows of verifiers; `exerciser=None` leaves a row out, a list gives several."""
    rows: dict[str, str | list[str] | None] = {"exerciser": "PASSED", "codex-reviewer": "COMPLETED", **status}
    return [
        {"skill": name, "status": one, "notes": f"notes of {name}"}
        for name, value in rows.items()
        for one in ([] if value is None else [value] if isinstance(value, str) else value)
    ]


def ledger(**changes: Any) -> Ledger:
    """A ledger of a published run without turns."""
    base: dict[str, Any] = {
        "project": "example",
        "changeKey": "feature",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
        "runNumber": "20260101000000",
        "planFile": "plan.md",
        "severityThreshold": 5,
        "maxTurns": 10,
        "baseRef": "origin/main",
        "mergeBase": BASE,
        "run": {
            "options": {"executor": "scripted"},
            "mode": "published",
            "startHead": BASE,
            "startTree": "t0",
            "untrackedAtStart": [],
            "stagedAtStart": [],
            "planDigest": "d",
        },
        **changes,
    }
    return Ledger.model_validate_json(json.dumps(base))


def turn_row(turn: int, **changes: Any) -> dict[str, Any]:
    """A recorded turn."""
    return {
        "runNumber": "20260101000000",
        "turn": turn,
        "state": "recorded",
        "executor": "scripted",
        "startHead": BASE,
        "startTree": "t0",
        "startedAt": "2026-01-01T00:00:00Z",
        **changes,
    }


def context(**changes: Any) -> Context:
    """The context of turn 1, a full audit of HEAD against BASE."""
    base = {
        "turn": 1,
        "maxTurns": 10,
        "verifyRun": 1,
        "headSha": HEAD,
        "baseRef": "origin/main",
        "mergeBase": BASE,
        **changes,
    }
    return Context.model_validate_json(json.dumps(base))


def as_bytes(document: dict[str, Any]) -> bytes:
    """A report as it stands on disk."""
    return json.dumps(document).encode()


def judge(document: dict[str, Any], *, of: Ledger | None = None, **changes: Any) -> Decided:
    """The decision on a report; `changes` are fields of the context."""
    return decide(of if of is not None else ledger(), as_bytes(document), context(**changes))


@dataclass
class Loop:
    """A loop of verifications: each `verify` is one more turn on a new head, unless told otherwise."""

    state: Ledger = field(default_factory=ledger)
    turn: int = 0
    verify_run: int = 0
    head: str = HEAD

    def verify(self, *issues: dict[str, Any], same_turn: bool = False, **changes: Any) -> Decision:
        self.verify_run += 1
        if not same_turn:
            self.turn += 1
            self.head = f"{self.turn:040x}"
        scope = {"headSha": self.head, **changes.pop("scope", {})}
        fields = {
            key: changes.pop(key) for key in list(changes) if key in ("rechecks", "diagnoses", "skillResults", "status")
        }
        if "mergeBase" in changes:
            scope["mergeBase"] = changes["mergeBase"]
        decided = judge(
            report(*issues, scope=scope, **fields),
            of=self.state,
            **{"turn": self.turn, "verifyRun": self.verify_run, "headSha": self.head, **changes},
        )
        self.state = decided.ledger
        return decided.decision

    def finding(self, finding_id: str = "F-1") -> Any:
        return next(one for one in self.state.findings if one.id == finding_id)


@dataclass(frozen=True)
class Builders:
    """The builders, as one fixture."""

    issue: Callable[..., dict[str, Any]] = issue
    report: Callable[..., dict[str, Any]] = report
    skills: Callable[..., list[dict[str, str]]] = skills
    ledger: Callable[..., Ledger] = ledger
    turn_row: Callable[..., dict[str, Any]] = turn_row
    context: Callable[..., Context] = context
    as_bytes: Callable[[dict[str, Any]], bytes] = as_bytes
    judge: Callable[..., Decided] = judge
    loop: Callable[..., Loop] = Loop
    head: str = HEAD
    base: str = BASE


@pytest.fixture(scope="session")
def make() -> Builders:
    """Builders for documents."""
    return Builders()
