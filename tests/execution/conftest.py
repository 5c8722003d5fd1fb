"""Drivers written for the tests: each yields what it is told, so that the core's part can be seen alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from touchline.api import (
    API_VERSION,
    Capability,
    Event,
    ExecutorHost,
    Limits,
    PermissionAnswer,
    PermissionAsked,
    QuestionAsked,
    Readiness,
    TurnRequest,
    TurnSettlement,
    question_or_silent,
)
from touchline.execution import ExecutedTurn, execute_turn

Body = Callable[[TurnRequest, ExecutorHost], Iterable[Event]]


class PlainDriver:
    """Runs the given function as its turn."""

    name = "plain"
    api_version = API_VERSION

    def __init__(self, body: Body, capabilities: Iterable[Capability] = tuple(Capability)) -> None:
        self._body = body
        self.capabilities = frozenset(capabilities)
        self.closed = False

    def check(self) -> Readiness:
        return Readiness(True, "1")

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        try:
            yield from self._body(request, host)
        finally:
            self.closed = True

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        return question_or_silent(session_id, text, question)


@pytest.fixture
def request_for(tmp_path: Path) -> Callable[..., TurnRequest]:
    def make(*, resume: bool = False, limits: Limits | None = None, session_id: str = "s-1") -> TurnRequest:
        return TurnRequest(
            "task-1",
            "player",
            "Do it.",
            tmp_path,
            session_id,
            tmp_path,
            resume=resume,
            limits=limits or Limits(wall_s=20, idle_s=10, grace_s=1),
        )

    return make


def _allow(asked: PermissionAsked) -> PermissionAnswer:
    return PermissionAnswer(True)


@pytest.fixture
def execute(request_for: Callable[..., TurnRequest]) -> Callable[..., ExecutedTurn]:
    """Run a turn; events given as a list, or a whole driver."""

    def run(
        events: PlainDriver | list[object], *, resume: bool = False, limits: Limits | None = None, **options: object
    ) -> ExecutedTurn:
        driver = events if isinstance(events, PlainDriver) else PlainDriver(lambda request, host: events)  # type: ignore[arg-type,return-value]
        options.setdefault("permit", _allow)
        return execute_turn(driver, request_for(resume=resume, limits=limits), **options)  # type: ignore[arg-type]

    return run


@pytest.fixture
def driver() -> type[PlainDriver]:
    return PlainDriver
