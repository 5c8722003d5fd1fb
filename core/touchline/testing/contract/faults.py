"""Scenarios: the model API fails in every way it can, and permissions are asked (spec page 2)."""

from __future__ import annotations

import pytest

from touchline.executor import Capability, Limits, PermissionAnswer, PermissionAnswered, PermissionAsked, ToolFinished
from touchline.testing.bench import Bench
from touchline.testing.contract.base import ContractBase, requires
from touchline.testing.steps import Cut, Fault, HttpError, Malformed, Refused, Say, Shell, Silent
from touchline.turn.settle import FailureKind


class FaultScenarios(ContractBase):
    """API errors are typed failures, never ends; permissions fail closed and say why."""

    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            (HttpError(500), FailureKind.MODEL_ERROR),
            (HttpError(529, "overloaded"), FailureKind.MODEL_ERROR),
            (HttpError(429, "too many requests", retry_after_s=0), FailureKind.RATE_LIMIT),
            (HttpError(401, "bad key"), FailureKind.NOT_AUTHENTICATED),
            (Refused(), FailureKind.MODEL_ERROR),
            (Cut(), FailureKind.MODEL_ERROR),
            (Malformed(), FailureKind.MODEL_ERROR),
        ],
        ids=["500", "529", "429", "401", "refused", "cut", "malformed"],
    )
    def test_api_fault_is_a_typed_failure(self, bench: Bench, fault: Fault, kind: FailureKind) -> None:
        ran = bench.turn(fault)
        assert ran.executed.failure is not None
        assert ran.executed.failure.kind is kind
        assert ran.executed.failure.reason
        assert (ran.settlement.kind, ran.settlement.ok) == ("failed", False)

    def test_silent_stream_is_stalled(self, bench: Bench) -> None:
        ran = bench.turn(Silent(60.0), limits=Limits(wall_s=30.0 + self.startup_s, idle_s=2.0, grace_s=2.0))
        assert ran.executed.failure is not None
        assert ran.executed.failure.kind is FailureKind.STALLED
        assert ran.took_s < 15 + self.startup_s

    @requires(Capability.PERMISSION_GATE)
    def test_allowed_command_was_asked_for_and_runs(self, bench: Bench) -> None:
        asked: list[PermissionAsked] = []

        def permit(request: PermissionAsked) -> PermissionAnswer:
            asked.append(request)
            return PermissionAnswer(True)

        ran = bench.turn(Shell("touch made.txt"), Say("Hello."), permit=permit)
        assert [(request.tool, request.command) for request in asked] == [("bash", "touch made.txt")]
        assert (bench.repo / "made.txt").exists()
        kinds = [type(event) for event in ran.events]
        assert kinds.count(PermissionAsked) == kinds.count(PermissionAnswered) == 1

    @requires(Capability.PERMISSION_GATE)
    def test_harmless_command_is_asked_for_too(self, bench: Bench) -> None:
        asked: list[str] = []

        def permit(request: PermissionAsked) -> PermissionAnswer:
            asked.append(request.command)
            return PermissionAnswer(True)

        bench.turn(Shell("ls"), Say("Hello."), permit=permit)
        assert asked == ["ls"]

    @requires(Capability.PERMISSION_GATE)
    def test_denied_command_does_not_run(self, bench: Bench) -> None:
        ran = bench.turn(
            Shell("touch made.txt"), Say("I could not."), permit=lambda asked: PermissionAnswer(False, "not here")
        )
        assert not (bench.repo / "made.txt").exists()
        assert [asked.command for asked in ran.executed.denials] == ["touch made.txt"]
        assert [event.status for event in ran.events if isinstance(event, ToolFinished)] in (["denied"], ["error"])

    @requires(Capability.PERMISSION_GATE, Capability.DENY_REASON)
    def test_denied_model_is_told_why_in_the_same_turn(self, bench: Bench) -> None:
        reason = "touchline: pushing is not allowed; do not try again"
        bench.turn(Shell("touch made.txt"), Say("I see."), permit=lambda asked: PermissionAnswer(False, reason))
        assert any(reason in told for told in bench.model.tool_results())
