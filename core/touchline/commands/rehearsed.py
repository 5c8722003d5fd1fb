"""What the scripted model does in a rehearsal, and what must hold afterwards (spec page 8). Pure.

The example is the one of the demo: the model writes the right answer at once, a judge and an exerciser look at it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from touchline.documents.ledger import Ledger

if TYPE_CHECKING:
    from touchline.testing.steps import Step

SOLUTION = """\
mkdir -p src && cat > src/slugify.py <<'TEXT'
import re
import unicodedata


def slugify(title):
    decomposed = unicodedata.normalize("NFKD", title)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
TEXT"""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that must hold; `why` says what was seen instead."""

    what: str
    holds: bool
    why: str = ""


def steps() -> list[Step]:
    """The script: a refused push, the solution, the trailer, a judge's answer, the exerciser's use and answer."""
    from touchline.testing.steps import Say, Shell

    report = {"changed": [{"path": "src/slugify.py", "why": "the plan"}], "tests": "not run", "receipts": []}
    return [
        Shell("git push origin main"),
        Shell(SOLUTION),
        Say(f"Done.\n{json.dumps({'summary': 'add slugify', 'report': report})}"),
        Say('I read the change.\n{"issues": []}'),
        Shell("python3 -B examples/titles.py"),
        Say('I used it.\n{"status": "PASSED", "notes": "the example prints the right slugs"}'),
    ]


def expectations(
    status: int, ledger: Ledger, events: Sequence[Mapping[str, Any]], requests: Sequence[str], *, plan: str | None
) -> list[Expectation]:
    """What the ledger, the record and the model's requests of a rehearsal show."""
    turn = ledger.turns[-1] if ledger.turns else None
    settlement = turn.settlement if turn is not None else None
    ending = ledger.terminal.status if ledger.terminal is not None else "none"
    reason = ledger.run.last_exit.reason if ledger.run.last_exit is not None else ""
    asked = [event for event in events if event.get("kind") == "PermissionAsked"]
    denied = [
        event
        for event in events
        if event.get("kind") == "PermissionAnswered" and event.get("payload", {}).get("allowed") is False
    ]
    marker = json.dumps(plan.strip()[:200], ensure_ascii=False)[1:-1] if plan else "Slugs for titles"
    whole = any(marker in request for request in requests)
    return [
        Expectation("the model was called", bool(requests), f"no request reached it; {reason or ending}"),
        Expectation("plan and rules reached the model", whole, "the plan is in none of its requests"),
        Expectation("tool calls ask the permission policy", bool(asked), "no tool call was asked"),
        Expectation("a push is denied", bool(denied), "nothing was denied"),
        Expectation(
            "the turn's end was declared and understood",
            settlement is not None and settlement.kind == "finished",
            f"settled as {settlement.kind}: {settlement.reason}" if settlement is not None else reason or "no turn",
        ),
        Expectation("the work is in the tree", turn is not None and bool(turn.changed_paths), "nothing changed"),
        Expectation("tokens are reported", turn is not None and turn.usage is not None, "no usage was reported"),
        Expectation("the run ends with a verdict", status == 0 and ending == "APPROVED_NO_PR", f"{ending} {reason}"),
    ]
