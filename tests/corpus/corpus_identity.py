"""The identity corpus: one defect told in several ways, and its neighbours in the same file (spec page 3).

Each row of `identity.txt` is one defect: mechanism, another slug for it, symbol, symptom, and three tellings of title
and root cause: the first, a light rewording, and one in words of its own. Printed are the wrong merges and
splits of `decide`:

    python tests/corpus/corpus_identity.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touchline.documents.decision import Context
from touchline.documents.ledger import Ledger
from touchline.gates.decide import decide

DATA = Path(__file__).parent / "identity.txt"
HEAD, BASE = "a" * 40, "b" * 40


@dataclass(frozen=True)
class Defect:
    """One defect, told three times."""

    path: str
    mechanism: str
    other: str
    symbol: str
    symptom: str
    tellings: tuple[tuple[str, str], ...]


def defects() -> list[Defect]:
    """Every row of the corpus."""
    found = []
    path = ""
    for row in DATA.read_text(encoding="utf-8").splitlines():
        if row.startswith("["):
            path = row.strip("[]")
        elif "|" in row and not row.startswith("#"):
            mechanism, other, symbol, symptom, *texts = (part.strip() for part in row.split("|"))
            found.append(
                Defect(path, mechanism, other, symbol, symptom, tuple(zip(texts[::2], texts[1::2], strict=True)))
            )
    return found


def told(
    defect: Defect,
    telling: int,
    *,
    mechanism: str = "",
    symbol: bool = True,
    symptom: str | None = None,
    matches: str | None = None,
    path: str = "",
) -> dict[str, Any]:
    """One issue as a judge reports it."""
    title, cause = defect.tellings[telling]
    return {
        "title": title,
        "rootCause": cause,
        "mechanism": mechanism or defect.mechanism,
        "symbol": defect.symbol if symbol else None,
        "symptom": defect.symptom if symptom is None else symptom or None,
        "matches": matches,
        "path": path or defect.path,
    }


@dataclass(frozen=True)
class Probe:
    """A report of one issue against a ledger; `same` is the defect that it is, None if the ledger lacks it."""

    kind: str
    issue: dict[str, Any]
    known: tuple[Defect, ...]
    same: Defect | None


def probes() -> Iterator[Probe]:
    """Every pair of the corpus: tellings of a known defect, and defects that are new beside known ones."""
    every = tuple(defects())
    for number, one in enumerate(every):
        others = tuple(other for other in every if other is not one)
        own_id = f"F-{number + 1}"
        yield Probe("same key, other words", told(one, 2, mechanism=one.mechanism.upper(), symbol=False), every, one)
        yield Probe("same symbol and symptom", told(one, 2, mechanism=one.other), every, one)
        yield Probe("cited", told(one, 2, mechanism=one.other, symbol=False, matches=own_id), every, one)
        yield Probe("light rewording", told(one, 1, mechanism=one.other, symptom=""), every, one)
        yield Probe("other words, not cited", told(one, 2, mechanism=one.other, symptom=""), every, one)
        yield Probe("new, first telling", told(one, 0), others, None)
        yield Probe("new, without a symbol", told(one, 1, symbol=False, symptom=""), others, None)
        yield Probe("new, in other words", told(one, 2, mechanism=one.other, symbol=False), others, None)
        elsewhere = told(one, 0, path=f"moved/{one.path}", matches=own_id)
        yield Probe("same words in another file", elsewhere, every, None)


AIMED = "other words, not cited"
"""The only kind beyond the rules of page 3: nothing but the words, and none of them the same."""


def ledger_id(probe: Probe) -> str:
    """The id that `decide` gives to the reported issue."""
    ledger = _ledger()
    ledger = decide(ledger, _report([told(one, 0) for one in probe.known]), _context(1)).ledger
    decided = decide(ledger, _report([probe.issue]), _context(2))
    return decided.decision.findings[0].ledger_id


def verdict(probe: Probe) -> str:
    """right, split (a known defect got a new id) or merged (it got the id of another one)."""
    given = int(ledger_id(probe).removeprefix("F-")) - 1
    known = probe.known[given] if given < len(probe.known) else None
    if known is probe.same:
        return "right"
    return "split" if known is None else "merged"


def _report(issues: list[dict[str, Any]]) -> bytes:
    rows = [
        {
            "id": f"VI-{number}",
            "class": "correctness",
            **{key: issue[key] for key in issue if key not in ("title", "path")},
        }
        for number, issue in enumerate(issues, 1)
    ]
    findings = [
        {
            "title": issue["title"],
            "severity": 8,
            "description": issue["rootCause"],
            "sources": ["judge"],
            "location": {"path": issue["path"]},
        }
        for issue in issues
    ]
    scope = {"mode": "branch", "baseRef": "origin/main", "mergeBase": BASE, "headSha": HEAD}
    document = {
        "schemaVersion": 1,
        "status": "ok",
        "error": None,
        "findings": findings,
        "issues": rows,
        "scope": {**scope, "includedFiles": [], "excludedFiles": [], "deltaBaseSha": None, "deltaFiles": []},
        "triage": {"skillsRun": [], "skillsSkipped": []},
        "skillResults": [
            {"skill": "exerciser", "status": "PASSED", "notes": ""},
            {"skill": "judge", "status": "COMPLETED", "notes": ""},
        ],
        "exerciserVerification": [],
        "customGates": {"exerciser": [], "review": []},
    }
    return json.dumps(document).encode()


def _ledger() -> Ledger:
    document = {
        "project": "corpus",
        "changeKey": "main",
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
            "startTree": "t",
            "untrackedAtStart": [],
            "stagedAtStart": [],
            "planDigest": "d",
        },
    }
    return Ledger.model_validate_json(json.dumps(document))


def _context(verify_run: int) -> Context:
    context = {
        "turn": verify_run,
        "maxTurns": 10,
        "verifyRun": verify_run,
        "headSha": HEAD,
        "baseRef": "origin/main",
        "mergeBase": BASE,
        "judges": ["judge"],
    }
    return Context.model_validate_json(json.dumps(context))


def counted() -> dict[str, dict[str, int]]:
    """Kind -> right, split, merged."""
    table: dict[str, dict[str, int]] = {}
    for probe in probes():
        row = table.setdefault(probe.kind, {"right": 0, "split": 0, "merged": 0})
        row[verdict(probe)] += 1
    return table


def shown(table: dict[str, dict[str, int]]) -> str:
    """The counts in words, with the shares of all pairs and of those within the rules."""
    lines = [f"{'kind':<28} {'right':>6} {'split':>6} {'merged':>6}"]
    lines += [f"{kind:<28} {row['right']:>6} {row['split']:>6} {row['merged']:>6}" for kind, row in table.items()]
    for name, kinds in (("all", [*table]), (f"without '{AIMED}'", [kind for kind in table if kind != AIMED])):
        total = sum(sum(table[kind].values()) for kind in kinds)
        split, merged = (sum(table[kind][word] for kind in kinds) for word in ("split", "merged"))
        share = 100 * (split + merged) / total
        lines.append(f"{name}: {total} pairs, {split} splits, {merged} wrong merges, {share:.1f} % wrong")
    return "\n".join(lines)


if __name__ == "__main__":
    print(shown(counted()))
    sys.exit(0)
