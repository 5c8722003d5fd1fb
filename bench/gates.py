"""Deciding many findings (spec pages 3 and 4): the ledger knows 2,000, a report names 2,000, at most 20 in a file."""

from __future__ import annotations

import json

from bench.measure import interleaved
from bench.rows import Aim, Row
from bench.scale import Scale
from touchline.documents.decision import Context
from touchline.documents.ledger import Ledger
from touchline.gates.decide import decide

PER_FILE = 20
_HEAD, _BASE, _NEXT = "a" * 40, "b" * 40, "c" * 40
_AT = "2026-01-01T00:00:00Z"
_SUBJECTS = ("cache", "lock", "parser", "index", "buffer", "header", "token", "queue", "path", "clock")
_FAULTS = ("is read before it is set", "grows without a bound", "is closed twice", "loses the last entry")


def run(scale: Scale) -> list[Row]:
    """Half of the reported findings are known ones in other words, half are new. Floor: reading both documents."""
    size = scale.pick(2000, quick=40)
    first = decide(_ledger(), _report(range(size), head=_HEAD), _context(1, _HEAD)).ledger
    known = len(first.findings)
    content = first.to_bytes()
    report = _report(range(size // 2, size + size // 2), head=_NEXT, reworded=True)

    def judge() -> None:
        decide(first, report, _context(2, _NEXT))

    def read() -> None:
        json.loads(content)
        json.loads(report)

    pair = interleaved(judge, read, rounds=scale.pick(7, quick=1))
    return [
        Row(
            "decide",
            pair.measured_s,
            "s",
            pair.floor_s,
            "`json.loads` of the ledger and the report",
            pair.ratio,
            (Aim("value", 1.0),),
            f"{known:,} known, {size:,} reported, {PER_FILE} in a file",
        )
    ]


def _finding(number: int, *, reworded: bool) -> tuple[dict[str, object], dict[str, object]]:
    subject = _SUBJECTS[number % len(_SUBJECTS)]
    fault = _FAULTS[number // len(_SUBJECTS) % len(_FAULTS)]
    title = f"The {subject} of part {number} {fault}"
    shown: dict[str, object] = {
        "title": f"{title} again" if reworded else title,
        "severity": 3 + number % 7,
        "description": f"In case {number} the {subject} {fault}, which a caller sees as a wrong answer.",
        "sources": ["reviewer"],
        "location": {"path": f"src/part{number // PER_FILE}.py", "line": 10 * (number % PER_FILE + 1) + reworded},
    }
    judged: dict[str, object] = {
        "id": f"VI-{number}",
        "class": "correctness",
        "rootCause": f"{subject} {number}: nobody holds it while it changes",
        "mechanism": f"{subject}-{number % 97}",
    }
    return shown, judged


def _report(numbers: range, *, head: str, reworded: bool = False) -> bytes:
    pairs = [_finding(number, reworded=reworded) for number in numbers]
    return json.dumps(
        {
            "schemaVersion": 1,
            "status": "ok",
            "error": None,
            "findings": [shown for shown, _ in pairs],
            "issues": [judged for _, judged in pairs],
            "scope": {
                "mode": "branch",
                "baseRef": "origin/main",
                "mergeBase": _BASE,
                "headSha": head,
                "includedFiles": [],
                "excludedFiles": [],
                "deltaBaseSha": None,
                "deltaFiles": [],
            },
            "triage": {"skillsRun": [], "skillsSkipped": []},
            "skillResults": [
                {"skill": "exerciser", "status": "PASSED", "notes": "used it"},
                {"skill": "reviewer", "status": "COMPLETED", "notes": "read it"},
            ],
            "exerciserVerification": [],
            "customGates": {"exerciser": [], "review": []},
        }
    ).encode()


def _ledger() -> Ledger:
    return Ledger.model_validate_json(
        json.dumps(
            {
                "project": "bench",
                "changeKey": "bench",
                "createdAt": _AT,
                "updatedAt": _AT,
                "runNumber": "20260101000000",
                "planFile": "plan.md",
                "severityThreshold": 5,
                "maxTurns": 10,
                "baseRef": "origin/main",
                "mergeBase": _BASE,
                "run": {
                    "options": {"executor": "scripted"},
                    "mode": "published",
                    "startHead": _BASE,
                    "startTree": "t0",
                    "untrackedAtStart": [],
                    "stagedAtStart": [],
                    "planDigest": "d",
                },
            }
        )
    )


def _context(number: int, head: str) -> Context:
    fields = {"turn": number, "maxTurns": 10, "verifyRun": number, "headSha": head}
    return Context.model_validate_json(json.dumps({**fields, "baseRef": "origin/main", "mergeBase": _BASE}))
