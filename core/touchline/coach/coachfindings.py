"""The facts for what the coach itself notices about a change (DESIGN.md); the judgement is `verify.tamper`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from touchline.coach.plan import digest, read_plan
from touchline.coach.run import Run
from touchline.documents.ledger import Ledger
from touchline.gates.reading import Reported
from touchline.git.fingerprint import compare_fingerprints, take_fingerprint
from touchline.git.repository import Repository
from touchline.verify.tamper import CoachFacts, coach_issues, needs_text

MAX_TEXT_BYTES = 1024 * 1024


def coach_findings(run: Run, ledger: Ledger, changed: Sequence[str]) -> tuple[Reported, ...]:
    """The coach's findings on the present work tree against the start of the run; `changed` as git names paths."""
    facts = CoachFacts(
        changed=changed,
        threshold=ledger.severity_threshold,
        texts={path: _two_sides(run.repo, ledger.merge_base, path) for path in changed if needs_text(path)},
        git_settings=compare_fingerprints(run.memory.load_fingerprint(), take_fingerprint(run.repo)),
        plan_changed=_changed_plan(run, ledger),
    )
    return tuple(coach_issues(facts))


def _two_sides(repo: Repository, base: str, path: str) -> tuple[str, str]:
    before = b""
    if base:
        done = repo.run("cat-file", "blob", f"{base}:{path}", max_output_bytes=MAX_TEXT_BYTES)
        before = done.stdout if done.returncode == 0 else b""
    return before.decode("utf-8", "replace"), _read(repo.inside(path)).decode("utf-8", "replace")


def _read(place: Path) -> bytes:
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_TEXT_BYTES)


def _changed_plan(run: Run, ledger: Ledger) -> str:
    """The plan's path inside the work tree if its text is no longer the one of the start, else ""."""
    place = Path(ledger.run.plan_path)
    if not ledger.run.plan_path or not place.is_relative_to(run.repo.work_tree):
        return ""
    content, problem = read_plan(place)
    if not problem and digest(content) == ledger.run.plan_digest:
        return ""
    return str(place.relative_to(run.repo.work_tree))
