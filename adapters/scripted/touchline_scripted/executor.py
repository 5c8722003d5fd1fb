"""Driver that plays a script (spec page 2, "scripted"): deterministic, without a model, in a real child process."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from touchline.agent_cli.failures import without_result
from touchline.agent_cli.reading import send
from touchline.api import (
    API_VERSION,
    Capability,
    ConfigError,
    Event,
    ExecutorHost,
    ExecutorSettings,
    Failure,
    FailureKind,
    Notice,
    PermissionAsked,
    Program,
    QuestionAsked,
    Readiness,
    TurnEnded,
    TurnRequest,
    TurnSettlement,
    question_or_silent,
)
from touchline_scripted import runner
from touchline_scripted.script import Script, load
from touchline_scripted.stream import read

DEFAULT_SCRIPT = "oracle"
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


class ScriptedExecutor:
    """Plays the script named by `ExecutorSettings.script`: a shipped name or the path of a YAML file."""

    name = "scripted"
    api_version = API_VERSION
    capabilities = frozenset(
        {
            Capability.RESUME,
            Capability.CHOSEN_SESSION_ID,
            Capability.PERMISSION_GATE,
            Capability.DENY_REASON,
            Capability.USAGE,
            Capability.COST,
            Capability.MODEL_NAME,
            Capability.INTERRUPT,
            Capability.NATIVE_QUESTION,
        }
    )

    def __init__(self, settings: ExecutorSettings | None = None) -> None:
        self._settings = settings or ExecutorSettings()
        self._script_name = self._settings.script or DEFAULT_SCRIPT

    def check(self) -> Readiness:
        """Whether the script can be read; there is nothing to install and nobody to log in."""
        try:
            script = load(self._script_name)
        except ConfigError as error:
            return Readiness(True, problem=error.what, fix=error.fix)
        return Readiness(True, version=f"script {script.name}", logged_in=True)

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        """One process that plays the steps of this part and turn."""
        if not _SESSION_ID.fullmatch(request.session_id):
            yield TurnEnded("", Failure(FailureKind.PROTOCOL, f"not usable as a session id: {request.session_id!r}"))
            return
        try:
            turn = self._turn(request, load(self._script_name))
        except ConfigError as error:
            yield TurnEnded("", Failure(FailureKind.PROTOCOL, str(error)))
            return
        if isinstance(turn, Failure):
            yield TurnEnded("", turn)
            return
        argv = [*(self._settings.command or (sys.executable, "-I", "-S")), runner.__file__]
        with host.start(argv, stdin=None, env=self._settings.env, unset=self._settings.env_remove) as child:
            send(child, turn)
            yield from self.read_program(request, child, host)

    def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
        """What the runner prints, as events; its permission requests are answered."""
        end: TurnEnded | None = None
        for line in program.lines():
            if line.late or line.oversized:
                yield Notice(f"{'late' if line.late else 'oversized'} output was not accepted")
                continue
            event = read(line.text)
            if isinstance(event, PermissionAsked):
                answer = host.permit(event)
                send(program, {"allowed": answer.allowed, "reason": answer.reason})
            elif isinstance(event, TurnEnded):
                end = event
                break
            else:
                yield event
        if end is not None:
            program.finish(request.limits.grace_s)
        yield end or TurnEnded(
            "", without_result(program.ending, program.returncode, program.stderr_tail, name="the script")
        )

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        """The shared default; a native question goes before the text."""
        return question_or_silent(session_id, text, question)

    def _turn(self, request: TurnRequest, script: Script) -> dict[str, object] | Failure:
        """What the runner is told; or why the session cannot be continued."""
        session = request.scratch / "scripted" / f"{request.session_id}.jsonl"
        if request.resume and not session.is_file():
            return Failure(FailureKind.LOST_RESUME, f"there is no session {request.session_id}")
        session.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        resumes = _turns_so_far(session) if request.resume else 0
        part = request.purpose if request.role == "verifier" and request.purpose != "work" else request.role
        return {
            "steps": script.steps(part, turn=request.turn, resumes=resumes),
            "model": request.model or self._settings.model or script.model,
            "prompt": request.prompt,
            "role": request.role,
            "turn": request.turn,
            "task_id": request.task_id,
            "session_id": request.session_id,
            "session_file": str(session),
            "cwd": str(request.cwd),
        }


def _turns_so_far(session: Path) -> int:
    return sum('"prompt"' in line[:12] for line in session.read_text(encoding="utf-8").splitlines())
