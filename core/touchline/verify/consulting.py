"""Asking one verifier for its answer: an executor in a session of its own, or a command (spec page 5).

Never resumes anything: each question opens a fresh session, so that no verifier sees a player's session or judges
on advice that it gave before. A malformed answer is asked for once again, then it is honestly BLOCKED.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal

from touchline.errors import ProcessError, TouchlineError
from touchline.execution import execute_turn, settle_turn
from touchline.executor import Executor, Limits, TurnRequest
from touchline.git.repository import Repository
from touchline.process import run as run_process
from touchline.process.environment import clean_environment
from touchline.state import make_private_folder
from touchline.turn.masking import Masker
from touchline.turn.record import TurnRecord
from touchline.turn.text import tail
from touchline.verify.answers import Answer, last_object, read_answer
from touchline.verify.request import Verifier, VerifyServices

ATTEMPTS = 2
SHORTEST_S = 1.0
TAIL_KEPT = 2000
_COMMAND_OUTPUT_BYTES = 8 * 1024 * 1024

Purpose = Literal["judge", "exerciser"]
Word = Literal["ANSWERED", "PASSED", "FAILED", "BLOCKED", "NOT_RUN"]


@dataclass(frozen=True, slots=True)
class Consulted(Generic[Answer]):
    """What came of it. ANSWERED has an `answer`; PASSED and FAILED are exit statuses of a command without one.

    BLOCKED: it ran and gave nothing usable; NOT_RUN: it could not be started. `notes` say why, for a person.
    """

    word: Word
    notes: str = ""
    answer: Answer | None = None
    tool_calls: int | None = None
    """What an executor did before it answered, as far as its driver tells; None for a command."""


@dataclass(frozen=True, slots=True)
class _NoAnswer:
    word: Word
    notes: str


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    tool_calls: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a verifier works, and what it may know of the turn."""

    repo: Repository
    head_sha: str
    folder: Path
    """Private to this verifier: its record or its output."""
    task_id: str
    turn: int
    readable: tuple[Path, ...]
    """What lies outside the work tree and belongs to the task."""
    deadline: float
    """On the monotonic clock; the end of the whole verification run."""
    facts: dict[str, str] = field(default_factory=dict)
    """Environment variables for a command."""

    def left_s(self, timeout_s: float) -> float:
        """Seconds that a verifier with this limit may still take."""
        return min(timeout_s, self.deadline - time.monotonic())


def consult(
    verifier: Verifier,
    model: type[Answer],
    ask: Callable[[str], str],
    place: Place,
    services: VerifyServices,
    *,
    purpose: Purpose,
    missing: Callable[[Answer], str] = lambda answer: "",
) -> Consulted[Answer]:
    """The answer of `verifier`. `ask(complaint)` gives the prompt; commands get it on standard input.

    `missing` says what a well-formed answer leaves out, "" for a whole one.
    """
    if verifier.problem:
        return Consulted("NOT_RUN", verifier.problem)
    if verifier.executor is not None:
        problem = _not_ready(verifier.executor)
        if problem:
            return Consulted("NOT_RUN", problem)
    complaint = ""
    for attempt in range(1, ATTEMPTS + 1):
        if services.cancel.is_set():
            return Consulted("NOT_RUN", "the run was cancelled")
        left_s = place.left_s(verifier.timeout_s)
        if left_s < SHORTEST_S:
            return Consulted("NOT_RUN", "the time of this verification is used up")
        prompt = ask(complaint)
        if verifier.executor is not None:
            said = _turn(verifier, verifier.executor, prompt, place, services, left_s, attempt, purpose)
        else:
            said = _command(verifier, prompt, place, services, left_s, attempt)
        if isinstance(said, _NoAnswer):
            return Consulted(said.word, said.notes)
        answer = read_answer(said.text, model)
        complaint = answer if isinstance(answer, str) else missing(answer)
        if not isinstance(answer, str) and not complaint:
            return Consulted("ANSWERED", answer=answer, tool_calls=said.tool_calls)
        services.say(f"{verifier.name}: {complaint}" + ("; asking once again" if attempt < ATTEMPTS else ""))
    return Consulted("BLOCKED", f"{ATTEMPTS} answers could not be used: {complaint}")


def _not_ready(executor: Executor) -> str:
    try:
        ready = executor.check()
    except Exception as error:  # noqa: BLE001 - plugin isolation: a driver's defect makes a verifier unavailable
        return f"the driver {executor.name} could not be asked whether it is ready: {type(error).__name__}: {error}"
    return f"{executor.name}: {ready.hindrance}. {ready.fix}".rstrip(" ") if ready.hindrance else ""


def _turn(
    verifier: Verifier,
    executor: Executor,
    prompt: str,
    place: Place,
    services: VerifyServices,
    left_s: float,
    attempt: int,
    purpose: Purpose,
) -> _Said | _NoAnswer:
    """The final text of one turn in a session of its own."""
    folder = place.folder / f"attempt-{attempt}"
    scratch = folder / "scratch"
    make_private_folder(scratch)
    request = TurnRequest(
        task_id=place.task_id,
        role="verifier",
        prompt=prompt,
        cwd=place.repo.work_tree,
        session_id=str(uuid.uuid4()),
        scratch=scratch,
        readable=place.readable,
        limits=Limits(wall_s=left_s, idle_s=min(verifier.idle_s, left_s)),
        model=verifier.model,
        turn=max(place.turn, 1),
        purpose=purpose,
    )
    try:
        with TurnRecord(folder, services.secrets) as record:
            executed = execute_turn(
                executor,
                request,
                record=record,
                permit=services.permit,
                cancel=services.cancel,
                run_id=services.run_id,
                secrets=services.secrets,
            )
    finally:
        # Nothing ever resumes this session, and a driver may have put credentials there.
        shutil.rmtree(scratch, ignore_errors=True)
    settled = settle_turn(executor, executed, role="verifier", repo=place.repo, start_commit=place.head_sha)
    if settled.ok:
        return _Said(settled.text, executed.tool_calls)
    if settled.kind == "asked":
        return _NoAnswer("BLOCKED", f"it asked instead of answering: {tail(settled.question, TAIL_KEPT)}")
    return _NoAnswer("BLOCKED", f"{settled.kind}: {tail(settled.fail_reason, TAIL_KEPT)}")


def _command(
    verifier: Verifier, prompt: str, place: Place, services: VerifyServices, left_s: float, attempt: int
) -> _Said | _NoAnswer:
    """The JSON that a command printed, or what its exit status says by itself."""
    make_private_folder(place.folder)
    output = place.folder / f"attempt-{attempt}.log"
    try:
        done = run_process(
            list(verifier.command),
            cwd=place.repo.work_tree,
            env=clean_environment(os.environ, run_id=services.run_id, add=place.facts),
            stdin=prompt.encode("utf-8", "replace"),
            timeout_s=left_s,
            max_output_bytes=_COMMAND_OUTPUT_BYTES,
            keep="tail",
            output_path=output,
            supervised=True,
            run_id=services.run_id,
            cancel=services.cancel,
        )
    except ProcessError as error:
        return _NoAnswer("NOT_RUN", _message(error))
    masker = Masker(services.secrets)
    stdout = masker.mask(done.stdout.decode("utf-8", "replace"))
    if done.ending != "exited":
        return _NoAnswer("BLOCKED", f"it did not end by itself ({done.ending}) within {left_s:.0f} s")
    if last_object(stdout) is not None:
        return _Said(stdout)
    said = tail((stdout + "\n" + masker.mask(done.stderr.decode("utf-8", "replace"))).strip(), TAIL_KEPT)
    if done.returncode == 0:
        return _NoAnswer("PASSED", said or "exit status 0")
    return _NoAnswer("FAILED", f"exit status {done.returncode}: {said}")


def _message(error: TouchlineError) -> str:
    return f"{error.what}. {error.fix}".strip()
