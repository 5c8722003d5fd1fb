from __future__ import annotations

import re

import pytest

from touchline.agent_cli.failures import REASON_TEXT, without_result
from touchline.api import Ending, FailureKind

SIGNS = (
    (re.compile("gone"), FailureKind.LOST_RESUME, "the session is gone"),
    (re.compile("unknown"), FailureKind.PROTOCOL, "too old"),
)


@pytest.mark.parametrize(
    ("ending", "status", "stderr", "kind", "reason"),
    [
        ("wall", None, "gone", FailureKind.TIMEOUT, "the turn's time was over before it gave a result: gone"),
        ("idle", None, "", FailureKind.STALLED, "it was silent for too long"),
        ("cancelled", -2, "gone", FailureKind.CANCELLED, "it was stopped"),
        ("exited", 1, "unknown, gone", FailureKind.LOST_RESUME, "the session is gone: unknown, gone"),
        ("exited", 0, " unknown\n", FailureKind.PROTOCOL, "too old: unknown"),
        ("exited", 0, "", FailureKind.LOST_RESULT, "it exited with status 0 but gave no result"),
        ("exited", 3, "words", FailureKind.CRASHED, "it exited with status 3 without a result: words"),
        ("exited", -9, "", FailureKind.CRASHED, "it was killed by signal 9"),
        ("lost", None, "", FailureKind.LOST_RESULT, "how it ended is not known (lost)"),
    ],
)
def test_every_end_without_a_result_is_a_failure(
    ending: Ending, status: int | None, stderr: str, kind: FailureKind, reason: str
) -> None:
    failure = without_result(ending, status, stderr, name="it", signs=SIGNS)
    assert (failure.kind, failure.reason) == (kind, reason)


def test_a_reason_quotes_the_end_of_what_was_said() -> None:
    failure = without_result("exited", 1, "x" * 5000 + "the cause")
    assert failure.reason.endswith("the cause")
    assert len(failure.reason) < REASON_TEXT + 100
