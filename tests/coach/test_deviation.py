"""How an observed change differs from the one that a run published, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from touchline.coach.publish.observed import deviation
from touchline.documents.ledger import Ledger, RunOptions, RunState
from touchline.forge import Change, RepositoryId

SHA, OTHER = "a" * 40, "b" * 40
REPO = RepositoryId("host.invalid", "team/widget")
CHANGE = Change("url", 1, REPO, REPO, "topic", "main", "draft", "Title", "Body", SHA)


@pytest.fixture
def ledger() -> Ledger:
    options = RunOptions(max_turns=3, severity=5, executor="play", ci_timeout_seconds=60)
    run = RunState(
        options=options, mode="published", target_branch="main", start_head=SHA, start_tree="t", plan_digest="d"
    )
    return Ledger(
        project="p",
        change_key="c",
        created_at="2026-01-01T00:00:00Z",
        updated_at="2026-01-01T00:00:00Z",
        run_number="1",
        plan_file="plan.md",
        severity_threshold=5,
        max_turns=3,
        merge_base=SHA,
        run=run,
    )


@pytest.mark.parametrize("state", ["draft", "ready"])
def test_the_open_change_at_the_right_head_differs_in_nothing(ledger: Ledger, state: Any) -> None:
    assert deviation(ledger, replace(CHANGE, state=state), SHA) == ""


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"state": "closed"}, "the change request is closed"),
        ({"state": "merged"}, "the change request is merged"),
        ({"state": "queued"}, "the change request is queued"),
        ({"state": "unknown"}, "the change request is unknown"),
        ({"source_exists": False}, "the branch topic is gone"),
        ({"head_sha": OTHER}, f"the host shows the head {OTHER}, not {SHA}"),
        ({"head_sha": ""}, "the host shows the head none"),
        ({"target": "other"}, "goes to other now, not to main"),
    ],
)
def test_every_difference_is_told(ledger: Ledger, values: dict[str, Any], told: str) -> None:
    assert told in deviation(ledger, replace(CHANGE, **values), SHA)


def test_a_run_that_published_nothing_yet_is_at_no_head(ledger: Ledger) -> None:
    assert "not one of this run" in deviation(ledger, CHANGE, None)
