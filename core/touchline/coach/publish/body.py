"""The text of a change request, written from the ledger alone (spec page 6, "Body"). Pure.

Everything of ours stands between two markers; what people wrote around them is kept byte for byte. Numbers and
verdicts come from the ledger, the wording from here; text of models goes through `inert`.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.coach.announce import plan_summary
from touchline.coach.publish.inert import capped, inert, inert_title
from touchline.documents.ledger import Finding, Ledger, Status, TurnRow
from touchline.ledger import queries

BEGIN = "<!-- touchline:begin -->"
END = "<!-- touchline:end -->"
STATE_BEGIN = "<!-- touchline:state -->"
STATE_END = "<!-- touchline:state:end -->"
BODY_MAX = 60_000
PLAN_LINES = 12
PATHS_MAX = 100


def first_body(ledger: Ledger, plan: str) -> tuple[str, str]:
    """(title, body) of the draft, before anything was verified."""
    title = inert_title(plan_summary(plan))
    text = "\n\n".join(
        [BEGIN, *_summary(plan), "*Work in progress: nothing of this was verified yet.*", *_changed(ledger), END]
    )
    return title, capped(text + "\n", BODY_MAX)


def final_body(
    ledger: Ledger,
    plan: str,
    *,
    status: Status,
    reason: str,
    unverified: str = "",
    sections: Sequence[tuple[str, str]] = (),
) -> str:
    """Our part of the body at the end of a run. `unverified` is a local commit that was never verified.

    `sections` are titles and texts of plugins.
    """
    parts = [
        BEGIN,
        *_summary(plan),
        *_changed(ledger),
        *_testing(ledger),
        *_journey(ledger),
        *_state(ledger, status, reason, unverified),
        *_friction(ledger),
        *_below(ledger),
        *_ci(ledger),
    ]
    for title, text in sections:
        parts += [f"## {inert(title, 80)}", inert(text, 4000)]
    return capped("\n\n".join([*parts, END]) + "\n", BODY_MAX)


def merged(present: str, ours: str) -> str:
    """The present body with our part replaced; a body without our markers keeps its text, ours comes after it."""
    before, begin, rest = present.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and end:
        return before + ours.rstrip("\n") + after
    return f"{present}\n\n{ours}" if present.strip() else ours


def _summary(plan: str) -> list[str]:
    lines = [line for line in plan.splitlines() if line.strip()][: PLAN_LINES + 1]
    quoted = [f"> {inert(line)}" for line in lines[1:]] if len(lines) > 1 else []
    return ["## Summary", inert(plan_summary(plan)), *(["\n".join(quoted)] if quoted else [])]


def _changed(ledger: Ledger) -> list[str]:
    paths = sorted({path for row in queries.turns_of_run(ledger) for path in row.changed_paths})
    if not paths:
        return []
    rows = [f"- {inert(path, 200)}" for path in paths[:PATHS_MAX]]
    if len(paths) > PATHS_MAX:
        rows.append(f"- and {len(paths) - PATHS_MAX} more")
    return ["## What Changed", "\n".join(rows)]


def _testing(ledger: Ledger) -> list[str]:
    row = queries.current_verification(ledger)
    if row is None or row.state != "decided":
        return []
    told = [f"- verification {row.verify_run} on `{row.head_sha}`: {row.decision} ({inert(row.reason)})"]
    gates = [f"- gate {inert(gate.gate, 200)}: {inert(gate.status, 40)}" for gate in row.gates]
    return ["## Testing Plan", "\n".join([*told, *gates])]


def _journey(ledger: Ledger) -> list[str]:
    rows = queries.turns_of_run(ledger)
    if not rows:
        return []
    table = ["| Turn | Result | Commit | Verified | What |", "|---|---|---|---|---|"]
    table += [_turn_line(ledger, row) for row in rows]
    parts = ["## Implementation Journey", "\n".join(table)]
    if ledger.run.assumptions:
        parts.append("\n".join(f"- Assumption: {inert(text)}" for text in ledger.run.assumptions))
    if ledger.interruptions:
        parts.append("\n".join(f"- {inert(text)}" for text in ledger.interruptions))
    return parts


def _turn_line(ledger: Ledger, row: TurnRow) -> str:
    decisions = [one.decision or one.state for one in queries.verifications_of_turn(ledger, row.turn)]
    settlement = row.settlement
    what = inert(settlement.summary or "", 200) if settlement is not None else ""
    commit = f"`{row.head_sha[:12]}`" if row.head_sha and not row.noop else "none"
    kind = settlement.kind if settlement is not None else row.state
    return f"| {row.turn} | {kind} | {commit} | {', '.join(decisions) or 'no'} | {what} |"


def _state(ledger: Ledger, status: Status, reason: str, unverified: str) -> list[str]:
    verified = queries.last_verified_head(ledger) or "none"
    lines = [
        f"- Status: **{status}**" + (f" ({inert(reason)})" if reason else ""),
        f"- Last verified commit: `{verified}`",
        f"- Turns used: {queries.turns_used(ledger)} of {ledger.max_turns}",
        f"- Verification runs: {queries.verify_runs(ledger)}",
        f"- Reviewer: {inert(queries.reviewer_line(ledger), 100)}",
    ]
    if unverified and unverified != verified:
        lines.append(f"- Not verified: `{unverified}`")
    lines += [f"- Blocking: {_finding(finding)}" for finding in queries.blocking(ledger)]
    return ["## Final State", f"{STATE_BEGIN}\n" + "\n".join(lines) + f"\n{STATE_END}"]


def _friction(ledger: Ledger) -> list[str]:
    lines = [
        f"- Known failure {entry.id}, seen {entry.reraise_count} times, older than this change: {inert(entry.title)}"
        for entry in ledger.quarantine
        if entry.reraise_count
    ]
    lines += [f"- Came back: {_finding(finding)}" for finding in queries.sticky(ledger)]
    for row in queries.turns_of_run(ledger):
        lines += [f"- Turn {row.turn}: {inert(concern)}" for concern in row.concerns]
    return ["## Friction Log", "\n".join(lines)] if lines else []


def _below(ledger: Ledger) -> list[str]:
    kept = ("accepted-below-threshold", "deferred-out-of-scope")
    found = [finding for finding in ledger.findings if finding.disposition in kept]
    return ["## Below-Threshold Issues", "\n".join(f"- {_finding(one)}" for one in found)] if found else []


def _ci(ledger: Ledger) -> list[str]:
    rows = queries.ci_failures_of_run(ledger)
    lines = [f"- turn {row.turn}, {inert(row.check, 100)}: {inert(row.summary)}" for row in rows]
    return ["## CI History", "\n".join(lines)] if lines else []


def _finding(finding: Finding) -> str:
    place = f" in {inert(finding.location.path, 200)}" if finding.location is not None else ""
    return f"{finding.id} (severity {finding.severity}, {finding.class_}){place}: {inert(finding.title)}"
