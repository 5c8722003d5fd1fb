"""`touchline gates` (spec page 4): the decision for given files, so that anyone can check one by hand or offline.

Nothing is written. What `--context` does not name is taken from the ledger: the stored context of its latest
verification, or else its rows; and then the changed paths from the repository of the current folder, if that
holds both commits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchline.errors import LedgerError, UsageError

if TYPE_CHECKING:
    from touchline.documents.decision import Context, Decision
    from touchline.documents.ledger import Ledger

MAX_INPUT_BYTES = 64 * 1024 * 1024


@click.command(name="gates")
@click.option("--ledger", "ledger_file", required=True, metavar="FILE", help="The ledger (ledger.json).")
@click.option("--report", "report_file", required=True, metavar="FILE", help="The verification report.")
@click.option("--context", "context_file", metavar="FILE", help="What the coach knew, as JSON; fields add up.")
@click.option("--threshold", type=click.IntRange(1, 10), help="Another severity threshold than the ledger's.")
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
def command(
    ledger_file: str, report_file: str, context_file: str | None, threshold: int | None, *, as_json: bool
) -> None:
    """Decide the gates for a ledger and a report; nothing is written."""
    from touchline.gates.decide import decide

    ledger = _ledger(ledger_file)
    if threshold is not None:
        ledger = ledger.model_copy(update={"severity_threshold": threshold})
    context = _context(ledger, context_file)
    decision = decide(ledger, _read(report_file, "--report"), context).decision
    if as_json:
        click.echo(decision.to_bytes(), nl=False)
    else:
        click.echo(_table(decision))


def _read(path: str, option: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_INPUT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"cannot read {option} {path}: {reason}", fix="Give the path of a readable file.") from error
    if len(data) > MAX_INPUT_BYTES:
        raise UsageError(
            f"{option} {path} is larger than {MAX_INPUT_BYTES // 1024**2} MiB", fix="Is it the right file?"
        )
    return data


def _ledger(path: str) -> Ledger:
    from pydantic import ValidationError

    from touchline.documents.ledger import Ledger
    from touchline.ledger.store import first_fault

    data = _read(path, "--ledger")
    try:
        return Ledger.model_validate_json(data)
    except ValidationError as error:
        raise LedgerError(
            f"{path} is no ledger of this version: {first_fault(error)}",
            fix="Give a ledger.json; `touchline schema ledger` shows what one holds.",
        ) from error


def _context(ledger: Ledger, path: str | None) -> Context:
    from pydantic import ValidationError

    from touchline.documents.decision import Context
    from touchline.ledger.store import first_fault

    given: Any = {}
    if path is not None:
        try:
            given = json.loads(_read(path, "--context").decode())
        except (ValueError, RecursionError) as error:
            raise UsageError(f"--context {path} is not JSON: {error}", fix="Give one JSON object.") from error
        if not isinstance(given, dict):
            raise UsageError(f"--context {path} is no JSON object", fix='Give one, such as {"turn": 2}.')
    try:
        told = {**_defaults(ledger), **given}
        if "diffPaths" not in told and told["scopeMode"] == "branch":
            told["diffPaths"] = _diff_paths(str(told["mergeBase"]), str(told["headSha"]))
        return Context.model_validate_json(json.dumps(told))
    except ValidationError as error:
        raise UsageError(
            f"the context ({path or 'as stored in the ledger'}) is not valid: {first_fault(error)}",
            fix="Give the fields of the context with --context.",
        ) from error


def _defaults(ledger: Ledger) -> dict[str, Any]:
    """The context of the latest verification of this run, as stored with it or as far as rows tell."""
    from touchline.ledger import queries

    row, turn = queries.current_verification(ledger), queries.current_turn(ledger)
    local = ledger.run.mode == "no-pr"
    told: dict[str, Any] = {
        "turn": turn.turn if turn is not None else 0,
        "maxTurns": ledger.max_turns,
        "verifyRun": queries.next_verify_run(ledger),
        "rerunsThisTurn": ledger.run.reruns_this_turn,
        "headSha": (turn.head_sha if turn is not None else None) or ledger.run.start_head,
        "baseRef": None if local else ledger.base_ref,
        "mergeBase": None if local else ledger.merge_base,
        "scopeMode": "files" if local else "branch",
    }
    if turn is not None and turn.declared is not None:
        told["declared"] = turn.declared
    if row is not None:
        told |= {
            "turn": row.turn,
            "verifyRun": row.verify_run,
            "headSha": row.head_sha,
            "treeHash": row.tree_hash,
            "fullAudit": row.full_audit,
        }
        told |= row.context
    return told


def _diff_paths(merge_base: str, head_sha: str) -> list[str]:
    """The paths that differ from the merge base; none where the current folder is not that repository."""
    from touchline.errors import GitError
    from touchline.git.diff import compare
    from touchline.git.quoting import quote_path
    from touchline.git.repository import Repository

    try:
        paths = compare(Repository.open(Path.cwd()), merge_base, head_sha).changed_paths()
    except GitError as error:
        # A check by hand works anywhere; the paths matter only where a quarantine entry is proved or closed.
        click.echo(
            f"touchline: the changed paths are unknown here, so quarantine goes by the report: {error.what}", err=True
        )
        return []
    return [quote_path(path) for path in paths]


def _table(decision: Decision) -> str:
    from touchline.turn.shown import printable

    counts = decision.counts
    lines = [
        f"{decision.decision} (next: {decision.next})",
        f"BLOCKING={counts.blocking} QUARANTINED={counts.quarantined} DEFERRED={counts.deferred}",
        f"reason: {printable(decision.reason, 1_000)}",
        f"reviewer: {printable(decision.reviewer or 'none', 100)}",
    ]
    if decision.findings:
        lines += ["", "findings (issue, ledger id, disposition, severity, times seen, why matched):"]
        lines += [
            f"  {printable(row.issue, 40)}  {printable(row.ledger_id, 20)}  {row.disposition}  {row.severity}"
            f"  {row.occurrences}  {row.match_reason or 'new'}"
            for row in decision.findings
        ]
    if decision.failed_gates:
        lines += ["", "failed gates (gate, status, severity, evidence):"]
        lines += [
            f"  {printable(row.gate, 120)}  {printable(row.status, 40)}  {row.severity}  {printable(row.evidence, 200)}"
            for row in decision.failed_gates
        ]
    if decision.quarantine:
        lines += ["", "quarantine:"]
        lines += [
            f"  {printable(row.id, 20)}  {'active' if row.active else 'closed'}  {printable(row.title, 120)}"
            for row in decision.quarantine
        ]
    if decision.sticky:
        lines += ["", f"sticky: {printable(', '.join(decision.sticky), 500)}"]
    return "\n".join(lines)
