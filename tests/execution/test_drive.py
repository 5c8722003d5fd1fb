"""A driver that breaks the contract is a failed turn with its name in the reason, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from touchline.api import (
    Capability,
    Event,
    ExecutorError,
    ExecutorHost,
    Failure,
    FailureKind,
    Limits,
    Notice,
    PermissionAnswer,
    PermissionAnswered,
    PermissionAsked,
    Retrying,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TouchlineError,
    TurnEnded,
    TurnRequest,
    UsageReported,
)
from touchline.errors import ProcessStartError
from touchline.execution import Budget, ExecutedTurn
from touchline.process.cancel import Cancellation
from touchline.turn.raw import read_processes
from touchline.turn.record import TurnRecord, read_events

Execute = Callable[..., ExecutedTurn]
SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def kind(turn: ExecutedTurn) -> FailureKind | None:
    return turn.failure.kind if turn.failure else None


def test_turn_that_ends_by_itself_has_its_text_session_model_and_no_failure(execute: Execute) -> None:
    turn = execute([SessionStarted("s-1", "model-x"), TextDelta("Hi."), TurnEnded("Hi.")])
    assert (turn.text, turn.failure, turn.session_id, turn.model) == ("Hi.", None, "s-1", "model-x")
    assert turn.events_count == 3
    assert turn.usage is None


def test_driver_that_ends_without_an_end_is_a_lost_result_with_the_text_so_far(execute: Execute) -> None:
    turn = execute([TextDelta("half "), TextDelta("a text")])
    assert kind(turn) is FailureKind.LOST_RESULT
    assert turn.text == "half a text"


def test_driver_that_raises_is_a_crash_that_names_driver_and_error(execute: Execute, driver: Any) -> None:
    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        yield TextDelta("before")
        raise ZeroDivisionError("oops")

    turn = execute(driver(body))
    assert kind(turn) is FailureKind.CRASHED
    assert "plain raised ZeroDivisionError: oops" in turn.failure.reason
    assert turn.text == "before"


def test_driver_that_raises_before_its_first_event_is_a_crash_too(execute: Execute, driver: Any) -> None:
    class Eager(driver):  # type: ignore[misc]
        def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
            raise RuntimeError("at once")

    assert kind(execute(Eager(lambda request, host: []))) is FailureKind.CRASHED


def test_event_after_the_end_is_a_broken_contract(execute: Execute) -> None:
    turn = execute([TurnEnded("Hi."), Notice("and another thing")])
    assert kind(turn) is FailureKind.PROTOCOL
    assert "yielded Notice after TurnEnded" in turn.failure.reason
    assert turn.text == "Hi."


def test_second_end_is_a_broken_contract(execute: Execute) -> None:
    assert kind(execute([TurnEnded("Hi."), TurnEnded("Hi.")])) is FailureKind.PROTOCOL


@pytest.mark.parametrize("stranger", [None, "text", {"type": "text"}, PermissionAsked("1", "bash")])
def test_what_is_no_event_is_a_broken_contract(execute: Execute, stranger: object) -> None:
    assert kind(execute([stranger, TurnEnded("Hi.")])) is FailureKind.PROTOCOL


def test_driver_is_closed_whatever_happens(execute: Execute, driver: Any) -> None:
    for events in ([TurnEnded("x")], [None], [TextDelta("x")], [TurnEnded("x"), TurnEnded("x")]):
        one = driver(lambda request, host, events=events: iter(events))
        execute(one)
        assert one.closed


def test_driver_that_cannot_be_closed_changes_nothing_but_is_noted(execute: Execute, driver: Any) -> None:
    class Stubborn(driver):  # type: ignore[misc]
        def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
            class Events:
                def __init__(self) -> None:
                    self._rest: list[Event] = [TurnEnded("Hi.")]

                def __iter__(self) -> Iterator[Event]:
                    return self  # type: ignore[return-value]

                def __next__(self) -> Event:
                    if not self._rest:
                        raise StopIteration
                    return self._rest.pop()

                def close(self) -> None:
                    raise OSError("stuck")

            return Events()  # type: ignore[return-value]

    seen: list[Event] = []
    turn = execute(Stubborn(lambda request, host: []), observe=seen.append)
    assert turn.failure is None
    assert any(isinstance(event, Notice) and "stuck" in event.text for event in seen)


def test_program_that_a_driver_forgot_is_stopped(execute: Execute, driver: Any) -> None:
    pids: list[int] = []

    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        pids.append(host.start(SLEEPER).pid)
        yield TurnEnded("Hi.")

    assert execute(driver(body)).failure is None
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_program_that_cannot_be_started_is_not_installed(execute: Execute, driver: Any) -> None:
    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        host.start(["touchline-has-no-such-program"])
        yield TurnEnded("Hi.")

    turn = execute(driver(body))
    assert kind(turn) is FailureKind.NOT_INSTALLED
    assert "touchline-has-no-such-program" in turn.failure.reason


def test_machine_that_cannot_start_it_now_is_a_crash_and_no_missing_program(execute: Execute, driver: Any) -> None:
    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        raise ProcessStartError("agent was not started: its supervisor did not answer")
        yield

    turn = execute(driver(body))
    assert kind(turn) is FailureKind.CRASHED
    assert turn.failure.reason.startswith("agent was not started")


def test_executor_that_refuses_itself_ends_the_run_with_its_own_words(execute: Execute, driver: Any) -> None:
    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        raise ExecutorError("plain 0.1 is too old", fix="update it")
        yield

    turn = execute(driver(body))
    assert kind(turn) is FailureKind.NOT_INSTALLED
    assert "update it" in turn.failure.reason


def test_other_session_than_the_chosen_one_is_refused_at_once(execute: Execute, driver: Any) -> None:
    events = [SessionStarted("another"), TextDelta("not read"), TurnEnded("not read")]
    turn = execute(events)
    assert kind(turn) is FailureKind.PROTOCOL
    assert turn.events_count == 1
    chosen_by_cli = driver(lambda request, host: events, {Capability.RESUME})
    assert execute(chosen_by_cli).session_id == "another"


def test_resume_that_answers_from_another_session_is_a_lost_resume(execute: Execute) -> None:
    assert execute([SessionStarted("another"), TurnEnded("Hi.")], resume=True).lost_resume


@pytest.mark.parametrize(
    "events",
    [
        [],
        [TurnEnded("")],
        [SessionStarted("s-1"), TurnEnded(" \n")],
        [TurnEnded("", Failure(FailureKind.LOST_RESULT, "nothing came"))],
        [TurnEnded("", Failure(FailureKind.STALLED, "silent"))],
        [TurnEnded("", Failure(FailureKind.CRASHED, "status 1"))],
    ],
)
def test_resume_that_yields_nothing_is_a_lost_resume(execute: Execute, events: list[Event]) -> None:
    assert execute(events, resume=True).lost_resume
    assert not execute(events, resume=False).lost_resume


@pytest.mark.parametrize("failure", [FailureKind.USAGE_LIMIT, FailureKind.NOT_AUTHENTICATED, FailureKind.MODEL_ERROR])
def test_resume_that_the_model_api_refused_is_no_lost_resume(execute: Execute, failure: FailureKind) -> None:
    assert kind(execute([TurnEnded("", Failure(failure, "no"))], resume=True)) is failure


def test_resume_that_worked_and_then_crashed_is_a_crash(execute: Execute) -> None:
    events = [ToolStarted("bash", "make", "1"), TurnEnded("", Failure(FailureKind.CRASHED, "boom"))]
    assert kind(execute(events, resume=True)) is FailureKind.CRASHED


def test_driver_that_cannot_resume_is_not_even_run(execute: Execute, driver: Any) -> None:
    one = driver(lambda request, host: [TurnEnded("Hi.")], set())
    assert execute(one, resume=True).lost_resume
    assert not one.closed


def test_usage_reports_are_added_up_and_an_unknown_cost_stays_unknown(execute: Execute) -> None:
    turn = execute([UsageReported(10, 1, 4), UsageReported(20, 2), TurnEnded("Hi.")])
    assert (turn.usage.input, turn.usage.output, turn.usage.cached, turn.usage.cost) == (30, 3, 4, None)
    turn = execute([UsageReported(10, 1, cost=0.5), UsageReported(0, 0, cost=0.25), TurnEnded("Hi.")])
    assert turn.usage.cost == 0.75


def test_budget_stops_at_the_next_safe_point_not_in_the_middle_of_a_tool(execute: Execute) -> None:
    events = [
        ToolStarted("bash", "git commit", "1"),
        UsageReported(900, 200),
        TextDelta("still running"),
        ToolFinished("ok", "committed", id="1"),
        TextDelta("never seen"),
        TurnEnded("never seen"),
    ]
    seen: list[Event] = []
    turn = execute(events, budget=Budget(max_tokens=1000), observe=seen.append)
    assert kind(turn) is FailureKind.BUDGET
    assert "1100 tokens of 1000" in turn.failure.reason
    assert seen[-1] == ToolFinished("ok", "committed", id="1")


def test_budget_of_cost_counts_only_what_is_known(execute: Execute) -> None:
    events = [UsageReported(10, 1), UsageReported(10, 1, cost=0.02), TextDelta("x"), TurnEnded("x")]
    assert kind(execute(events, budget=Budget(max_cost=0.01))) is FailureKind.BUDGET
    assert kind(execute(events, budget=Budget(max_cost=0.02))) is None
    assert kind(execute(events[:1] + events[2:], budget=Budget(max_cost=0.01))) is None


def test_budget_spent_with_the_last_event_does_not_take_back_an_end(execute: Execute) -> None:
    assert execute([TurnEnded("Hi.")], budget=Budget(max_tokens=0)).failure is None


def test_permission_is_asked_of_the_policy_and_both_sides_are_events(execute: Execute, driver: Any) -> None:
    asked = PermissionAsked("1", "bash", command="git push")
    answers: list[PermissionAnswer] = []

    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        answers.append(host.permit(asked))
        yield TurnEnded("Hi.")

    seen: list[Event] = []
    turn = execute(driver(body), observe=seen.append, permit=lambda request: PermissionAnswer(False, "never"))
    assert answers == [PermissionAnswer(False, "never")]
    assert seen[:2] == [asked, PermissionAnswered("1", False, "never")]
    assert turn.denials == (asked,)
    assert turn.failure is None


def test_permission_that_cannot_be_decided_is_denied(execute: Execute, driver: Any) -> None:
    answers: list[PermissionAnswer] = []

    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        answers.append(host.permit(PermissionAsked("1", "bash")))
        yield TurnEnded("Hi.")

    def permit(request: PermissionAsked) -> PermissionAnswer:
        raise TouchlineError("the ticket folder is full")

    execute(driver(body), permit=permit)
    assert not answers[0].allowed
    assert "the ticket folder is full" in answers[0].reason


def test_secrets_reach_neither_text_nor_reason_nor_events_nor_record(execute: Execute, tmp_path: Path) -> None:
    secret = "hunter2-hunter2"
    events = [
        TextDelta(f"the token is {secret}"),
        ToolStarted("bash", f"curl -H {secret}", "1"),
        TurnEnded(f"it is {secret}", Failure(FailureKind.CRASHED, f"died with {secret}")),
    ]
    seen: list[Event] = []
    with TurnRecord(tmp_path / "record", [secret]) as record:
        turn = execute(events, secrets=[secret], observe=seen.append, record=record)
    assert secret not in repr(turn)
    assert secret not in repr(seen)
    assert "it is [masked]" in turn.text
    assert not any(secret in path.read_text() for path in (tmp_path / "record").rglob("*") if path.is_file())


def test_every_event_is_recorded_in_order(execute: Execute, tmp_path: Path) -> None:
    with TurnRecord(tmp_path / "record") as record:
        execute([SessionStarted("s-1"), TextDelta("Hi."), TurnEnded("Hi.")], record=record)
    assert [event["kind"] for event in read_events(tmp_path / "record")] == ["SessionStarted", "TextDelta", "TurnEnded"]
    assert (tmp_path / "record" / "render.log").read_text() == "Hi."


def test_raw_stream_of_the_program_is_recorded(execute: Execute, driver: Any, tmp_path: Path) -> None:
    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        with host.start(["echo", "from the program"]) as child:
            text = "".join(line.text for line in child.lines())
        yield TurnEnded(text)

    with TurnRecord(tmp_path / "record") as record:
        turn = execute(driver(body), record=record)
    assert turn.text == "from the program"
    (process,) = read_processes(tmp_path / "record")
    assert process.stream == b"from the program\n"
    assert process.began == {
        "executor": "plain",
        "turn": 1,
        "taskId": "task-1",
        "role": "player",
        "purpose": "work",
        "sessionId": process.began["sessionId"],
        "resume": False,
    }
    assert process.ended is not None
    assert (process.ended["ending"], process.ended["returncode"], process.ended["lateAfter"]) == ("exited", 0, None)


def test_program_that_cannot_be_started_is_recorded_as_such(execute: Execute, driver: Any, tmp_path: Path) -> None:
    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        with host.start(["no-such-program-anywhere"]):
            yield TurnEnded("")

    with TurnRecord(tmp_path / "record") as record:
        assert execute(driver(body), record=record).failure is not None
    (process,) = read_processes(tmp_path / "record")
    assert process.ended is not None
    assert (process.ended["ending"], process.stream) == ("not-started", b"")


def lines_of(host: ExecutorHost, argv: list[str]) -> Iterator[Event]:
    with host.start(argv) as child:
        for line in child.lines():
            yield TextDelta(line.text)
        kinds = {"idle": FailureKind.STALLED, "wall": FailureKind.TIMEOUT, "cancelled": FailureKind.CANCELLED}
        failure = kinds.get(child.ending)
    yield TurnEnded("done", Failure(failure, child.ending) if failure else None)


def test_announced_retry_extends_the_idle_limit(execute: Execute, driver: Any) -> None:
    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        with host.start(
            [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(2.5); print(2)"]
        ) as child:
            for line in child.lines():
                yield TextDelta(line.text)
                if line.text == "1":
                    yield Retrying("overloaded", 1, next_in_s=5.0)
            ending = child.ending
        yield TurnEnded(ending)

    assert execute(driver(body), limits=Limits(wall_s=20, idle_s=1, grace_s=1)).text == "exited"


def test_cancelled_run_starts_nothing(execute: Execute, driver: Any) -> None:
    cancel = Cancellation()
    cancel.set()
    one = driver(lambda request, host: [TurnEnded("Hi.")])
    turn = execute(one, cancel=cancel)
    cancel.close()
    assert kind(turn) is FailureKind.CANCELLED
    assert turn.events_count == 0


def test_cancellation_during_a_turn_is_its_failure_whatever_the_driver_says(execute: Execute, driver: Any) -> None:
    cancel = Cancellation()

    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        with host.start(SLEEPER) as child:
            cancel.set()
            yield from (TextDelta(line.text) for line in child.lines())
        yield TurnEnded("", Failure(FailureKind.CRASHED, "it died"))

    turn = execute(driver(body), cancel=cancel)
    cancel.close()
    assert kind(turn) is FailureKind.CANCELLED


def test_turn_that_ended_by_itself_before_the_cancellation_was_seen_keeps_its_end(
    execute: Execute, driver: Any
) -> None:
    cancel = Cancellation()

    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        cancel.set()
        yield TurnEnded("Hi.")

    turn = execute(driver(body), cancel=cancel)
    cancel.close()
    assert turn.failure is None


def test_time_for_a_second_program_is_what_the_first_left(execute: Execute, driver: Any) -> None:
    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        yield from list(lines_of(host, [sys.executable, "-c", "import time; time.sleep(1.5)"]))[:-1]
        yield from lines_of(host, SLEEPER)

    began = time.monotonic()
    turn = execute(driver(body), limits=Limits(wall_s=2.5, idle_s=20, grace_s=1))
    assert kind(turn) is FailureKind.TIMEOUT
    assert time.monotonic() - began < 8


def test_interrupt_from_the_keyboard_passes_through_and_leaves_nothing(execute: Execute, driver: Any) -> None:
    pids: list[int] = []

    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        with host.start(SLEEPER) as child:
            pids.append(child.pid)
            raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        execute(driver(body))
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], signal.SIGCONT)


def test_environment_is_marked_and_what_the_driver_asks_is_added_and_removed(
    execute: Execute, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNWANTED", "1")
    monkeypatch.setenv("GITLAB_TOKEN", "must-not-arrive")
    script = "import json, os; print(json.dumps(dict(os.environ)))"

    def body(request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        with host.start([sys.executable, "-c", script], env={"EXTRA": "yes"}, unset=["UNWANTED"]) as child:
            yield TurnEnded("".join(line.text for line in child.lines()))

    environment = json.loads(execute(driver(body), run_id="run-7").text)
    assert environment["EXTRA"] == "yes"
    assert environment["TOUCHLINE_RUN"] == "run-7"
    assert "UNWANTED" not in environment
    assert "GITLAB_TOKEN" not in environment
