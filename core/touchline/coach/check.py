"""Verifying a turn and deciding its gates (spec pages 3, 4 and 5): every write in the promised order.

`started` before the verifiers run (the number is then used up), `read` as soon as the report is there, and the
decision with everything that it books in one write. The ledger and the report are read from disk each time.
"""

from __future__ import annotations

from pathlib import Path

from touchline import texts
from touchline.coach.coachfindings import coach_findings
from touchline.coach.memory import load_tree, save_tree
from touchline.coach.run import Run
from touchline.coach.steps import Verify
from touchline.coach.subject import noticed_secrets, refused_commit, subject_of
from touchline.documents.decision import ConfiguredGates, Context, Decision
from touchline.documents.ledger import Ledger, TurnRow, VerificationRow
from touchline.documents.report import Report
from touchline.errors import LedgerError
from touchline.gates.decide import decide
from touchline.git.quoting import quote_path
from touchline.git.trees import TreeState, changed_paths
from touchline.ledger import queries
from touchline.ledger.epic import EpicQuarantine, change_between
from touchline.ledger.store import atomic_write
from touchline.verify.pipeline import verify
from touchline.verify.request import VerifyRequest, VerifyServices


def verify_turn(run: Run, step: Verify) -> None:
    """Run one verification of the present tree, and keep its report and the context of the decision."""
    ledger = run.store.read()
    turn = _turn(ledger, step.turn)
    subject = subject_of(run, ledger, step)
    _note_foreign_changes(run, ledger, step.turn, subject.tree)
    ledger = run.store.read()
    row = VerificationRow(
        run_number=ledger.run_number,
        verify_run=step.verify_run,
        turn=step.turn,
        state="started",
        head_sha=subject.head,
        tree_hash=subject.tree.digest,
        delta_base_sha=subject.since,
        report_path=str(run.store.folder.report(step.verify_run).relative_to(run.store.folder.path)),
        depth=run.settings.verify.depth,
        full_audit=step.full_audit,
    )
    ledger = run.store.write(ledger.model_copy(update={"verification_runs": [*ledger.verification_runs, row]}))
    run.gates.verifier.new_turn()
    run.progress.phase("verify", turn=step.turn, max_turns=ledger.max_turns)
    request = VerifyRequest(
        repo=run.repo,
        report_path=run.store.folder.report(step.verify_run),
        output_folder=run.store.folder.output / f"verify-{step.verify_run}",
        mode=subject.mode,
        head_sha=subject.head,
        base_commit=subject.base_commit,
        base_ref=subject.base_ref,
        files=subject.files,
        owned=subject.owned,
        known_dirty=subject.known_dirty,
        since=subject.since,
        depth=run.settings.verify.depth,
        verify_run=step.verify_run,
        turn=step.turn,
        threshold=ledger.severity_threshold,
        plan=run.store.folder.plan.read_text(encoding="utf-8", errors="replace"),
        plan_path=run.store.folder.plan,
        epic_context=ledger.run.options.epic_context or "",
        known=tuple(ledger.findings),
        coach=(
            *coach_findings(run, ledger, subject.changed, present=subject.tree.entries),
            *refused_commit(turn),
            *noticed_secrets(run, subject),
        ),
        review_gates=run.checks.rules.review,
        exerciser_gates=run.checks.rules.exerciser,
        tests=run.checks.tests,
        workspace=run.settings.verify.workspace,
        setup=run.settings.verify.setup or (),
        timeout_s=run.settings.verify.timeout_s,
        cache_folder=run.store.folder.path / "cache",
    )
    report = verify(request, _services(run, ledger))
    if run.cancel.is_set():
        # What was stopped half-way is no result: the row stays `started`, the next start marks it interrupted.
        return
    _contributed_gates(run, ledger, request, report)
    context = Context(
        turn=step.turn,
        max_turns=ledger.max_turns,
        verify_run=step.verify_run,
        reruns_this_turn=ledger.run.reruns_this_turn,
        full_audit=step.full_audit,
        head_sha=subject.head,
        tree_hash=subject.tree.digest,
        base_ref=subject.base_ref,
        merge_base=subject.base_commit if subject.mode == "branch" else None,
        scope_mode=subject.mode,
        diff_paths=[quote_path(path) for path in subject.changed],
        declared=turn.declared is True,
        work_changed=bool(subject.changed),
        tests_configured=run.checks.tests is not None,
        configured_gates=ConfiguredGates(
            exerciser=list(run.checks.rules.exerciser), review=list(run.checks.rules.review)
        ),
        judges=[judge.name for judge in run.checks.judges],
    )
    _update_row(run, step.verify_run, state="read", context=context.model_dump(mode="json", by_alias=True))
    run.progress.say(texts.VERIFY_ANCHOR.format(verify_runs=step.verify_run))


def _contributed_gates(run: Run, ledger: Ledger, request: VerifyRequest, report: Report) -> None:
    """Add the rows of the gates that plugins contribute to a complete report."""
    if report.status != "ok":
        return
    rows = run.hooks.gates(ledger, report, run.repo.work_tree)
    if rows:
        gates = report.custom_gates.model_copy(update={"review": [*report.custom_gates.review, *rows]})
        atomic_write(request.report_path, report.model_copy(update={"custom_gates": gates}).to_bytes())


def _note_foreign_changes(run: Run, ledger: Ledger, turn: int, tree: TreeState) -> None:
    """Name what changed in the tree since this turn was verified first; who did it is not known, so it stays."""
    place = run.memory.verified_tree(turn)
    if not place.exists():
        save_tree(place, tree)
        return
    changed = changed_paths(load_tree(place), tree)
    if changed:
        told = f"turn {turn}: changed between two verifications: {', '.join(map(quote_path, changed[:20]))}"
        run.progress.say(told)
        run.store.write(ledger.model_copy(update={"interruptions": [*ledger.interruptions, told]}))
        save_tree(place, tree)


def mark_interrupted(run: Run, verify_run: int) -> None:
    """Close the row of a verification whose process is gone; it counts, and its report is never read."""
    _update_row(run, verify_run, state="interrupted")


def decide_gates(run: Run, verify_run: int) -> None:
    """Decide from what is on disk, and write everything that the decision books at once."""
    ledger = run.store.read()
    row = next((row for row in ledger.verification_runs if row.verify_run == verify_run), None)
    if row is None:
        raise LedgerError(f"verification run {verify_run} is not in {run.store.path}", fix="Start again.")
    report_path = run.store.folder.path / row.report_path
    try:
        report = report_path.read_bytes()
    except OSError:
        # A report that cannot be read is an incomplete verification, never a verdict.
        report = b""
    decided = decide(ledger, report, Context.model_validate(row.context))
    written = run.store.write(decided.ledger)
    if ledger.run.options.epic_quarantine is not None:
        EpicQuarantine(Path(ledger.run.options.epic_quarantine)).record(change_between(ledger, written))
    _tell(run, written, decided.decision)


def _services(run: Run, ledger: Ledger) -> VerifyServices:
    return VerifyServices(
        judges=run.checks.judges,
        exerciser=run.checks.exerciser,
        permit=run.gates.permit_verifier,
        cancel=run.cancel,
        run_id=run.store.folder.process_mark(ledger.run_number),
        secrets=run.secrets,
        say=run.progress.say,
    )


def _tell(run: Run, ledger: Ledger, decision: Decision) -> None:
    turn = queries.current_turn(ledger)
    next_turn = (turn.turn if turn is not None else 0) + 1
    words = texts.NEXT_WORDS[decision.next].format(turn=next_turn)
    run.progress.say(f"gates: {decision.decision}: {decision.reason}")
    counts = decision.counts
    run.progress.say(
        texts.GATES_ANCHOR.format(
            blocking=counts.blocking, quarantined=counts.quarantined, deferred=counts.deferred, next=words
        )
    )


def _turn(ledger: Ledger, number: int) -> TurnRow:
    row = queries.current_turn(ledger)
    if row is None or row.turn != number:
        raise LedgerError(f"turn {number} is not the last one in the ledger", fix="Start again.")
    return row


def _update_row(run: Run, verify_run: int, **values: object) -> None:
    ledger = run.store.read()
    rows = [row.model_copy(update=values) if row.verify_run == verify_run else row for row in ledger.verification_runs]
    run.store.write(ledger.model_copy(update={"verification_runs": rows}))
