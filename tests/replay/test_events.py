"""Recorded programs read again by a driver of the test: what is compared, and what is honestly not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from touchline.api import (
    API_VERSION,
    Capability,
    Event,
    ExecutorHost,
    Failure,
    FailureKind,
    Limits,
    Notice,
    PermissionAnswer,
    PermissionAsked,
    ProcessError,
    Program,
    QuestionAsked,
    Readiness,
    SessionStarted,
    TextDelta,
    TurnEnded,
    TurnRequest,
    TurnSettlement,
    question_or_silent,
)
from touchline.errors import PluginLoadError
from touchline.execution import Budget, execute_turn
from touchline.execution.replay import EventsReplayed, RecordedEvent, RecordedProgram, compare, replay_processes
from touchline.executor import Executor
from touchline.turn.raw import INDEX, read_processes
from touchline.turn.record import TurnRecord, read_events

SECRET = "s3cr3t-value-of-the-user"


class Liner:
    """Runs a Python program; each line of it is a text, `?` asks for permission, `end` ends the turn."""

    name = "liner"
    api_version = API_VERSION
    capabilities = frozenset({Capability.RESUME})

    def __init__(self, code: str = "", programs: int = 1) -> None:
        self.code = code
        self.programs = programs

    def check(self) -> Readiness:
        return Readiness(True, "1")

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        argv = [sys.executable, "-I", "-S", "-u", "-c", self.code]
        for _ in range(self.programs - 1):
            with host.start(argv) as child:
                yield from (TextDelta(line.text) for line in child.lines())
        with host.start(argv, stdin=None) as child:
            yield from self.read_program(request, child, host)

    def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
        yield SessionStarted(request.session_id)
        for line in program.lines():
            if line.late:
                yield Notice("late")
            elif line.text == "?":
                answer = host.permit(PermissionAsked("p", "bash", command="ls"))
                program.write(b"yes\n" if answer.allowed else b"no\n")
                yield TextDelta(f"{answer.allowed} {answer.reason}")
            elif line.text == "end":
                program.finish(request.limits.grace_s)
                yield TurnEnded("done")
                return
            else:
                yield TextDelta(line.text)
        yield TurnEnded(
            "", Failure(FailureKind.CRASHED, f"{program.ending} {program.returncode} {program.stderr_tail.strip()}")
        )

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        return question_or_silent(session_id, text, question)


class Unreadable(Liner):
    """As `Liner`, and does not offer to read a stream again."""

    read_program = None  # type: ignore[assignment]

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        return Liner(self.code).run_turn(request, host)


Played = Callable[..., Path]


@pytest.fixture
def play(tmp_path: Path) -> Played:
    """Play a turn and give the folder of its record."""

    def run(
        driver: Executor,
        *,
        secrets: tuple[str, ...] = (),
        limits: Limits | None = None,
        allowed: bool = True,
        budget: Budget | None = None,
        resume: bool = False,
    ) -> Path:
        folder = tmp_path / "record"
        request = TurnRequest(
            "task", "player", "Go.", tmp_path, "session-1", tmp_path, resume=resume, limits=limits or Limits(20, 10, 1)
        )
        with TurnRecord(folder, secrets) as record:
            execute_turn(
                driver,
                request,
                record=record,
                permit=lambda asked: PermissionAnswer(allowed, "" if allowed else "not here"),
                budget=budget,
                secrets=secrets,
            )
        return folder

    return run


def again(
    folder: Path, driver: Executor | None = None, events: Sequence[Mapping[str, Any]] | None = None
) -> list[EventsReplayed]:
    return list(
        replay_processes(
            list(read_processes(folder)),
            list(read_events(folder)) if events is None else events,
            lambda name: driver or Liner(),
        )
    )


def changed(folder: Path, kind: str, **payload: Any) -> list[dict[str, Any]]:
    """The recorded events, the first of that kind changed."""
    events = [dict(event) for event in read_events(folder)]
    chosen = next(event for event in events if event["kind"] == kind)
    chosen["payload"] = {**chosen["payload"], **payload}
    return events


PERMISSIONS = "import sys\nprint('a')\nprint('?')\nprint('heard', sys.stdin.readline().strip())\nprint('end')"


@pytest.mark.parametrize("allowed", [True, False])
def test_recorded_answers_are_given_again(play: Played, allowed: bool) -> None:
    (found,) = again(play(Liner(PERMISSIONS), allowed=allowed))
    assert found == EventsReplayed(1, 1, events=7)


def test_a_changed_event_a_missing_one_and_one_too_many_are_found(play: Played) -> None:
    folder = play(Liner("print('a')\nprint('b')\nprint('end')"))
    events = [dict(event) for event in read_events(folder)]
    (found,) = again(folder, events=changed(folder, "TextDelta", text="A"))
    assert found.difference is not None
    assert found.events == 1
    assert (found.difference.place, found.difference.then, found.difference.now) == (
        2,
        RecordedEvent("TextDelta", {"text": "A"}),
        RecordedEvent("TextDelta", {"text": "a"}),
    )
    (found,) = again(folder, events=[*events[:2], *events[3:]])
    assert found.difference is not None
    assert (found.difference.place, found.difference.now) == (3, RecordedEvent("TextDelta", {"text": "b"}))
    (found,) = again(folder, events=[*events[:2], events[1], *events[2:]])
    assert found.difference is not None
    assert found.difference.place == 3


def test_a_driver_that_reads_otherwise_is_found(play: Played) -> None:
    class Loud(Liner):
        def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
            for event in super().read_program(request, program, host):
                yield TextDelta(event.text.upper()) if isinstance(event, TextDelta) else event

    (found,) = again(play(Liner("print('a')\nprint('end')")), Loud())
    assert found.difference is not None
    assert found.difference.now == RecordedEvent("TextDelta", {"text": "A"})


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nprint('a')\nsys.stderr.write('broken')\nsys.exit(3)",
        "import os\nprint('a', flush=True)\nos.kill(os.getpid(), 9)",
        "print('half a line', end='')",
        "",
    ],
)
def test_an_end_without_a_result_comes_out_as_it_was(play: Played, code: str) -> None:
    (found,) = again(play(Liner(code)))
    assert (found.difference, found.not_compared, found.partly) == (None, "", "")
    assert found.events >= 2


def test_late_output_is_late_again(play: Played) -> None:
    code = (
        "import signal, sys, time\n"
        "def late(*_):\n    print('too late', flush=True)\n    sys.exit(0)\n"
        "signal.signal(signal.SIGINT, late)\nprint('in time', flush=True)\ntime.sleep(30)"
    )
    folder = play(Liner(code), limits=Limits(wall_s=20.0, idle_s=0.7, grace_s=1.0))
    kinds = [event["kind"] for event in read_events(folder)]
    assert kinds == ["SessionStarted", "TextDelta", "Notice", "TurnEnded"]
    (found,) = again(folder)
    assert found == EventsReplayed(1, 1, events=4)


def test_masked_secrets_are_no_difference_wherever_they_were_cut(play: Played) -> None:
    code = f"print('key {SECRET} end of it')\nprint('and {SECRET[:9]}')\nprint('rest {SECRET}')\nprint('end')"
    folder = play(Liner(code), secrets=(SECRET,))
    assert SECRET not in (folder / "events.jsonl").read_text()
    (found,) = again(folder)
    assert (found.difference, found.not_compared, found.partly) == (None, "", "")
    (found,) = again(folder, events=changed(folder, "TextDelta", text="other words"))
    assert found.difference is not None
    (found,) = again(folder, events=changed(folder, "TurnEnded", text="other words"))
    assert found.difference is not None


def test_a_turn_that_was_cut_short_is_compared_as_far_as_it_goes(play: Played) -> None:
    class Spender(Liner):
        def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
            from touchline.api import UsageReported

            for event in super().read_program(request, program, host):
                yield event
                yield UsageReported(10, 10)

    folder = play(Spender("print('a')\nprint('b')\nprint('end')"), budget=Budget(30, None))
    (found,) = again(folder, Spender())
    assert (found.difference, found.not_compared) == (None, "")
    assert found.partly.startswith("the record ends before the turn does")
    assert 0 < found.events < 7
    (found,) = again(folder, Spender(), events=changed(folder, "UsageReported", input=11))
    assert found.difference is not None


def test_a_recorder_that_was_killed_leaves_a_beginning_to_compare(play: Played) -> None:
    folder = play(Liner("print('a')\nprint('b')\nprint('end')"))
    index = folder / "raw" / INDEX
    index.write_bytes(index.read_bytes().splitlines(keepends=True)[0])
    events = list(read_events(folder))[:2]
    (found,) = again(folder, events=events)
    assert (found.difference, found.events, found.partly != "") == (None, 2, True)
    (found,) = again(folder, events=changed(folder, "TextDelta", text="A")[:2])
    assert found.difference is not None


def test_answers_that_were_not_recorded_any_more_end_the_comparison(play: Played) -> None:
    folder = play(Liner(PERMISSIONS))
    index = folder / "raw" / INDEX
    index.write_bytes(index.read_bytes().splitlines(keepends=True)[0])
    (found,) = again(folder, events=list(read_events(folder))[:3])
    assert (found.difference, found.events) == (None, 3)


def test_several_programs_of_one_turn_are_not_told_apart(play: Played) -> None:
    folder = play(Liner("print('a')", programs=2))
    assert [one.not_compared for one in again(folder)] == [
        "its turn had several programs, whose events cannot be told apart"
    ] * 2


def test_turns_of_one_record_are_compared_each_by_itself(play: Played) -> None:
    play(Liner("print('a')\nprint('end')"))
    folder = play(Liner("print('b')\nprint('end')"), resume=True)
    found = again(folder)
    assert [(one.process, one.events, one.difference) for one in found] == [(1, 3, None), (2, 3, None)]


def test_a_driver_that_offers_no_reading_is_named(play: Played) -> None:
    folder = play(Unreadable("print('end')"))
    (found,) = again(folder, Unreadable())
    assert found.not_compared == "the driver liner does not offer to read a stream again"


def test_a_driver_that_is_gone_or_broken_is_named(play: Played) -> None:
    class Broken(Liner):
        def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
            yield SessionStarted("s")
            raise KeyError("who")

    def gone(name: str) -> Executor:
        raise PluginLoadError(f"no executor {name!r} is installed", fix="Install it.")

    folder = play(Liner("print('end')"))
    (found,) = again(folder, Broken())
    assert found.not_compared == "the driver liner raised KeyError: 'who'"
    (found,) = replay_processes(list(read_processes(folder)), list(read_events(folder)), gone)
    assert found.not_compared == "its driver 'liner' cannot be loaded: no executor 'liner' is installed"


def test_a_replay_starts_nothing(play: Played, tmp_path: Path) -> None:
    class Starter(Liner):
        def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
            with pytest.raises(ProcessError):
                host.start(["touch", str(tmp_path / "started")])
            yield from super().read_program(request, program, host)

    (found,) = again(play(Liner("print('end')")), Starter())
    assert found.difference is None
    assert not (tmp_path / "started").exists()


def test_a_program_that_could_not_be_started_has_no_stream(play: Played) -> None:
    class Missing(Liner):
        def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
            with host.start(["no-such-program-anywhere"]) as child:
                yield from self.read_program(request, child, host)

    (found,) = again(play(Missing()))
    assert found.not_compared == "it could not be started"


def test_an_index_of_nonsense_is_survived() -> None:
    program = RecordedProgram(b"a\nb", ending=["x"], returncode="0", stderr="", late_after="many")
    assert (program.ending, program.returncode) == ("lost", None)
    assert [line.text for line in program.lines()] == ["a", "b"]


@pytest.mark.parametrize(
    ("then", "now", "equal"),
    [
        ("", "", True),
        ("[masked]", "anything", True),
        ("a [masked] b", "a SECRET b", True),
        ("a [masked] b", "a SECRET c", False),
        ("a [masked]", "b SECRET", False),
        ("a", "ab", False),
    ],
)
def test_only_what_stood_under_a_mask_is_not_compared(then: str, now: str, equal: bool) -> None:
    sides = [[RecordedEvent("TextDelta", {"text": text}), RecordedEvent("TurnEnded", {})] for text in (then, now)]
    assert (compare(sides[0], sides[1], whole=True, masked=True) is None) == equal
    if then != now:
        assert compare(sides[0], sides[1], whole=True, masked=False) is not None


def test_a_long_text_is_compared_as_it_was_cut(play: Played) -> None:
    folder = play(Liner("print('\\U0001f600' + 'x' * 20000 + 'y')\nprint('end')"))
    text = next(event["payload"]["text"] for event in read_events(folder) if event["kind"] == "TextDelta")
    assert len(text) < 17_000
    (found,) = again(folder)
    assert found == EventsReplayed(1, 1, events=3)
    (found,) = again(folder, events=changed(folder, "TextDelta", text=text[:-1] + "z"))
    assert found.difference is not None
