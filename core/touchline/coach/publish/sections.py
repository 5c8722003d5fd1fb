"""The sections of a change request's text, each from ledger facts by a template (spec page 6, "Body"). Pure.

A section is its heading and its text; one that has nothing to say is left out. Numbers and verdicts come from the
ledger, what verifiers saw from the report that the last decision read; text of models goes through `inert`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from touchline.coach.announce import plan_summary
from touchline.coach.publish.inert import inert
from touchline.documents.ledger import Finding, Ledger, Status, TurnRow, VerificationRow
from touchline.gates.reading import Reading
from touchline.ledger import queries
from touchline.verify.tamper_tests import is_test_file

STATE_BEGIN = "<!-- touchline:state -->"
STATE_END = "<!-- touchline:state:end -->"
PLAN_LINES = 12
PATHS_MAX = 100
BLOCKERS_MAX = 50
ROWS_MAX = 200
START_WITH = 5


def summary(plan: str) -> list[str]:
    """What the change is for: the plan's heading, and its first lines as a quotation."""
    lines = [line for line in plan.splitlines() if line.strip()][: PLAN_LINES + 1]
    quoted = [f"> {inert(line)}" for line in lines[1:]]
    return ["## Summary", inert(plan_summary(plan)), *(["\n".join(quoted)] if quoted else [])]


def what_changed(ledger: Ledger) -> list[str]:
    """Every path that differs from the target."""
    return _listed("## What Changed", [f"- {inert(path, 200)}" for path in _paths(ledger)], PATHS_MAX)


def reviewer_guide(ledger: Ledger) -> list[str]:
    """Where a person begins to read, and what nobody has looked at for them."""
    row = queries.current_verification(ledger)
    if row is None or row.state != "decided":
        return []
    turns = Counter(path for turn in queries.turns_of_run(ledger) for path in turn.changed_paths)
    paths = _paths(ledger)
    first = sorted((path for path in paths if not is_test_file(path)), key=lambda path: (-turns[path], path))
    tests = [path for path in paths if is_test_file(path)]
    scope = "the whole change" if row.full_audit else f"what changed since `{row.delta_base_sha}`"
    lines = []
    if row.context.get("mergeBase"):
        lines.append(f"- Compare `{row.context['mergeBase']}` with `{row.head_sha}`.")
    if first:
        lines.append(f"- Begin with {_named(first)}: changed in the most turns.")
    if tests:
        lines.append(f"- Tests among the changes: {_named(tests)}.")
    if row.reviewer:
        lines.append(f"- Judged by {inert(row.reviewer, 100)}: {scope}. No person has looked at it yet.")
    if not row.context.get("testsConfigured"):
        lines.append("- No test command was found, so no tests were run.")
    assumed = len(ledger.run.assumptions)
    if assumed:
        lines.append(f"- Questions that were answered by an assumption: {assumed}; see the journey.")
    return ["## Reviewer Guide", "\n".join(lines)] if lines else []


def testing_plan(ledger: Ledger, reading: Reading | None) -> list[str]:
    """How it was tested and how to test it again."""
    row = queries.current_verification(ledger)
    if row is None or row.state != "decided":
        return []
    lines = []
    tests = ledger.run.configuration.get("tests")
    if isinstance(tests, dict):
        lines.append(f"- Run the tests: {inert(' '.join(map(str, tests.get('command', []))))}")
    for skill in reading.skills if reading is not None else ():
        notes = f": {inert(skill.notes)}" if skill.notes.strip() else ""
        lines.append(f"- {inert(skill.skill, 100)} {inert(skill.status, 40)}{notes}")
    rules = (*reading.exerciser_gates, *reading.review_gates) if reading is not None else ()
    for rule in rules:
        seen = f" ({inert(rule.evidence, 200)})" if rule.evidence.strip() else ""
        lines.append(f"- Rule {inert(rule.status, 40)}: {inert(rule.rule, 200)}{seen}")
    lines += [f"- Gate {inert(gate.gate, 200)}: {inert(gate.status, 40)}" for gate in row.gates]
    lines.append(f"- Verification {row.verify_run} on `{row.head_sha}`: {row.decision} ({inert(row.reason)})")
    return _listed("## Testing Plan", lines, ROWS_MAX)


def journey(ledger: Ledger) -> list[str]:
    """The turns as a table and in words, what was assumed, what came in between."""
    rows = queries.turns_of_run(ledger)
    if not rows:
        return []
    table = ["| Turn | Result | Commit | Verified | What |", "|---|---|---|---|---|"]
    table += [_turn_line(ledger, row) for row in rows]
    told = [f"- {_narrated(ledger, row)}" for row in rows]
    parts = ["## Implementation Journey", "\n".join(table), "\n".join(told)]
    if ledger.run.assumptions:
        parts.append("\n".join(f"- Assumption: {inert(text)}" for text in ledger.run.assumptions))
    if ledger.interruptions:
        parts.append("\n".join(f"- {inert(text)}" for text in ledger.interruptions))
    return parts


def final_state(ledger: Ledger, status: Status, reason: str, unverified: str) -> list[str]:
    """The status with its facts, between two markers of its own. `unverified`: the newest commit, if not verified."""
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
    blocking = [f"- Blocking: {_finding(finding)}" for finding in queries.blocking(ledger)]
    row = queries.current_verification(ledger)
    if row is not None and row.decision == "FEEDBACK":
        blocking += [f"- Blocking: gate {inert(gate.gate, 200)}, {inert(gate.status, 40)}" for gate in row.gates]
    lines += _bounded(blocking, BLOCKERS_MAX)
    return ["## Final State", f"{STATE_BEGIN}\n" + "\n".join(lines) + f"\n{STATE_END}"]


def friction_log(ledger: Ledger) -> list[str]:
    """What went on beside the work: known failures met, who approved, what came back, what was worrying."""
    lines = [
        f"- Known failure {entry.id}, seen {entry.reraise_count} times, older than this change: {inert(entry.title)}"
        for entry in ledger.quarantine
        if entry.reraise_count
    ]
    last = queries.current_verification(ledger)
    if last is not None and last.decision == "APPROVED":
        lines.append(f"- The judge that approved: {inert(queries.reviewer_line(ledger), 100)}")
    lines += [f"- Came back: {_finding(finding)}" for finding in queries.sticky(ledger)]
    for row in queries.turns_of_run(ledger):
        if row.attempts:
            kinds = ", ".join(sorted({attempt.kind for attempt in row.attempts}))
            lines.append(f"- Turn {row.turn}: begun {len(row.attempts) + 1} times ({inert(kinds, 200)})")
        if row.commit_refused:
            lines.append(f"- Turn {row.turn}: {inert(row.commit_refused)}")
        lines += [f"- Turn {row.turn}: {inert(concern)}" for concern in row.concerns]
    for verification in queries.verifications_of_run(ledger):
        if verification.state == "interrupted":
            lines.append(f"- Verification {verification.verify_run} was interrupted; it counts and was not read")
    return _listed("## Friction Log", lines, ROWS_MAX)


def below_threshold(ledger: Ledger) -> list[str]:
    """What was found and did not block."""
    kept = ("accepted-below-threshold", "deferred-out-of-scope")
    found = [f"- {_finding(finding)}" for finding in ledger.findings if finding.disposition in kept]
    return _listed("## Below-Threshold Issues", found, ROWS_MAX)


def ci_history(ledger: Ledger) -> list[str]:
    """The checks of CI that failed; the host itself shows the rest."""
    rows = queries.ci_failures_of_run(ledger)
    lines = [f"- Turn {row.turn}, {inert(row.check, 100)}: {inert(row.summary)}" for row in rows]
    return _listed("## CI History", lines, ROWS_MAX)


def contributed(sections: Sequence[tuple[str, str]]) -> list[str]:
    """Titles and texts of plugins."""
    return [part for title, text in sections for part in (f"## {inert(title, 80)}", inert(text, 4000))]


def _paths(ledger: Ledger) -> list[str]:
    """What differs from the target by the newest turn's verification; before that, what the turns changed."""
    turn, row = queries.current_turn(ledger), queries.current_verification(ledger)
    if turn is not None and row is not None and row.turn == turn.turn and row.head_sha == turn.head_sha:
        compared = row.context.get("diffPaths")
        if isinstance(compared, list):
            return sorted(map(str, compared))
    return sorted({path for one in queries.turns_of_run(ledger) for path in one.changed_paths})


def _named(paths: Sequence[str]) -> str:
    shown = ", ".join(inert(path, 200) for path in paths[:START_WITH])
    return f"{shown} and {len(paths) - START_WITH} more" if len(paths) > START_WITH else shown


def _turn_line(ledger: Ledger, row: TurnRow) -> str:
    decisions = [one.decision or one.state for one in queries.verifications_of_turn(ledger, row.turn)]
    settlement = row.settlement
    what = inert(settlement.summary or "", 200) if settlement is not None else ""
    commit = f"`{row.head_sha[:12]}`" if row.head_sha and not row.noop else "none"
    kind = settlement.kind if settlement is not None else row.state
    return f"| {row.turn} | {kind} | {commit} | {', '.join(decisions) or 'no'} | {what} |"


def _narrated(ledger: Ledger, row: TurnRow) -> str:
    given = f", given {row.feedback_items_given} items to address," if row.feedback_items_given else ""
    did = "changed nothing" if not row.changed_paths else f"changed {_counted(len(row.changed_paths), 'path')}"
    ended = row.settlement
    how = (
        f" and did not declare its end ({inert(ended.reason or ended.kind, 200)})" if _undeclared(row) and ended else ""
    )
    verified = [_verified(one) for one in queries.verifications_of_turn(ledger, row.turn)]
    return f"Turn {row.turn}{given} {did}{how}; {'; '.join(verified) or 'it was not verified'}."


def _undeclared(row: TurnRow) -> bool:
    return row.declared is False


def _verified(row: VerificationRow) -> str:
    if row.state != "decided":
        return f"verification {row.verify_run} was not finished"
    return f"verification {row.verify_run} decided {row.decision} ({inert(row.reason)})"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _finding(finding: Finding) -> str:
    place = f" in {inert(finding.location.path, 200)}" if finding.location is not None else ""
    return f"{finding.id} (severity {finding.severity}, {finding.class_}){place}: {inert(finding.title, 300)}"


def _listed(heading: str, lines: list[str], most: int) -> list[str]:
    return [heading, "\n".join(_bounded(lines, most))] if lines else []


def _bounded(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[:most], f"- and {len(lines) - most} more"]
