"""The terminal block and the exit status of a run (spec page 5; the block is byte-exact). Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from touchline.coach.options import DEFAULT_MAX_TURNS
from touchline.documents.ledger import Ledger, Status
from touchline.ledger import queries
from touchline.turn.shown import visible

EXIT_STATUS: dict[Status, int] = {
    "READY_FOR_REVIEW": 0,
    "APPROVED_DRAFT_OPEN": 0,
    "APPROVED_READY_OPEN": 0,
    "APPROVED_NO_PR": 0,
    "FAILED_RUN": 1,
    "TURN_LIMIT_VERIFY": 3,
    "TURN_LIMIT_CI": 3,
    "FAILED_CI_BLOCKED": 4,
    "FAILED_PUBLISH": 5,
    "FAILED_NO_PLAN": 6,
    "INTERRUPTED": 130,
}


@dataclass(frozen=True, slots=True)
class Block:
    """The nine values of the terminal block, as they are printed."""

    status: Status
    pr_url: str = "none"
    pr_state: str = "none"
    branch: str = "none"
    head_sha: str = "none"
    remote_head_sha: str = "none"
    turns_used: str = f"0 of {DEFAULT_MAX_TURNS}"
    verify_runs: int = 0
    reviewer: str = "none"

    def rows(self) -> list[tuple[str, str]]:
        """(key, value) in the order of the block; no value can make a line of its own or steer a terminal."""
        rows: list[tuple[str, str]] = [
            ("STATUS", self.status),
            ("PR_URL", self.pr_url),
            ("PR_STATE", self.pr_state),
            ("BRANCH", self.branch),
            ("HEAD_SHA", self.head_sha),
            ("REMOTE_HEAD_SHA", self.remote_head_sha),
            ("TURNS_USED", self.turns_used),
            ("VERIFY_RUNS", str(self.verify_runs)),
            ("REVIEWER", self.reviewer),
        ]
        return [(key, visible(value)) for key, value in rows]

    def as_text(self) -> str:
        """The block, each `KEY: value` on its line, with a final newline."""
        return "".join(f"{key}: {value}\n" for key, value in self.rows())

    def as_json(self) -> str:
        """The same as one JSON object on one line, with a final newline."""
        return json.dumps(dict(self.rows()), ensure_ascii=False) + "\n"


def block_of(ledger: Ledger, status: Status, *, current_head: str) -> Block:
    """The block of a run that has a ledger.

    `current_head` is the present HEAD of the work tree ("" when the branch is unborn); it stands for HEAD_SHA in
    a local run, where nothing is committed. Published runs show the SHA that the last finished verification covered.
    """
    run = ledger.run
    local = run.mode == "no-pr"
    branch = "none" if local or not run.source_branch else f"{run.source_branch} -> {run.target_branch or 'none'}"
    verified = queries.last_verified_head(ledger)
    return Block(
        status=status,
        pr_url=ledger.pr_url or "none",
        pr_state="none" if local else (run.pr_state or "none"),
        branch=branch,
        head_sha=(current_head if local else verified) or "none",
        remote_head_sha="none" if local else (run.remote_head_sha or "none"),
        turns_used=f"{queries.turns_used(ledger)} of {ledger.max_turns}",
        verify_runs=queries.verify_runs(ledger),
        reviewer=queries.reviewer_line(ledger),
    )
