from __future__ import annotations

import json
from typing import Any, get_args

from touchline.coach.terminal import EXIT_STATUS, Block, block_of
from touchline.documents.ledger import Status

EXACT = """\
STATUS: APPROVED_NO_PR
PR_URL: none
PR_STATE: none
BRANCH: none
HEAD_SHA: {head}
REMOTE_HEAD_SHA: none
TURNS_USED: 2 of 3
VERIFY_RUNS: 2
REVIEWER: reviewer (Codex unavailable)
"""


def ledger(build: Any) -> Any:
    context = {"judges": ["codex-reviewer", "reviewer"]}
    rows = (
        build.verification(1, 1, decision="FEEDBACK", reviewer="reviewer", context=context),
        build.verification(2, 2, decision="APPROVED", reviewer="reviewer", context=context),
    )
    return build.ledger(build.turn(1), build.turn(2), verifications=rows)


def test_the_block_of_a_local_run_is_exact_to_the_byte(build: Any) -> None:
    head = "c" * 40
    assert block_of(ledger(build), "APPROVED_NO_PR", current_head=head).as_text() == EXACT.format(head=head)


def test_the_json_form_holds_the_same_values(build: Any) -> None:
    block = block_of(ledger(build), "APPROVED_NO_PR", current_head="c" * 40)
    assert json.loads(block.as_json()) == dict(block.rows())


def test_an_unborn_branch_has_no_head(build: Any) -> None:
    assert block_of(ledger(build), "APPROVED_NO_PR", current_head="").head_sha == "none"


def test_before_a_ledger_exists_the_block_says_so_in_every_value() -> None:
    assert Block("FAILED_NO_PLAN").as_text().splitlines()[4:] == [
        "HEAD_SHA: none",
        "REMOTE_HEAD_SHA: none",
        "TURNS_USED: 0 of 10",
        "VERIFY_RUNS: 0",
        "REVIEWER: none",
    ]


def test_every_status_has_an_exit_status_and_only_proved_ones_have_zero() -> None:
    assert set(EXIT_STATUS) == set(get_args(Status))
    zero = {status for status, code in EXIT_STATUS.items() if code == 0}
    assert zero == {"READY_FOR_REVIEW", "APPROVED_DRAFT_OPEN", "APPROVED_READY_OPEN", "APPROVED_NO_PR"}


def test_a_published_block_shows_the_verified_head_not_the_present_one(build: Any) -> None:
    run = build.run(source_branch="fix", target_branch="main", pr_state="draft", remote_head_sha="b" * 40)
    run = run.model_copy(update={"mode": "published"})
    block = block_of(
        build.ledger(build.turn(1), verifications=(build.verification(1, 1, head_sha="d" * 40),), run=run),
        "TURN_LIMIT_VERIFY",
        current_head="e" * 40,
    )
    assert (block.branch, block.head_sha, block.remote_head_sha, block.pr_state) == (
        "fix -> main",
        "d" * 40,
        "b" * 40,
        "draft",
    )
