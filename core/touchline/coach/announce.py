"""What is said at the start of a run: plan, place, budget, and who will check it (spec page 5)."""

from __future__ import annotations

from touchline.coach.start import Place
from touchline.documents.ledger import Ledger
from touchline.git.index import read_status
from touchline.git.quoting import quote_path
from touchline.git.repository import Repository
from touchline.ledger import queries
from touchline.turn.shown import printable

SUMMARY_MAX = 120
NAMED_MAX = 10


def announcement(ledger: Ledger, place: Place, *, checks: list[str]) -> list[str]:
    """The lines, for stderr. `checks` says which tests, judges and exerciser will be used."""
    plan = place.folder.plan.read_text(encoding="utf-8", errors="replace")
    turn = queries.current_turn(ledger)
    begun = "continuing" if turn is not None else "starting"
    branch = ledger.run.source_branch or f"detached at {ledger.run.start_head[:12]}"
    model = f" (model {ledger.run.options.model})" if ledger.run.options.model else ""
    return [
        f"{begun} run {ledger.run_number}: {plan_summary(plan)}",
        f"plan:      {ledger.plan_file}",
        f"branch:    {branch}{_where(ledger)}",
        f"budget:    {ledger.max_turns} turns, severity {ledger.severity_threshold} and above blocks",
        f"player:    {ledger.run.options.executor}{model}",
        *checks,
        f"ledger:    {place.folder.ledger}",
    ]


def _where(ledger: Ledger) -> str:
    if ledger.run.mode == "no-pr":
        return "; local run: nothing is committed or published, no CI"
    owner = "yours" if ledger.run.options.no_ci else "waited for here"
    return f" -> {ledger.run.target_branch} ({ledger.base_ref}); published as a draft, CI is {owner}"


def changes_before(repo: Repository) -> list[str]:
    """Names what was changed before a new run, so that nobody takes it for the player's; it stays as it is."""
    status = read_status(repo)
    lines = []
    for what, paths in (("changed before the run", status.dirty_tracked), ("untracked before", status.untracked)):
        if paths:
            shown = ", ".join(printable(quote_path(path), SUMMARY_MAX) for path in paths[:NAMED_MAX])
            more = f" and {len(paths) - NAMED_MAX} more" if len(paths) > NAMED_MAX else ""
            lines.append(f"{what}: {shown}{more}")
    return lines


def plan_summary(plan: str) -> str:
    """The plan's first heading, or its first line that says something."""
    lines = [line.strip() for line in plan.splitlines() if line.strip()]
    heading = next((line.lstrip("#").strip() for line in lines if line.startswith("#")), "")
    return printable(heading or (lines[0] if lines else "an empty plan"), SUMMARY_MAX)
