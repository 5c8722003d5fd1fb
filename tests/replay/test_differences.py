"""A changed rule or a changed record is found at the first decision or step that it changes, with both sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from touchline.coach.replay import Difference, Recorded, Rules, replay
from touchline.coach.steps import Facts, PlayTurn, Step, next_step
from touchline.coach.trace import undecided
from touchline.documents.decision import Context
from touchline.documents.ledger import Ledger, VerificationRow
from touchline.gates.decide import Decided, decide

Golden = Callable[[str], Recorded]
NAMES = ["approved", "coverage", "interrupted", "published", "quarantine", "rerun", "two-runs"]


def with_row(recorded: Recorded, verify_run: int, **values: Any) -> Recorded:
    rows = [
        row.model_copy(update=values) if row.verify_run == verify_run else row
        for row in recorded.ledger.verification_runs
    ]
    return replace(recorded, ledger=recorded.ledger.model_copy(update={"verification_runs": rows}))


def without_steps(recorded: Recorded) -> Recorded:
    return replace(recorded, steps=())


def decided_rows(recorded: Recorded) -> Sequence[VerificationRow]:
    return [row for row in recorded.ledger.verification_runs if row.state == "decided"]


def differs(recorded: Recorded, rules: Rules | None = None) -> Difference:
    found = replay(recorded, rules=rules).difference
    assert found is not None
    return found


# Other rules


def test_another_coverage_cap_is_found_where_it_decides_otherwise(golden: Golden) -> None:
    def without_cap(ledger: Ledger, report: bytes, context: Context) -> Decided:
        policy = ledger.policy.model_copy(update={"coverage_cap_from_round": 4})
        return decide(ledger.model_copy(update={"policy": policy}), report, context)

    found = differs(golden("coverage"), Rules(decide=without_cap))
    assert (found.where, found.field) == ("the decision of verification 3", "decision")
    assert (found.then, found.now) == ("APPROVED", "FEEDBACK")


def test_a_severity_that_counts_otherwise_is_found_before_it_changes_a_decision(golden: Golden) -> None:
    def stricter(ledger: Ledger, report: bytes, context: Context) -> Decided:
        decided = decide(ledger, report, context)
        findings = [
            one.model_copy(update={"severity": one.severity - 1}) if one.id == "F-1" else one
            for one in decided.ledger.findings
        ]
        return Decided(decided.decision, decided.ledger.model_copy(update={"findings": findings}))

    found = differs(golden("coverage"), Rules(decide=stricter))
    assert found.where == "findings before step 5 of the run (PlayTurn)"
    assert (found.field, found.then, found.now) == ("[F-1].severity", 6, 5)
    # Without the trace of the steps it still shows, at the end.
    found = differs(without_steps(golden("coverage")), Rules(decide=stricter))
    assert (found.where, found.field) == ("the end", "findings[F-1].severity")


def test_another_plan_is_found_at_its_step(golden: Golden) -> None:
    def impatient(ledger: Ledger, facts: Facts) -> Step:
        step = next_step(ledger, facts)
        return replace(step, wait_s=0) if isinstance(step, PlayTurn) else step

    found = differs(golden("interrupted"), Rules(next_step=impatient))
    assert (found.where, found.field) == ("step 4 of the run (PlayTurn)", "arguments.wait_s")
    assert (found.then, found.now) == (5, 0)


def test_another_kind_of_step_is_found(golden: Golden) -> None:
    def hopeless(ledger: Ledger, facts: Facts) -> Step:
        return next_step(ledger.model_copy(update={"max_turns": 1}), facts)

    found = differs(golden("quarantine"), Rules(next_step=hopeless))
    assert (found.where, found.then, found.now) == ("step 5 of the run (PlayTurn)", "PlayTurn", "Finish")


def test_a_quarantine_that_is_judged_otherwise_is_found(golden: Golden) -> None:
    def never(ledger: Ledger, report: bytes, context: Context) -> Decided:
        return decide(ledger, report, context.model_copy(update={"diff_paths": ["tests/test_old.py"]}))

    found = differs(golden("quarantine"), Rules(decide=never))
    assert (found.where, found.field) == ("the decision of verification 1", "reason")
    assert "F-1, F-2, F-3" in found.now


# Other records


CHANGED: dict[str, Any] = {
    "status": "blocked",
    "decision": "RERUN",
    "gates": [],
    "finding_ids": ["F-77"],
    "reviewer": "somebody",
    "next": "FULL_AUDIT",
    "reason": "another reason",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", CHANGED)
def test_every_field_of_every_stored_decision_is_compared(golden: Golden, name: str, field: str) -> None:
    recorded = golden(name)
    changed = 0
    for row in decided_rows(recorded):
        if getattr(row, field) == CHANGED[field]:
            continue
        found = differs(with_row(recorded, row.verify_run, **{field: CHANGED[field]}))
        assert found.where == f"the decision of verification {row.verify_run}"
        assert found.run_number == row.run_number
        changed += 1
    assert changed > 0 or field == "gates"


def test_a_changed_report_is_found_at_its_decision(golden: Golden) -> None:
    recorded = golden("quarantine")
    reports = {**recorded.reports, 1: recorded.reports[1].replace(b"unchecked-input", b"ignored-output")}
    found = differs(replace(recorded, reports=reports))
    assert (found.where, found.field) == ("the end", "findings[F-3].key")
    reports = {**recorded.reports, 1: b"{}"}
    found = differs(replace(recorded, reports=reports))
    assert (found.where, found.field) == ("the decision of verification 1", "status")


@pytest.mark.parametrize(
    ("update", "field"),
    [
        ({"title": "other"}, "findings[F-2].title"),
        ({"disposition": "open"}, "findings[F-2].disposition"),
        ({"occurrences": 9}, "findings[F-2].occurrences"),
        ({"severity_history": [1]}, "findings[F-2].severityHistory[0]"),
    ],
)
def test_the_findings_at_the_end_are_compared_whole(golden: Golden, update: dict[str, Any], field: str) -> None:
    recorded = golden("quarantine")
    findings = [one.model_copy(update=update) if one.id == "F-2" else one for one in recorded.ledger.findings]
    found = differs(replace(recorded, ledger=recorded.ledger.model_copy(update={"findings": findings})))
    assert (found.where, found.field) == ("the end", field)


def test_quarantine_and_carry_forward_at_the_end_are_compared(golden: Golden) -> None:
    recorded = golden("quarantine")
    found = differs(replace(recorded, ledger=recorded.ledger.model_copy(update={"quarantine": []})))
    assert (found.where, found.field, found.then) == ("the end", "quarantine[0]", "absent")
    carry = recorded.ledger.carry_forward.model_copy(update={"last_decision": "FEEDBACK"})
    found = differs(replace(recorded, ledger=recorded.ledger.model_copy(update={"carry_forward": carry})))
    assert (found.field, found.then, found.now) == ("carryForward.lastDecision", "FEEDBACK", "APPROVED")


def test_a_finding_that_was_lost_or_made_up_is_found(golden: Golden) -> None:
    recorded = golden("coverage")
    fewer = recorded.ledger.model_copy(update={"findings": recorded.ledger.findings[:-1]})
    assert differs(replace(recorded, ledger=fewer)).then == "absent"
    more = [*recorded.ledger.findings, recorded.ledger.findings[0].model_copy(update={"id": "F-9"})]
    assert differs(replace(recorded, ledger=recorded.ledger.model_copy(update={"findings": more}))).now == "absent"


def test_a_terminal_status_that_was_not_planned_is_found(golden: Golden) -> None:
    recorded = golden("approved")
    assert recorded.ledger.terminal is not None
    terminal = recorded.ledger.terminal.model_copy(update={"reason": "because"})
    found = differs(replace(recorded, ledger=recorded.ledger.model_copy(update={"terminal": terminal})))
    assert (found.where, found.field, found.then) == ("how the run ended", "reason", "because")


def test_a_run_that_begins_with_other_findings_than_the_one_before_ended_with_is_found(golden: Golden) -> None:
    recorded = golden("two-runs")
    number = recorded.ledger.run_number
    start = recorded.starts[number]
    starts = {**recorded.starts, number: start.model_copy(update={"findings": start.findings[:1]})}
    found = differs(replace(recorded, starts=starts))
    assert (found.run_number, found.where, found.field) == (number, "the beginning of the run", "findings[1]")


def test_feedback_that_did_not_hold_what_blocked_is_found(golden: Golden) -> None:
    recorded = golden("quarantine")
    turns = [
        row.model_copy(update={"feedback_finding_ids": ["F-2"]}) if row.turn == 2 else row
        for row in recorded.ledger.turns
    ]
    found = differs(replace(recorded, ledger=recorded.ledger.model_copy(update={"turns": turns})))
    assert (found.where, found.now) == ("the feedback of turn 2", "F-3")


def test_a_turn_that_the_ledger_lost_is_found(golden: Golden) -> None:
    recorded = golden("coverage")
    ledger = recorded.ledger.model_copy(update={"turns": recorded.ledger.turns[:-1]})
    found = differs(replace(recorded, ledger=ledger))
    assert (found.field, found.then, found.now) == ("turn 3", "in the ledger", "not in the ledger")


def test_what_was_equal_before_the_difference_is_counted(golden: Golden) -> None:
    recorded = golden("coverage")
    found = replay(with_row(recorded, 3, reason="another"))
    assert (found.decisions, found.steps) == (2, 12)


# What was not kept


def test_a_report_that_is_gone_leaves_its_decision_and_all_after_it_uncompared(golden: Golden) -> None:
    recorded = golden("coverage")
    reports = {number: report for number, report in recorded.reports.items() if number != 2}
    found = replay(replace(recorded, reports=reports))
    assert (found.difference, found.decisions) == (None, 1)
    run = f"run {recorded.ledger.run_number}"
    assert found.not_compared == (
        f"{run}: the decision of verification 2: its report reports/2.json is gone",
        f"{run}: the decision of verification 3: what was known before it is not",
        "findings and quarantine at the end",
    )
    # In a local run each verification is a full audit whatever was found, so every step can still be planned again.
    assert found.steps == 15


def test_a_report_that_could_not_be_read_then_is_decided_without_it_again(golden: Golden) -> None:
    recorded = golden("approved")
    (row,) = recorded.ledger.verification_runs
    context = Context.model_validate(row.context)
    start = recorded.starts[recorded.ledger.run_number]
    before = start.model_copy(update={"turns": recorded.ledger.turns, "verification_runs": [undecided(row)]})
    decided = decide(before, b"", context)
    (rerun,) = decided.ledger.verification_runs
    assert rerun.decision == "RERUN"
    ledger = recorded.ledger.model_copy(
        update={"verification_runs": [rerun], "carry_forward": decided.ledger.carry_forward}
    )
    found = replay(Recorded(ledger=ledger, starts=recorded.starts))
    assert (found.difference, found.decisions) == (None, 1)


@pytest.mark.parametrize("name", ["approved", "coverage", "quarantine", "interrupted"])
def test_the_first_run_of_a_change_needs_no_kept_beginning(golden: Golden, name: str) -> None:
    found = replay(replace(golden(name), starts={}))
    assert (found.difference, found.not_compared) == (None, ())


def test_an_earlier_run_without_its_beginning_is_not_compared(golden: Golden) -> None:
    recorded = golden("two-runs")
    first, second = recorded.ledger.runs[0].run_number, recorded.ledger.run_number
    found = replay(replace(recorded, starts={second: recorded.starts[second]}))
    assert (found.difference, found.decisions, found.steps) == (None, 1, 7)
    assert found.not_compared == (
        f"run {first}: the ledger that it began with was not kept",
        f"run {second}: whether it began with what the run before it had found",
    )
    # The beginning of the latest run follows from the end of the one before.
    found = replay(replace(recorded, starts={first: recorded.starts[first]}))
    assert (found.difference, found.decisions, found.not_compared) == (None, 2, ())
    found = replay(replace(recorded, starts={}))
    assert (found.difference, found.decisions, found.steps) == (None, 0, 0)
    assert "findings and quarantine at the end" in found.not_compared


def test_proven_failures_of_an_epic_may_come_in_at_the_beginning(golden: Golden) -> None:
    recorded = golden("two-runs")
    number = recorded.ledger.run_number
    entry = golden("quarantine").ledger.quarantine[0].model_copy(update={"id": "Q-9", "active": False})
    options = recorded.ledger.run.options.model_copy(update={"epic_quarantine": "shared.json"})
    start = recorded.starts[number]
    start = start.model_copy(update={"quarantine": [entry], "run": start.run.model_copy(update={"options": options})})
    ledger = recorded.ledger.model_copy(update={"quarantine": [entry]})
    found = replay(without_steps(replace(recorded, ledger=ledger, starts={**recorded.starts, number: start})))
    assert found.difference is None
    start = start.model_copy(update={"run": recorded.starts[number].run})
    found = replay(without_steps(replace(recorded, ledger=ledger, starts={**recorded.starts, number: start})))
    assert found.difference is not None
    assert found.difference.where == "the beginning of the run"


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_is_missing_from_the_trace_is_named_and_never_a_difference(golden: Golden, name: str) -> None:
    recorded = golden(name)
    for place, record in enumerate(recorded.steps):
        steps = [*recorded.steps[:place], *recorded.steps[place + 1 :]]
        found = replay(replace(recorded, steps=steps))
        assert (found.difference, found.steps) == (None, len(steps))
        if record.step in ("RecordTurn", "Verify", "MarkInterrupted", "Decide", "Finish"):
            assert record.step in found.not_compared[0]


def test_without_a_trace_the_decisions_are_still_compared(golden: Golden) -> None:
    found = replay(without_steps(golden("coverage")))
    assert (found.difference, found.decisions, found.steps) == (None, 3, 0)
    (left_out,) = found.not_compared
    assert left_out.endswith(
        "steps that were not recorded: PlayTurn 1, RecordTurn 1, PlayTurn 2, RecordTurn 2, PlayTurn 3, RecordTurn 3, "
        "Verify 1, Decide 1, Verify 2, Decide 2, Verify 3, Decide 3, Finish"
    )


def test_steps_of_a_version_that_kept_less_are_named(golden: Golden) -> None:
    recorded = golden("approved")
    steps = [record.model_copy(update={"standing": None}) for record in recorded.steps]
    found = replay(replace(recorded, steps=steps))
    assert (found.difference, found.decisions, found.steps) == (None, 1, 0)
    (left_out,) = found.not_compared
    assert left_out.endswith("steps recorded without what they were planned from: 1, 2, 3, 4, 5, 6, 7")


def test_a_context_that_cannot_be_read_leaves_out_its_decision(golden: Golden) -> None:
    found = replay(with_row(golden("approved"), 1, context={"turn": "one"}))
    assert (found.difference, found.decisions) == (None, 0)
    assert found.not_compared[0].endswith("the decision of verification 1: its context cannot be read")


def test_an_unfinished_run_is_compared_as_far_as_it_went(golden: Golden) -> None:
    recorded = golden("coverage")
    first, second, _ = recorded.ledger.verification_runs
    start = recorded.starts[recorded.ledger.run_number]
    before = start.model_copy(update={"turns": recorded.ledger.turns[:1], "verification_runs": [undecided(first)]})
    then = decide(before, recorded.reports[1], Context.model_validate(first.context)).ledger
    rows = {"turns": recorded.ledger.turns[:2], "verification_runs": [first, undecided(second)]}
    found = replay(replace(recorded, ledger=then.model_copy(update=rows), steps=recorded.steps[:8]))
    assert (found.difference, found.decisions, found.steps, found.not_compared) == (None, 1, 8, ())
