"""Running one turn of one executor to its end (spec page 2, "The contract").

The one place that consumes a driver's events: it records them, adds up usage, holds limits and budgets, closes the
driver always, and turns every way in which a driver can break the contract into a typed failure. Nothing that a
driver or a model does comes out of here as an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import get_args

from touchline.documents.base import Usage
from touchline.errors import ExecutorError, ProcessError, ProcessStartError
from touchline.execution.budget import Budget, add_usage, overspent
from touchline.execution.host import Permit, TurnHost
from touchline.execution.masking import mask_event
from touchline.executor import (
    Capability,
    Event,
    Executor,
    Notice,
    PermissionAsked,
    QuestionAsked,
    Retrying,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnRequest,
    UsageReported,
)
from touchline.process.cancel import Cancellation
from touchline.turn.masking import Masker
from touchline.turn.record import TurnRecord
from touchline.turn.settle import Failure, FailureKind

EVENT_TYPES = get_args(Event)
PARTIAL_TEXT = 200_000
"""Code points of streamed text that are kept for a turn that ends without a final text."""
WALL_MARGIN_S = 30.0
"""A driver that goes on after its program's wall limit is stopped this much later."""
NOT_CLOSED = "the driver {driver} could not be closed"
"""The one notice that is not the driver's own."""

_EMPTY_KINDS = {FailureKind.LOST_RESULT, FailureKind.CRASHED, FailureKind.STALLED, FailureKind.TIMEOUT}


@dataclass(frozen=True, slots=True)
class ExecutedTurn:
    """What one turn of an executor left behind; `touchline.execution.settle_turn` gives the verdict.

    `text` is the final text, or what was streamed before a failure. `usage` is None when nothing was reported.
    `lost_resume` says that a session could not be continued: the caller opens a fresh one, with the feedback.
    """

    text: str
    failure: Failure | None
    session_id: str
    model: str = ""
    usage: Usage | None = None
    events_count: int = 0
    tool_calls: int = 0
    """Tool calls that the driver reported; a driver may report none."""
    question: QuestionAsked | None = None
    denials: tuple[PermissionAsked, ...] = ()
    duration_s: float = 0.0

    @property
    def lost_resume(self) -> bool:
        """Whether the session to continue was not there."""
        return self.failure is not None and self.failure.kind is FailureKind.LOST_RESUME


@dataclass(slots=True)
class _Tally:
    """What was seen so far."""

    session_id: str
    model: str = ""
    usage: Usage | None = None
    events: int = 0
    question: QuestionAsked | None = None
    open_tools: list[str] = field(default_factory=list)
    tool_calls: int = 0
    answered: bool = False
    """The model did something: text, a tool, tokens. A resume without any of it is a lost resume."""
    pieces: list[str] = field(default_factory=list)
    pieces_length: int = 0
    ended: TurnEnded | None = None

    def over(self) -> bool:
        return self.ended is not None

    def add_text(self, text: str) -> None:
        if self.pieces_length < PARTIAL_TEXT:
            self.pieces.append(text)
            self.pieces_length += len(text)

    @property
    def partial(self) -> str:
        return "".join(self.pieces)[:PARTIAL_TEXT]


def execute_turn(
    executor: Executor,
    request: TurnRequest,
    *,
    record: TurnRecord | None = None,
    permit: Permit,
    observe: Callable[[Event], None] | None = None,
    cancel: Cancellation | None = None,
    run_id: str = "",
    budget: Budget | None = None,
    secrets: Iterable[str] = (),
) -> ExecutedTurn:
    """Run one turn. Expected endings, good and bad, are in the result; only Ctrl-C passes through."""
    masker = Masker(secrets)
    tally = _Tally(session_id=request.session_id)

    def emit(event: Event) -> None:
        tally.events += 1
        if record is not None:
            _record(record, request.turn, event)
        if observe is not None:
            observe(mask_event(masker, event))

    host = TurnHost(
        request,
        run_id=run_id,
        permit=permit,
        emit=emit,
        record=record,
        executor=executor.name,
        cancel=cancel,
    )
    failure = _cannot_start(executor, request, host) or _drive(executor, request, host, tally, emit, budget)
    if record is not None:
        record.flush()
        host.record_ends()
    return _result(request, host, tally, failure, masker)


def _cannot_start(executor: Executor, request: TurnRequest, host: TurnHost) -> Failure | None:
    if host.cancelled:
        return Failure(FailureKind.CANCELLED, "cancelled before the turn began")
    if request.resume and Capability.RESUME not in executor.capabilities:
        return Failure(FailureKind.LOST_RESUME, f"{executor.name} cannot continue a session")
    return None


def _drive(
    executor: Executor,
    request: TurnRequest,
    host: TurnHost,
    tally: _Tally,
    emit: Callable[[Event], None],
    budget: Budget | None,
) -> Failure | None:
    """Consume the driver's events; the failure that the driver did not report by itself, if any."""
    events: Iterator[Event] | None = None
    try:
        events = executor.run_turn(request, host)
        failure = _consume(executor, request, host, tally, emit, budget, events)
    except ProcessStartError as error:
        # The program is there: nothing that a person has to mend before the next try.
        failure = Failure(FailureKind.CRASHED, str(error))
    except (ExecutorError, ProcessError) as error:
        failure = Failure(FailureKind.NOT_INSTALLED, str(error))
    except Exception as error:  # noqa: BLE001 - plugin isolation: a driver's defect is a failed turn
        failure = Failure(FailureKind.CRASHED, f"the driver {executor.name} raised {type(error).__name__}: {error}")
    finally:
        problem = _close(events)
        host.stop_all()
    if problem:
        emit(Notice(f"{NOT_CLOSED.format(driver=executor.name)}: {problem}"))
    return failure


def _consume(
    executor: Executor,
    request: TurnRequest,
    host: TurnHost,
    tally: _Tally,
    emit: Callable[[Event], None],
    budget: Budget | None,
    events: Iterator[object],
) -> Failure | None:
    for item in events:
        if tally.over():
            return _contract(executor, f"yielded {type(item).__name__} after TurnEnded")
        if not isinstance(item, EVENT_TYPES):
            return _contract(executor, f"yielded {type(item).__name__}, which is no event")
        event: Event = item
        emit(event)
        failure = _note(executor, request, host, tally, event)
        if failure is not None:
            return failure
        if tally.over():
            continue
        reason = overspent(budget, tally.usage)
        if reason and not tally.open_tools:
            return Failure(FailureKind.BUDGET, f"budget spent: {reason}")
        if host.elapsed_s > request.limits.wall_s + WALL_MARGIN_S:
            return Failure(FailureKind.TIMEOUT, f"the turn took longer than {request.limits.wall_s:.0f} s")
    if not tally.over():
        return Failure(FailureKind.LOST_RESULT, f"the driver {executor.name} ended without TurnEnded")
    return None


def _note(executor: Executor, request: TurnRequest, host: TurnHost, tally: _Tally, event: Event) -> Failure | None:
    """Take one event into the tally; a failure ends the turn at once."""
    match event:
        case SessionStarted(session_id=session_id, model=model):
            failure = _wrong_session(executor, request, session_id)
            if failure is not None:
                return failure
            tally.session_id = session_id or tally.session_id
            tally.model = model or tally.model
        case TextDelta(text=text):
            tally.answered = True
            tally.add_text(text)
        case ToolStarted(id=call):
            tally.answered = True
            if call not in tally.open_tools:
                tally.open_tools.append(call)
                tally.tool_calls += 1
        case ToolFinished(id=call):
            if call in tally.open_tools:
                tally.open_tools.remove(call)
        case UsageReported():
            tally.answered = tally.answered or event.output > 0
            tally.usage = add_usage(tally.usage, event)
        case QuestionAsked():
            tally.answered = True
            tally.question = event
        case Retrying(next_in_s=next_in_s):
            host.extend_idle(next_in_s)
        case PermissionAsked():
            return _contract(executor, "yielded PermissionAsked; the host emits it")
        case TurnEnded():
            tally.ended = event
    return None


def _wrong_session(executor: Executor, request: TurnRequest, session_id: str) -> Failure | None:
    """Never "the latest session", never another run's: the one that was asked for, or none."""
    if session_id == request.session_id:
        return None
    if request.resume:
        return Failure(FailureKind.LOST_RESUME, f"asked for session {request.session_id}, got {session_id!r}")
    if Capability.CHOSEN_SESSION_ID in executor.capabilities:
        return _contract(executor, f"opened session {session_id!r} instead of the chosen {request.session_id}")
    return None if session_id else _contract(executor, "opened a session without an id")


def _contract(executor: Executor, what: str) -> Failure:
    return Failure(
        FailureKind.PROTOCOL,
        f"the driver {executor.name} broke the executor contract: it {what}; report it to the plugin's author",
    )


def _close(events: Iterator[Event] | None) -> str:
    close = getattr(events, "close", None)
    if close is None:
        return ""
    try:
        close()
    except Exception as error:  # noqa: BLE001 - plugin isolation: the processes are stopped by the host anyway
        return f"{type(error).__name__}: {error}"
    return ""


def _result(
    request: TurnRequest, host: TurnHost, tally: _Tally, failure: Failure | None, masker: Masker
) -> ExecutedTurn:
    text = tally.ended.text if tally.ended is not None else ""
    failure = failure or (tally.ended.failure if tally.ended is not None else None)
    if failure is not None and not text:
        text = tally.partial
    if failure is not None and host.cancelled and failure.kind is not FailureKind.CANCELLED:
        failure = Failure(FailureKind.CANCELLED, "cancelled while the turn was running")
    elif (
        request.resume and not tally.answered and not text.strip() and (failure is None or failure.kind in _EMPTY_KINDS)
    ):
        why = f": {failure.reason}" if failure is not None else ""
        failure = Failure(FailureKind.LOST_RESUME, f"session {request.session_id} answered nothing{why}")
    if failure is not None:
        failure = replace(failure, reason=masker.mask(failure.reason))
    return ExecutedTurn(
        text=masker.mask(text),
        failure=failure,
        session_id=tally.session_id,
        model=tally.model,
        usage=tally.usage,
        events_count=tally.events,
        tool_calls=tally.tool_calls,
        question=mask_event(masker, tally.question) if tally.question is not None else None,
        denials=tuple(mask_event(masker, asked) for asked in host.denied),
        duration_s=host.elapsed_s,
    )


def _record(record: TurnRecord, turn: int, event: Event) -> None:
    if isinstance(event, TextDelta):
        record.text(event.text)
    record.event(turn, type(event).__name__, asdict(event))
