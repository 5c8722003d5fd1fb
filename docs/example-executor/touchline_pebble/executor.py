"""The driver: starts pebble under touchline's process host and answers its permission requests."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator

from touchline.agent_cli.failures import without_result
from touchline.api import (
    API_VERSION,
    Capability,
    Event,
    ExecutorHost,
    ExecutorSettings,
    Notice,
    PermissionAsked,
    ProcessError,
    QuestionAsked,
    Readiness,
    Rehearsal,
    TurnEnded,
    TurnRequest,
    TurnSettlement,
    clean_environment,
    question_or_silent,
    run_program,
)
from touchline_pebble.stream import events_of


class PebbleExecutor:
    """`pebble` on PATH, or the configured command."""

    name = "pebble"
    api_version = API_VERSION
    capabilities = frozenset(
        {
            Capability.RESUME,
            Capability.CHOSEN_SESSION_ID,
            Capability.PERMISSION_GATE,
            Capability.DENY_REASON,
            Capability.USAGE,
            Capability.MODEL_NAME,
            Capability.INTERRUPT,
        }
    )

    def __init__(self, settings: ExecutorSettings | None = None) -> None:
        self._settings = settings or ExecutorSettings()
        self._command = self._settings.command or ("pebble",)

    def check(self) -> Readiness:
        """Whether the program is there; no model is called."""
        try:
            done = run_program(
                [*self._command, "--version"],
                cwd=tempfile.gettempdir(),
                env=clean_environment(os.environ),
                timeout_s=10,
            )
        except ProcessError as error:
            return Readiness(installed=False, problem=error.what, fix="pip install touchline-pebble")
        return Readiness(installed=done.returncode == 0, version=done.stdout.decode("utf-8", "replace").strip())

    def rehearsal(self, model_url: str) -> Rehearsal:
        """How `touchline rehearse` turns pebble to its local model; optional."""
        return Rehearsal("anthropic-messages", {"PEBBLE_URL": model_url})

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        """One process a turn: the prompt goes in through standard input, never through the command line."""
        sessions = request.scratch / "pebble"
        sessions.mkdir(mode=0o700, exist_ok=True)
        asked = {
            "prompt": request.prompt,
            "session_file": str(sessions / f"{request.session_id}.json"),
            "resume": request.resume,
        }
        model = request.model or self._settings.model
        env = {**self._settings.env, **({"PEBBLE_MODEL": model} if model else {})}
        argv = [*self._command, *self._settings.extra_args]
        with host.start(argv, stdin=None, env=env, unset=self._settings.env_remove) as child:
            child.write(json.dumps(asked).encode() + b"\n")
            for line in child.lines():
                if line.late or line.oversized:
                    yield Notice("a line that came late or was too long was dropped")
                    continue
                for event in events_of(line.text, request.session_id):
                    if isinstance(event, PermissionAsked):
                        answer = host.permit(event)
                        told = {"allowed": answer.allowed, "reason": answer.reason}
                        child.write(json.dumps(told).encode() + b"\n")
                    elif isinstance(event, TurnEnded):
                        child.finish(request.limits.grace_s)
                        yield event
                        return
                    else:
                        yield event
            yield TurnEnded("", without_result(child.ending, child.returncode, child.stderr_tail, name="pebble"))

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        """The default of every driver."""
        return question_or_silent(session_id, text, question)
