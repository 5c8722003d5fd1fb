"""The facts for what the coach itself notices about a change (DESIGN.md); the judgement is `verify.tamper`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from touchline.coach.plan import digest, read_plan
from touchline.coach.run import Run
from touchline.documents.ledger import Ledger
from touchline.gates.reading import Reported
from touchline.git.fingerprint import compare_fingerprints, take_fingerprint
from touchline.verify.coachfacts import gather_facts
from touchline.verify.tamper import coach_issues


def coach_findings(
    run: Run, ledger: Ledger, changed: Sequence[str], *, present: Collection[str] = ()
) -> tuple[Reported, ...]:
    """The coach's findings on the present work tree against the start of the run.

    `changed` are paths as git names them, `present` those of the whole tree now (empty: those of the base).
    """
    facts = gather_facts(
        run.repo,
        ledger.merge_base,
        changed,
        threshold=ledger.severity_threshold,
        present=present,
        git_settings=compare_fingerprints(run.memory.load_fingerprint(), take_fingerprint(run.repo)),
        plan_changed=_changed_plan(run, ledger),
    )
    return tuple(coach_issues(facts))


def _changed_plan(run: Run, ledger: Ledger) -> str:
    """The plan's path inside the work tree if its text is no longer the one of the start, else ""."""
    place = Path(ledger.run.plan_path)
    if not ledger.run.plan_path or not place.is_relative_to(run.repo.work_tree):
        return ""
    content, problem = read_plan(place)
    if not problem and digest(content) == ledger.run.plan_digest:
        return ""
    return str(place.relative_to(run.repo.work_tree))
