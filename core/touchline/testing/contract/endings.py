"""Scenarios: how a turn ends, and that the core settles it, not the driver (spec pages 1 and 2)."""

from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path

import pytest

from touchline.executor import (
    API_VERSION,
    Capability,
    Executor,
    PermissionAsked,
    QuestionAsked,
    SessionStarted,
    TextDelta,
    TurnEnded,
    UsageReported,
)
from touchline.testing.bench import Bench
from touchline.testing.contract.base import ContractBase, requires
from touchline.testing.repositories import commit_ahead, head_of
from touchline.testing.steps import Say, Shell
from touchline.turn.settle import FailureKind, no_trailer_settlement


class EndingScenarios(ContractBase):
    """Declared, asked, undeclared, silent, lying; capabilities both ways."""

    def test_driver_declares_itself(self, executor: Executor) -> None:
        assert isinstance(executor, Executor)
        assert executor.name
        assert executor.api_version == API_VERSION
        assert isinstance(executor.capabilities, frozenset)
        assert all(isinstance(capability, Capability) for capability in executor.capabilities)

    def test_check_finds_the_program_without_a_model_call(self, bench: Bench) -> None:
        readiness = bench.executor.check()
        assert readiness.installed
        assert readiness.version
        assert not readiness.problem
        assert bench.model.prompts() == []

    def test_declared_finish_that_git_confirms_is_finished(self, bench: Bench) -> None:
        commit = commit_ahead(bench.repo)
        trailer = json.dumps({"branch": "main", "commit": commit, "summary": "added work"})
        ran = bench.turn(Shell(f"git merge -q --ff-only {commit}"), Say(f"All done.\n{trailer}"))
        assert ran.executed.failure is None
        assert (ran.settlement.kind, ran.settlement.ok) == ("finished", True)
        assert ran.settlement.commit == commit
        assert ran.settlement.summary == "added work"

    def test_events_begin_with_the_session_and_end_once(self, bench: Bench) -> None:
        ran = bench.turn(Shell("true"), Say("Grüße, 世界 👩‍🚀"))
        assert isinstance(ran.events[0], SessionStarted)
        assert ran.events[0].session_id == ran.executed.session_id
        assert [type(event) for event in ran.events].count(TurnEnded) == 1
        assert isinstance(ran.events[-1], TurnEnded)
        assert "Grüße, 世界 👩‍🚀" in "".join(event.text for event in ran.events if isinstance(event, TextDelta))
        assert ran.executed.text == "Grüße, 世界 👩‍🚀"

    def test_turn_without_trailer_but_with_work_is_settled_by_the_core_as_undeclared(self, bench: Bench) -> None:
        commit = commit_ahead(bench.repo)
        ran = bench.turn(Shell(f"git merge -q --ff-only {commit}"), Say("It is all done!"))
        assert ran.settlement == no_trailer_settlement(ran.executed.session_id, "main", commit, ran.executed.text)

    def test_turn_without_trailer_and_without_work_is_a_question(self, bench: Bench) -> None:
        ran = bench.turn(Say("Which of the two files do you mean?"))
        assert (ran.settlement.kind, ran.settlement.ok) == ("asked", False)
        assert ran.settlement.question == "Which of the two files do you mean?"

    def test_turn_without_any_text_is_never_an_end(self, bench: Bench) -> None:
        ran = bench.turn(*[Say("")] * 4)
        assert not ran.settlement.ok
        assert ran.settlement.kind in ("silent", "failed")

    def test_trailer_that_lies_about_its_commit_is_a_failed_turn(self, bench: Bench) -> None:
        ran = bench.turn(Say(json.dumps({"branch": "main", "commit": "0" * 40, "summary": "done"})))
        assert not ran.settlement.ok
        assert ran.settlement.failure is not None
        assert ran.settlement.failure.kind is FailureKind.CONTRADICTED

    @requires(Capability.RESUME)
    def test_question_is_answered_in_the_same_session(self, bench: Bench) -> None:
        asked = bench.turn(Say('{"ask": "Which port?"}'), prompt="Make the server.")
        assert (asked.settlement.kind, asked.settlement.question) == ("asked", "Which port?")
        session_id = asked.executed.session_id
        answered = bench.turn(Say("Fine."), prompt="Port 8080.", session_id=session_id, resume=True)
        assert answered.executed.failure is None
        assert answered.executed.session_id == session_id
        known = "\n".join(bench.model.prompts())
        assert "Make the server." in known
        assert "Port 8080." in known

    @requires(Capability.RESUME)
    def test_unknown_session_is_a_lost_resume(self, bench: Bench) -> None:
        unknown = "11111111-2222-4333-8444-555555555555"
        ran = bench.turn(Say("Hello."), session_id=unknown, resume=True)
        assert ran.executed.lost_resume
        assert not ran.settlement.ok

    @requires(Capability.CHOSEN_SESSION_ID)
    def test_chosen_session_id_is_used(self, bench: Bench) -> None:
        chosen = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
        ran = bench.turn(Say("Hello."), session_id=chosen)
        assert ran.executed.session_id == chosen

    @requires(Capability.USAGE)
    def test_usage_is_the_turns_own(self, bench: Bench) -> None:
        first = bench.turn(Shell("true"), Say("One."))
        assert first.executed.usage is not None
        expected = bench.model.usage(2)
        assert first.executed.usage.model_copy(update={"cost": None}) == expected
        if Capability.RESUME in bench.executor.capabilities:
            second = bench.turn(Say("Two."), session_id=first.executed.session_id, resume=True)
            assert second.executed.usage is not None
            assert second.executed.usage.model_copy(update={"cost": None}) == bench.model.usage(1)

    @requires(Capability.COST)
    def test_cost_is_the_turns_own(self, bench: Bench) -> None:
        first = bench.turn(Shell("true"), Say("One."))
        assert first.executed.usage is not None
        assert first.executed.usage.cost
        if Capability.RESUME in bench.executor.capabilities:
            second = bench.turn(Say("Two."), session_id=first.executed.session_id, resume=True)
            assert second.executed.usage is not None
            assert second.executed.usage.cost is not None
            assert second.executed.usage.cost < first.executed.usage.cost

    @requires(Capability.MODEL_NAME)
    def test_model_name_is_reported(self, bench: Bench) -> None:
        assert bench.turn(Say("Hello.")).executed.model

    def test_nothing_undeclared_shows_up(self, bench: Bench) -> None:
        ran = bench.turn(Shell("true"), Say("Hello."))
        seen = {
            Capability.USAGE: any(isinstance(event, UsageReported) for event in ran.events),
            Capability.COST: any(isinstance(event, UsageReported) and event.cost is not None for event in ran.events),
            Capability.MODEL_NAME: bool(ran.executed.model),
            Capability.PERMISSION_GATE: any(isinstance(event, PermissionAsked) for event in ran.events),
            Capability.NATIVE_QUESTION: any(isinstance(event, QuestionAsked) for event in ran.events),
        }
        undeclared = [
            capability.value
            for capability, shown in seen.items()
            if shown and capability not in bench.executor.capabilities
        ]
        assert undeclared == [], f"{bench.executor.name} shows {undeclared} but does not declare it"

    @pytest.mark.parametrize("text", ["", " \n\t", "Shall I go on?", '{"summary": "done"}'])
    def test_guard_never_declares_a_turn_finished_or_undeclared(self, executor: Executor, text: str) -> None:
        verdict = executor.settle_without_work("s-1", text, None)
        assert not verdict.ok
        assert verdict.kind in ("asked", "silent", "failed")
        assert verdict.kind != "asked" or verdict.question.strip()

    def test_driver_builds_no_settlement_of_its_own(self, executor: Executor) -> None:
        built = [
            f"{path.name}:{node.lineno}"
            for path in _sources(executor)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and _called(node) in ("TurnSettlement", "no_trailer_settlement")
        ]
        assert built == [], "settlements come from touchline.turn.settle; a guard uses question_or_silent"

    def test_turn_runs_in_the_repository_and_leaves_the_head_alone(self, bench: Bench) -> None:
        before = head_of(bench.repo)
        bench.turn(Shell("pwd > where.txt"), Say("Hello."))
        assert Path((bench.repo / "where.txt").read_text().strip()).resolve() == bench.repo.resolve()
        assert head_of(bench.repo) == before


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _sources(executor: Executor) -> list[Path]:
    """The source files of the driver's own package."""
    spec = importlib.util.find_spec(type(executor).__module__.partition(".")[0])
    assert spec is not None, "the driver's package cannot be found"
    if spec.submodule_search_locations:
        return [path for place in spec.submodule_search_locations for path in Path(place).rglob("*.py")]
    return [Path(spec.origin)] if spec.origin else []
