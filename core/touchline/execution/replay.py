"""Reading a recorded raw stream again through its driver, and comparing events (spec page 7, "--events").

No program is started, no permission is asked: the answers are those that were recorded. The comparison is exact but
for one thing: where secret values were masked, text may have moved between deltas, so that only the whole counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from touchline.errors import ProcessError, TouchlineError
from touchline.execution.drive import NOT_CLOSED
from touchline.execution.host import NOT_STARTED
from touchline.executor import (
    Event,
    Executor,
    PermissionAnswer,
    PermissionAnswered,
    PermissionAsked,
    ReplayableExecutor,
    TurnRequest,
)
from touchline.process import Child, Ending, Line
from touchline.process.lines import LineSplitter
from touchline.turn.masking import MASK, Masker
from touchline.turn.raw import RecordedProcess
from touchline.turn.record import bounded

_ENDINGS = get_args(Ending)
_DELTAS = ("TextDelta", "ReasoningDelta")
_PURPOSES = ("work", "judge", "exerciser")
_ROLES = ("executor", "player", "verifier")


class RecordedEvent(NamedTuple):
    """One event, as it stands in the record."""

    kind: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventDifference:
    """The first event that comes out differently; None on the side that has no more."""

    place: int
    then: RecordedEvent | None
    now: RecordedEvent | None


@dataclass(frozen=True, slots=True)
class EventsReplayed:
    """What came of one process: the events that were equal, the first difference, or why nothing was compared.

    `partly` says what was left out although the rest was compared.
    """

    process: int
    turn: int | None
    events: int = 0
    difference: EventDifference | None = None
    not_compared: str = ""
    partly: str = ""


def replay_processes(
    processes: Sequence[RecordedProcess],
    events: Sequence[Mapping[str, Any]],
    driver: Callable[[str], Executor],
) -> Iterator[EventsReplayed]:
    """Compare every process of a record; `driver` gives the driver of a name, or raises TouchlineError."""
    for place, process in enumerate(processes):
        following = processes[place + 1].first if place + 1 < len(processes) else None
        yield _replay(process, _events_of(process, events, following), driver, alone=_is_alone(process, processes))


def read_again(
    executor: ReplayableExecutor, process: RecordedProcess, answers: Iterable[PermissionAnswer]
) -> list[Event]:
    """The events of a recorded stream, permissions and their answers among them, as far as answers were recorded."""
    found: list[Event] = []
    host = _RecordedHost(found, iter(answers))
    ended = process.ended or {}
    program = RecordedProgram(
        process.stream or b"",
        ending=ended.get("ending", "lost"),
        returncode=ended.get("returncode"),
        stderr=str(ended.get("stderrTail", "")),
        late_after=ended.get("lateAfter"),
    )
    try:
        for event in executor.read_program(_request(process.began), program, host):
            found.append(event)
    except _AnswersSpent:
        pass
    return found


class RecordedProgram:
    """A program that ended: `touchline.executor.Program` on what it left."""

    def __init__(
        self, stream: bytes, *, ending: object, returncode: object, stderr: str, late_after: object = None
    ) -> None:
        self._stream = stream
        self._late_after = late_after if isinstance(late_after, int) else None
        self.ending: Ending = ending if ending in _ENDINGS else "lost"  # type: ignore[assignment]
        self.returncode = returncode if isinstance(returncode, int) else None
        self.stderr_tail = stderr

    def lines(self) -> Iterator[Line]:
        """The lines as the process host gave them."""
        splitter = LineSplitter()
        at = len(self._stream) if self._late_after is None else _offset(self._stream, self._late_after)
        yield from splitter.feed(self._stream[:at])
        late = self._late_after is not None
        yield from splitter.feed(self._stream[at:], late=late)
        yield from splitter.flush(late=late)

    def write(self, content: bytes) -> None:
        """Nobody reads it any more."""

    def close_stdin(self) -> None:
        """There is none any more."""

    def finish(self, grace_s: float) -> None:
        """It has ended long ago."""


class _AnswersSpent(Exception):
    """A permission was asked whose answer was not recorded any more."""


class _RecordedHost:
    """`touchline.executor.ExecutorHost` that gives recorded answers and starts nothing."""

    def __init__(self, events: list[Event], answers: Iterator[PermissionAnswer]) -> None:
        self._events = events
        self._answers = answers

    def start(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = b"",
        env: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
    ) -> Child:
        """Refused."""
        raise ProcessError("a replay starts no program", fix="Read what was recorded only.")

    def permit(self, asked: PermissionAsked) -> PermissionAnswer:
        """The answer that was given then."""
        self._events.append(asked)
        answer = next(self._answers, None)
        if answer is None:
            raise _AnswersSpent
        self._events.append(PermissionAnswered(asked.id, answer.allowed, answer.reason))
        return answer


def _replay(
    process: RecordedProcess, recorded: list[RecordedEvent], driver: Callable[[str], Executor], *, alone: bool
) -> EventsReplayed:
    turn = process.began.get("turn")
    told = EventsReplayed(process.number, turn if isinstance(turn, int) else None)

    def left_out(why: str) -> EventsReplayed:
        return EventsReplayed(told.process, told.turn, not_compared=why)

    if (process.ended or {}).get("ending") == NOT_STARTED:
        return left_out("it could not be started")
    if not alone:
        return left_out("its turn had several programs, whose events cannot be told apart")
    if process.stream is None:
        return left_out("its raw stream was not kept whole")
    name = str(process.began.get("executor", ""))
    try:
        executor = driver(name)
    except TouchlineError as error:
        return left_out(f"its driver {name!r} cannot be loaded: {error.what}")
    if not isinstance(executor, ReplayableExecutor):
        return left_out(f"the driver {name} does not offer to read a stream again")
    answers = [
        PermissionAnswer(event.payload.get("allowed") is True, str(event.payload.get("reason", "")))
        for event in recorded
        if event.kind == "PermissionAnswered"
    ]
    try:
        events = read_again(executor, process, answers)
    except Exception as error:  # noqa: BLE001 - plugin isolation: a driver's defect is a finding about the driver
        return left_out(f"the driver {name} raised {type(error).__name__}: {error}")
    whole = process.ended is not None and any(event.kind == "TurnEnded" for event in recorded)
    replayed = [as_recorded(event) for event in events]
    if process.ended is None and process.masked:
        # The end of the stream may have been held back when the recorder was killed, later than its events were.
        recorded = recorded[: len(replayed)]
    difference = compare(recorded, replayed, whole=whole, masked=process.masked)
    partly = "" if whole else "the record ends before the turn does: compared as far as it goes"
    count = difference.place - 1 if difference is not None else len(recorded)
    return EventsReplayed(told.process, told.turn, count, difference, partly=partly)


def as_recorded(event: Event) -> RecordedEvent:
    """The event as the record holds it: JSON, long texts cut."""
    payload: dict[str, Any] = json.loads(json.dumps(bounded(Masker(()).mask_value(asdict(event)))))
    return RecordedEvent(type(event).__name__, payload)


def compare(
    then: Sequence[RecordedEvent], now: Sequence[RecordedEvent], *, whole: bool, masked: bool
) -> EventDifference | None:
    """The first event that differs. Without `whole` the record may end early, but not say anything else."""
    exact = _first_difference(then, now, whole=whole)
    if exact is None or not masked:
        return exact
    texts = [(_text(then, kind), _text(now, kind), kind) for kind in _DELTAS]
    for before, after, kind in texts:
        if not _same_text(before, after, whole=whole):
            return EventDifference(
                exact.place, RecordedEvent(kind, {"text": before}), RecordedEvent(kind, {"text": after})
            )
    others = [[event for event in events if event.kind not in _DELTAS] for events in (then, now)]
    return _first_difference(others[0], others[1], whole=whole)


def _first_difference(
    then: Sequence[RecordedEvent], now: Sequence[RecordedEvent], *, whole: bool
) -> EventDifference | None:
    for place, event in enumerate(then):
        other = now[place] if place < len(now) else None
        if other != event:
            return EventDifference(place + 1, event, other)
    if whole and len(now) > len(then):
        return EventDifference(len(then) + 1, None, now[len(then)])
    return None


def _text(events: Sequence[RecordedEvent], kind: str) -> str:
    return "".join(str(event.payload.get("text", "")) for event in events if event.kind == kind)


def _same_text(then: str, now: str, *, whole: bool) -> bool:
    """Whether a text is the other one where nothing is masked; what stood under a mask cannot be compared."""
    parts = then.split(MASK)
    at = 0
    for number, part in enumerate(parts):
        found = now.find(part, at)
        if found < 0 or (number == 0 and found != 0):
            return False
        at = found + len(part)
    return not whole or len(parts) > 1 or at == len(now)


def _events_of(
    process: RecordedProcess, events: Sequence[Mapping[str, Any]], following: int | None
) -> list[RecordedEvent]:
    """The driver's events of this process, up to the end of its turn; what comes after that is the host's own."""
    last = process.last if process.last is not None else following
    own = NOT_CLOSED.format(driver=process.began.get("executor"))
    found: list[RecordedEvent] = []
    for event in events:
        number, payload = event.get("seq"), event.get("payload")
        if not isinstance(number, int) or number <= process.first or (last is not None and number > last):
            continue
        one = RecordedEvent(str(event.get("kind")), payload if isinstance(payload, dict) else {})
        if one.kind == "Notice" and str(one.payload.get("text", "")).startswith(own):
            continue
        found.append(one)
        if found[-1].kind == "TurnEnded":
            return [*found, *_deltas_behind(events, number, last)]
    return found


def _deltas_behind(events: Sequence[Mapping[str, Any]], end: int, last: int | None) -> list[RecordedEvent]:
    """Text that was held back until the streams ended, so that it stands behind the end of the turn."""
    found = []
    for event in events:
        number, payload = event.get("seq"), event.get("payload")
        if (
            isinstance(number, int)
            and number > end
            and (last is None or number <= last)
            and event.get("kind") in _DELTAS
        ):
            found.append(RecordedEvent(str(event.get("kind")), payload if isinstance(payload, dict) else {}))
    return found


def _is_alone(process: RecordedProcess, processes: Sequence[RecordedProcess]) -> bool:
    """Whether no other program of the record was at work in the same turn."""
    return not any(_overlaps(process, other) for other in processes if other is not process)


def _overlaps(process: RecordedProcess, other: RecordedProcess) -> bool:
    if process.last is None:
        # Its recorder was killed; what came later belongs to another one, unless it was started for the very same.
        return other.last is None and other.began == process.began
    if other.last is None:
        return other.number > process.number and other.first < process.last
    return other.first < process.last and other.last > process.first


def _offset(stream: bytes, lines: int) -> int:
    at = 0
    for _ in range(lines):
        at = stream.find(b"\n", at) + 1
        if at == 0:
            return len(stream)
    return at


def _request(began: Mapping[str, Any]) -> TurnRequest:
    """The turn as far as its record tells it."""
    role, purpose, turn = began.get("role"), began.get("purpose"), began.get("turn")
    return TurnRequest(
        task_id=str(began.get("taskId", "")),
        role=role if role in _ROLES else "player",
        prompt="",
        cwd=Path("/"),
        session_id=str(began.get("sessionId", "")),
        scratch=Path("/"),
        resume=began.get("resume") is True,
        turn=turn if isinstance(turn, int) else 1,
        purpose=purpose if purpose in _PURPOSES else "work",
    )
