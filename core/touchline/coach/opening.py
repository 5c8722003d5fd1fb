"""How a start meets the ledger that it finds: create, continue, report, or a new run (DESIGN.md). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from touchline.coach.options import Effective, Flags
from touchline.documents.ledger import CarryForward, Ledger, PastRun, RunState
from touchline.errors import UsageError
from touchline.ledger import queries

Opening = Literal["create", "continue", "report", "new-run"]


@dataclass(frozen=True, slots=True)
class Start:
    """What a new run begins with; `now` is ISO 8601 UTC, `plan_file` the plan as it was named."""

    project: str
    change_key: str
    run_number: str
    now: str
    plan_file: str
    run: RunState
    base_ref: str | None = None
    merge_base: str | None = None
    """Where the change began; None: at the start's head (local runs)."""


def opening(ledger: Ledger | None, *, new: bool) -> Opening:
    """What to do about the ledger as found on disk (None: there is none).

    A terminal status whose block was never printed is printed first, whatever was asked.
    """
    if ledger is None:
        return "create"
    if ledger.terminal is not None:
        return "new-run" if ledger.terminal.reported else "report"
    return "new-run" if new else "continue"


def refuse_changed_options(ledger: Ledger, flags: Flags, effective: Effective) -> None:
    """Raise UsageError when a flag that was given differs from what the unfinished run was started with.

    Whether a person can be asked belongs to the process that runs now, so `--headless` may differ.
    """
    old = ledger.run.options
    given: list[tuple[str, bool, object, object]] = [
        ("--max-turns", flags.max_turns is not None, old.max_turns, effective.max_turns),
        ("--severity", flags.severity is not None, old.severity, effective.severity),
        ("--executor", flags.executor is not None, old.executor, effective.executor),
        ("--model", flags.model is not None, old.model, effective.model),
        ("--reviewer", bool(flags.reviewers), tuple(old.reviewers), effective.reviewers),
        ("--epic-context", flags.epic_context is not None, old.epic_context, effective.epic_context),
        ("--epic-quarantine", flags.epic_quarantine is not None, old.epic_quarantine, effective.epic_quarantine),
        ("--ci-timeout", flags.ci_timeout is not None, old.ci_timeout_seconds, effective.ci_timeout_s),
        ("--target", flags.target is not None, old.target, effective.target),
        ("--plan-file", flags.plan_file is not None, ledger.plan_file, effective.plan_file),
    ]
    changed = [
        f"{name} (the run has {_shown(before)}, now {_shown(now)})" for name, was_given, before, now in given
        if was_given and before != now
    ]  # fmt: skip
    if changed:
        raise UsageError(
            f"an unfinished run has other options: {', '.join(changed)}",
            fix="Leave them out to continue it, or add --new to give it up and start a new run.",
        )


def first_ledger(start: Start) -> Ledger:
    """The ledger of a change that has none yet."""
    options = start.run.options
    return Ledger(
        project=start.project,
        change_key=start.change_key,
        created_at=start.now,
        updated_at=start.now,
        run_number=start.run_number,
        plan_file=start.plan_file,
        severity_threshold=options.severity,
        max_turns=options.max_turns,
        base_ref=start.base_ref,
        merge_base=start.merge_base or start.run.start_head,
        run=start.run,
    )


def next_run(ledger: Ledger, start: Start) -> Ledger:
    """A new run on a change that has a ledger: counters from zero, the earlier run kept in `runs[]`.

    Findings, quarantine, finding ids and report numbers go on; what was proved about an earlier tree does not.
    """
    options = start.run.options
    past = PastRun(
        run_number=ledger.run_number,
        options=ledger.run.options,
        turns_used=queries.turns_used(ledger),
        verify_runs=queries.verify_runs(ledger),
        terminal=ledger.terminal,
    )
    return ledger.model_copy(
        update={
            "run_number": start.run_number,
            "plan_file": start.plan_file,
            "severity_threshold": options.severity,
            "max_turns": options.max_turns,
            "merge_base": start.merge_base or start.run.start_head,
            "base_ref": start.base_ref,
            "run": start.run,
            "carry_forward": CarryForward(),
            "terminal": None,
            "runs": [*ledger.runs, past],
        }
    )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
