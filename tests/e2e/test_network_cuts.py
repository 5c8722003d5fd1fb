"""The network cut at each remote call of a published run: a truthful end or a pause, and the next start goes on.

A call is one of git's, of up to three requests; a fault strikes its first request, or its last one where the answer is
what gets lost. With TOUCHLINE_KILLS=all every call of a two-turn run is struck in every way; without it a few calls of
a run of one turn; tests/forges/test_faults.py strikes each operation in every way.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from touchline.testing.forges.faults import FAULTS, Fault
from touchline.testing.repositories import git

EVERYTHING = os.environ.get("TOUCHLINE_KILLS") == "all"
CHUNKS = 4
AT_THE_END = ("lost", "halfway")
HEALED_BY_READING_AGAIN = ("reset", "lost", "halfway")
BRANCH = "touchline/set-the-value"

Call = tuple[int, int, bool]
"""First request, last request, whether it is a push; requests count from 1."""


def spelled(letters: str) -> list[Call]:
    """The calls of a run. r: a read of refs or objects, w: a push, t: the question whether pushes are taken."""
    calls: list[Call] = []
    at = 1
    for letter in letters:
        last = at + (1 if letter == "t" else 2)
        calls.append((at, last, letter != "r"))
        at = last + 1
    return calls


ONE_TURN = spelled("rtrrrrwrrwrrrrwr")
TWO_TURNS = spelled("rtrrrrwrrwrrrrwrrrrrrwr")


def calls_of(requests: list[str]) -> list[Call]:
    """The calls that the requests of a host belong to."""
    calls: list[Call] = []
    for number, request in enumerate(requests, 1):
        again = len(calls) > 0 and calls[-1][0] == calls[-1][1] and request == requests[number - 2]
        if request.startswith("POST") or again:  # `again`: the same once more, with the credential
            calls[-1] = (calls[-1][0], number, calls[-1][2])
        else:
            calls.append((number, number, "receive-pack" in request))
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(("turns", "calls"), [(1, ONE_TURN), (2, TWO_TURNS)][: 2 if EVERYTHING else 1])
def test_an_undisturbed_run_makes_the_calls_that_are_struck(
    make_scene: Any, attempt_of: Any, turns: int, calls: list[Call]
) -> None:
    with make_scene("scene", [attempt_of(1), attempt_of(3)][-turns:]) as scene:
        assert scene.run().block["STATUS"] == "APPROVED_DRAFT_OPEN"
        assert calls_of(scene.server.requests) == calls


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "call"),
    [("refused", ONE_TURN[9]), ("hang", ONE_TURN[10]), ("lost", ONE_TURN[6])],
)
@pytest.mark.skipif(EVERYTHING, reason="every call is struck below")
def test_a_cut_at_one_call_of_a_published_run_is_told_truthfully(
    make_scene: Any, attempt_of: Any, kind: Fault, call: Call
) -> None:
    with make_scene("scene", [attempt_of(3)]) as scene:
        strike(scene, kind, call, ["Set the value to 3"])


@pytest.mark.slow
@pytest.mark.skipif(not EVERYTHING, reason="TOUCHLINE_KILLS=all strikes every call in every way")
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("kind", FAULTS)
def test_a_cut_at_any_call_of_a_published_run_is_told_truthfully(
    make_scene: Any, attempt_of: Any, kind: Fault, chunk: int
) -> None:
    for call in TWO_TURNS[chunk::CHUNKS]:
        with make_scene(f"{kind}-{call[0]}", [attempt_of(1), attempt_of(3)]) as scene:
            strike(scene, kind, call, ["Set the value to 3", "Set the value to 1"])


def strike(scene: Any, kind: Fault, call: Call, subjects: list[str]) -> None:
    """One run with one fault, then, with everything mended, the next start."""
    first, last, push = call
    scene.server.fail(kind, last if kind in AT_THE_END else first)
    ran = scene.run()
    status = ran.block["STATUS"]
    where = f"{kind} at {call}: {ran.err[-3000:]}"
    assert scene.server.count >= first - (kind == "refused"), f"the run ended before it was struck: {where}"
    if kind == "lost" or (kind in HEALED_BY_READING_AGAIN and not push):
        assert status == "APPROVED_DRAFT_OPEN", f"read again, or a write looked up: {where}"
    if status == "FAILED_PUBLISH":
        assert "publishing failed: " in ran.err or "TURNS_USED: 0 of" in ran.out, where
    if status == "FAILED_RUN":
        assert all(ledger["terminal"] is None for ledger in scene.ledgers), where
    scene.server.heal()
    if status.startswith("APPROVED"):
        return
    before = set(git(scene.bare, "for-each-ref", "--format=%(refname)").split())
    again = scene.run()
    assert again.block["STATUS"] == "APPROVED_DRAFT_OPEN", f"{where}\n--- again ---\n{again.err[-3000:]}"
    (change,) = scene.door.changes()
    assert (change.state, change.source) == ("draft", BRANCH)
    assert before <= set(git(scene.bare, "for-each-ref", "--format=%(refname)").split())
    if status == "FAILED_RUN":
        assert git(scene.bare, "log", "--format=%s", f"main..{BRANCH}").splitlines() == subjects, "nothing twice"


def interrupted(scene: Any, at: int) -> tuple[int, bytes, bytes]:
    """Status, stdout and stderr of a run that gets a Ctrl-C while request `at` is not answered."""
    asked = threading.Event()
    scene.server.before = lambda number: asked.set() if number == at else None
    scene.server.fail("hang", at)
    with subprocess.Popen(
        [sys.executable, "-m", "touchline", "run", "--headless", "--no-ci"],
        cwd=scene.project.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert asked.wait(60)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert b"was cancelled" in err, "the call was ended; it did not run into its limit"
    scene.server.heal()
    return running.returncode, out, err


def test_an_interrupt_before_the_first_answer_ends_without_a_branch(make_scene: Any, attempt_of: Any) -> None:
    with make_scene("scene", [attempt_of(3)], timeout_s=300) as scene:
        status, out, err = interrupted(scene, 1)
        assert (status, b"STATUS: INTERRUPTED\n" in out) == (130, True), err.decode()
        assert scene.project.git("branch", "--show-current") == "main\n"


@pytest.mark.slow
@pytest.mark.parametrize("call", ONE_TURN[6:] if EVERYTHING else [ONE_TURN[14]])
def test_an_interrupt_while_the_host_does_not_answer_is_a_pause(make_scene: Any, attempt_of: Any, call: Call) -> None:
    with make_scene("scene", [attempt_of(3)], timeout_s=300) as scene:
        status, out, err = interrupted(scene, call[0])
        assert (status, b"STATUS: INTERRUPTED\n" in out) == (130, True), err.decode()
        (ledger,) = scene.ledgers
        assert (ledger["terminal"], ledger["run"]["publishFailure"]) == (None, None), "nothing failed to publish"
        assert scene.run().block["STATUS"] == "APPROVED_DRAFT_OPEN"
        assert git(scene.bare, "log", "--format=%s", f"main..{BRANCH}").splitlines() == ["Set the value to 3"]
