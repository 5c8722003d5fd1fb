"""Owns how `touchline verify` shows a report: for a terminal, or as Markdown (spec page 5). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from touchline.coach.publish.inert import inert
from touchline.documents.report import CustomGate, Issue, Report, ReportFinding
from touchline.turn.shown import printable

MAX_ROW = 400
MAX_NOTES = 200
MAX_FINDINGS = 200


def stands_against(report: Report, threshold: int) -> list[str]:
    """Why the change does not pass by this report; empty if it does."""
    found = [] if report.status == "ok" else [f"the verification is {report.status}: {report.error}"]
    rows = {row.skill: row.status for row in report.skill_results}
    if report.status == "ok" and "COMPLETED" not in rows.values():
        found.append("no judge completed its review")
    found += [
        f"{skill}: {status}"
        for skill, status in rows.items()
        if (skill == "exerciser" and status != "PASSED") or (skill == "tester" and status not in ("PASSED", "SKIPPED"))
    ]
    gates = [*report.custom_gates.exerciser, *report.custom_gates.review]
    found += [f"rule {gate.status}: {gate.rule}" for gate in gates if gate.status != "PASS"]
    blocking = sum(one.severity >= threshold for one in report.findings)
    return [*found, f"{blocking} findings of severity {threshold} or more"] if blocking else found


def terminal(report: Report, against: Sequence[str]) -> str:
    """The report for a person at a terminal: who verified, what was found, the most severe first, and the verdict."""
    lines = [
        f"{row.skill:<20} {row.status:<10} {printable(row.notes, MAX_NOTES)}".rstrip() for row in report.skill_results
    ]
    for finding, issue in _by_severity(report):
        about = f"{issue.id} sev {finding.severity} {issue.class_} {_place(finding)}: {finding.title}"
        lines.append(printable(f"{about} ({', '.join(finding.sources)})", MAX_ROW))
        lines += [f"    {printable(text, MAX_ROW)}" for text in _more(report, finding, issue)]
    lines += [printable(f"{one.ledger_id} {one.status}: {one.evidence}", MAX_ROW) for one in report.rechecks]
    lines += [printable(f"rule {one.status}: {one.rule}", MAX_ROW) for one in _rules(report)]
    lines.append(printable(_scope(report), MAX_ROW))
    verdict = [printable(f"not passed: {why}", MAX_ROW) for why in against] or ["passed"]
    return "\n".join([*lines, *verdict])


def markdown(report: Report, against: Sequence[str]) -> str:
    """The report as Markdown; what models and files said is text and nothing else in it."""
    verdict = [f"- {inert(why)}" for why in against] or ["Everything ran and nothing counts against the change."]
    parts = [
        f"## Verification: {'not passed' if against else 'passed'}\n\n" + "\n".join(verdict),
        inert(_scope(report)),
        _table(("Verifier", "Status", "Notes"), [(row.skill, row.status, row.notes) for row in report.skill_results]),
    ]
    rows = [
        (issue.id, str(finding.severity), issue.class_, _place(finding), finding.title, ", ".join(finding.sources))
        for finding, issue in _by_severity(report)
    ]
    if rows:
        parts.append("### Findings\n\n" + _table(("Id", "Severity", "Class", "Place", "What", "Source"), rows))
        parts += [
            f"**{issue.id}** " + " / ".join(inert(text) for text in more)
            for finding, issue in _by_severity(report)
            if (more := _more(report, finding, issue))
        ]
    if report.rechecks:
        rechecked = [(one.ledger_id, one.status, one.evidence) for one in report.rechecks]
        parts.append("### Rechecked\n\n" + _table(("Finding", "Status", "Evidence"), rechecked))
    if rules := [(one.rule, one.status, one.evidence) for one in _rules(report)]:
        parts.append("### Rules\n\n" + _table(("Rule", "Status", "Evidence"), rules))
    return "\n\n".join(parts) + "\n"


def _by_severity(report: Report) -> list[tuple[ReportFinding, Issue]]:
    pairs = zip(report.findings, report.issues, strict=True)
    return sorted(pairs, key=lambda pair: -pair[0].severity)[:MAX_FINDINGS]


def _place(finding: ReportFinding) -> str:
    return f"{finding.location.path}:{finding.location.line or ''}".rstrip(":") if finding.location else "-"


def _more(report: Report, finding: ReportFinding, issue: Issue) -> list[str]:
    """The cause, what was seen, and what the exerciser saw of it, each once."""
    seen = next((row for row in report.exerciser_verification if row.issue_id == issue.id), None)
    texts = [issue.root_cause, issue.evidence or "", finding.description]
    texts = [text for text in dict.fromkeys(texts) if text.strip() and text != finding.title][:2]
    return [*texts, f"exerciser: {seen.status}. {seen.evidence}"] if seen is not None else texts


def _rules(report: Report) -> list[CustomGate]:
    return [*report.custom_gates.exerciser, *report.custom_gates.review]


def _scope(report: Report) -> str:
    scope = report.scope
    delta = f", {len(scope.delta_files)} of them since {scope.delta_base_sha[:12]}" if scope.delta_base_sha else ""
    aside = f"; beside the change: {', '.join(scope.excluded_files[:5])}" if scope.excluded_files else ""
    return f"{len(scope.included_files)} files at {scope.head_sha[:12]} ({scope.mode}){delta}{aside}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(inert(cell, MAX_NOTES) for cell in row)} |" for row in rows]
    return "\n".join(lines)
