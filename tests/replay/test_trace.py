from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.coach.replay import Recorded, Replayed, replay
from touchline.coach.steps import Facts, PlayTurn, next_step
from touchline.coach.trace import facts_of, ledger_then, read_record, record_of, standing_of
from touchline.documents.ledger import Attempt, Ledger

Golden = Callable[[str], Recorded]
NAMES = ["approved", "coverage", "interrupted", "published", "quarantine", "rerun", "two-runs"]


@pytest.mark.parametrize("name", NAMES)
def test_the_ledger_at_the_end_follows_from_its_own_standing(golden: Golden, name: str) -> None:
    ledger = golden(name).ledger
    then = ledger_then(ledger, ledger, standing_of(ledger))
    assert isinstance(then, Ledger)
    assert (then.turns, then.verification_runs, then.findings) == (
        ledger.turns,
        ledger.verification_runs,
        ledger.findings,
    )
    assert standing_of(then) == standing_of(ledger)


def test_a_record_is_read_as_it_was_written(golden: Golden) -> None:
    ledger = golden("approved").ledger
    facts = Facts(now="2026-01-01T00:00:00Z", attempts_before=2, cancelled=True)
    record = record_of(ledger, PlayTurn(3, again=True, wait_s=5), facts)
    read = read_record(json.dumps(record.model_dump(mode="json", by_alias=True)).encode())
    assert read == record
    assert facts_of(record) == facts
    assert facts_of(record.model_copy(update={"facts": {"now": 1}})) is None


def test_attempts_made_later_are_not_there_yet(golden: Golden) -> None:
    recorded = golden("interrupted")
    waiting = next(record for record in recorded.steps if record.arguments.get("wait_s") == 5)
    assert waiting.standing is not None
    start = recorded.starts[recorded.ledger.run_number]
    then = ledger_then(start, recorded.ledger, waiting.standing)
    assert isinstance(then, Ledger)
    assert [attempt.kind for attempt in then.turns[-1].attempts] == ["cancelled", "model-error"]
    assert then.verification_runs == []


def test_a_wait_for_a_usage_limit_is_planned_from_what_was_waited_then(golden: Golden) -> None:
    recorded = golden("approved")
    start = recorded.starts[recorded.ledger.run_number]
    limit = Attempt(kind="usage-limit", at="2026-01-01T00:00:00Z", resets_at="2026-01-01T00:10:00Z")
    row = recorded.ledger.turns[0].model_copy(update={"state": "started", "attempts": [limit]})
    before = start.model_copy(
        update={"turns": [row], "run": start.run.model_copy(update={"waited_seconds": 6 * 3600 - 60})}
    )
    facts = Facts(now="2026-01-01T00:00:00Z")
    record = record_of(before, next_step(before, facts), facts)
    assert record.arguments["wait_s"] == 60
    ledger = recorded.ledger.model_copy(update={"turns": [row]})
    assert replay(replace(recorded, ledger=ledger, steps=[record])).steps == 1
    # A ledger that lost the attempt is not what the step was planned from.
    lost = replay(replace(recorded, steps=[record])).difference
    assert lost is not None
    assert (lost.field, lost.then, lost.now) == ("attempt 1 at turn 1", "in the ledger", "not in the ledger")


SMALL = st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from(["", "F-1", "open", "decided", "started"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_trace_makes_a_replay_fail(golden: Golden, data: st.DataObject) -> None:
    recorded = golden(data.draw(st.sampled_from(["interrupted", "two-runs"])))
    records = [record.model_dump(mode="json", by_alias=True) for record in recorded.steps]
    holder: Any = data.draw(st.sampled_from(records))
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [
            value
            for value in (holder.values() if isinstance(holder, dict) else holder)
            if value and isinstance(value, dict | list)
        ]
        if inner:
            holder = data.draw(st.sampled_from(inner))
    key = data.draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
    holder[key] = data.draw(SMALL)
    steps = [record for value in records if (record := read_record(json.dumps(value).encode())) is not None]
    assert isinstance(replay(replace(recorded, steps=steps)), Replayed)
