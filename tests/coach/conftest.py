"""Ledgers in every state that a run can be in, built in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from touchline.documents.ledger import Ledger, RunOptions, RunState, TurnRow, VerificationRow

RUN = "20261201024500001"


class Build:
    """Makes documents with sensible values for what a test does not care about."""

    def ledger(self, *turns: TurnRow, verifications: tuple[VerificationRow, ...] = (), **values: Any) -> Ledger:
        run = values.pop("run", None) or self.run()
        return Ledger(
            **{
                "project": "example-00000000",
                "change_key": "main-local",
                "created_at": "2026-12-01T00:00:00Z",
                "updated_at": "2026-12-01T00:00:00Z",
                "run_number": RUN,
                "plan_file": "plan.md",
                "severity_threshold": 5,
                "max_turns": 3,
                "merge_base": "a" * 40,
                "run": run,
                "turns": list(turns),
                "verification_runs": list(verifications),
                **values,
            }
        )

    def run(self, **values: Any) -> RunState:
        options = RunOptions(executor="scripted", no_pr=True, **values.pop("options", {}))
        base = {"mode": "no-pr", "start_head": "a" * 40, "start_tree": "t0", "plan_digest": "sha256:0"}
        return RunState(options=options, **{**base, **values})

    def turn(self, number: int, state: str = "recorded", **values: Any) -> TurnRow:
        base = {
            "run_number": RUN,
            "turn": number,
            "state": state,
            "executor": "scripted",
            "start_head": "a" * 40,
            "start_tree": "t0",
            "started_at": "2026-12-01T00:00:00Z",
        }
        return TurnRow(**{**base, **values})

    def verification(self, number: int, turn: int, state: str = "decided", **values: Any) -> VerificationRow:
        base = {
            "run_number": RUN,
            "verify_run": number,
            "turn": turn,
            "state": state,
            "head_sha": "a" * 40,
            "report_path": f"reports/{number}.json",
            "full_audit": True,
        }
        return VerificationRow(**{**base, **values})


@pytest.fixture
def build() -> Build:
    return Build()
