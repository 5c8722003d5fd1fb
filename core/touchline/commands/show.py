"""`touchline show RUN` (spec page 8): what the ledger of one run says, for people; `--json` is the ledger itself."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from touchline.commands.run_folders import as_it_was, find_shown, run_name, status_of
from touchline.documents.ledger import Finding, Ledger
from touchline.ledger import queries
from touchline.ledger.store import LedgerStore
from touchline.state import RunFolder
from touchline.turn.shown import printable, visible

_LINE = 300


@click.command()
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the ledger as it is on disk.")
def show(*, run: str, as_json: bool) -> None:
    """Show the turns, verifications and findings of a run.

    RUN is PROJECT/CHANGE or the change alone, as `touchline runs` lists them, or the number of a run.
    """
    folder, number = find_shown(run, os.environ)
    ledger = LedgerStore(folder.path).read()
    if as_json:
        click.echo(ledger.to_bytes().decode(), nl=False)
        return
    for line in summary(folder, as_it_was(ledger, number)):
        click.echo(visible(line))
    numbers = [ledger.run_number, *(past.run_number for past in reversed(ledger.runs))]
    if others := [one for one in numbers if one != number]:
        click.echo(visible(f"other runs of this change: {', '.join(others)}"))


def summary(folder: RunFolder, ledger: Ledger) -> Iterator[str]:
    """The lines of the summary; text of models and repositories is made printable."""
    reason = ledger.terminal or ledger.run.last_exit
    yield f"run        {run_name(folder)} {ledger.run_number}"
    yield f"status     {status_of(folder, ledger)}" + (f": {printable(reason.reason, _LINE)}" if reason else "")
    yield f"plan       {printable(ledger.plan_file, _LINE)}"
    yield f"executor   {printable(ledger.run.options.executor, _LINE)}"
    yield f"threshold  findings from severity {ledger.severity_threshold} on block"
    if ledger.run.mode != "no-pr" and ledger.run.source_branch:
        yield f"branch     {printable(f'{ledger.run.source_branch} -> {ledger.run.target_branch}', _LINE)}"
    if ledger.pr_url:
        yield f"change     {printable(ledger.pr_url, _LINE)} ({ledger.run.pr_state or 'not seen'})"
    yield f"folder     {folder.path}"
    yield from _turns(ledger)
    yield from _verifications(ledger)
    yield from _findings(ledger)


def _turns(ledger: Ledger) -> Iterator[str]:
    yield ""
    yield f"turns: {queries.turns_used(ledger)} of {ledger.max_turns} used"
    for row in queries.turns_of_run(ledger):
        how = row.settlement.kind if row.settlement else row.state
        text = (row.settlement.summary or row.settlement.reason) if row.settlement else ""
        changed = f"{len(row.changed_paths)} paths changed"
        commit = f"{row.head_sha[:12]}  " if row.head_sha and not row.noop and ledger.run.mode != "no-pr" else ""
        yield f"  {row.turn:>3}  {how:<11}  {changed:<18}  {commit}{printable(text, _LINE)}".rstrip()


def _verifications(ledger: Ledger) -> Iterator[str]:
    yield ""
    yield f"verifications: {queries.verify_runs(ledger)}"
    for row in queries.verifications_of_run(ledger):
        audit = "full audit" if row.full_audit else "delta"
        yield f"  {row.verify_run:>3}  turn {row.turn:<3}  {audit:<10}  {row.decision or row.state:<11}  " + printable(
            row.reason, _LINE
        )
        for gate in row.gates:
            yield f"       failed gate: {printable(gate.gate, _LINE)} ({printable(gate.status, 40)})"


def _findings(ledger: Ledger) -> Iterator[str]:
    blocking = {finding.id for finding in queries.blocking(ledger)}
    yield ""
    yield f"findings: {len(ledger.findings)}, {len(blocking)} of them blocking"
    for finding in sorted(ledger.findings, key=lambda one: (one.id not in blocking, -one.severity, one.id)):
        mark = "blocks" if finding.id in blocking else finding.disposition
        title = printable(finding.title, _LINE)
        yield f"  {finding.id}  severity {finding.severity:<2}  {mark}  {_place(finding)}{title}"


def _place(finding: Finding) -> str:
    if finding.location is None:
        return ""
    line = f":{finding.location.line}" if finding.location.line else ""
    return f"{printable(finding.location.path, _LINE)}{line}: "
