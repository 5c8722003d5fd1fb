"""Driver for grok (spec page 2, "grok"): headless streaming-json, with a PreToolUse hook that asks the run's policy.

One process tree a turn: our bridge, below it `grok`, below that our hook for each tool call. A denial goes back with
its reason, which the model sees in the same turn. grok approves everything by itself, so that only rules and the hook
refuse; that the hook spoke is proved before anything of the turn is believed, and for every call that ran. The session
id is ours. The hook comes with an agent definition in the run's private folder; the user's home is used in place.

Not kept: a user's own default agent (config `agent`) is replaced by grok's; an API that tells no usage cannot be used,
since grok reports an answer that was cut off as a whole one.
"""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from touchline.agent_cli.failures import without_result
from touchline.agent_cli.readiness import ONLY_LOOPBACK, judge_version
from touchline.agent_cli.reading import read_turn, send
from touchline.api import (
    API_VERSION,
    Capability,
    Event,
    ExecutorHost,
    ExecutorSettings,
    Failure,
    FailureKind,
    PermissionAnswer,
    ProcessError,
    Program,
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
from touchline_grok import bridge, hook
from touchline_grok.asked import HARMLESS, PATH_FIELDS, READING, REFUSED, normalised
from touchline_grok.hooking import agent_definition
from touchline_grok.outcome import SIGNS
from touchline_grok.stream import GrokStream, HookCall, HookHeard

OLDEST = (1, 0, 41)
"""The oldest version that was driven; an older one is refused, since its hooks are not known to us."""

ENVIRONMENT = {
    "GROK_DISABLE_AUTOUPDATER": "1",
    "GROK_TURN_SUMMARY": "0",
    "GROK_TITLE_REFRESH": "0",
    "GROK_TURN_TRANSIENT_RETRY": "0",
    "GROK_MAX_RETRIES": "3",
}
"""No self-update in the middle of a run, no model calls beside the turn, and retries that end: they are silent."""

DENIED = ("Bash(git push*)",)
DENIED_TO_VERIFIERS = ("Edit", "Write")
"""What no turn of this role may do, as rules of grok's own: they hold even where a hook fails."""

OWN_MODEL = "grok-4.6"
"""A model that the CLI knows without any configuration."""

BRIDGE = (sys.executable, "-I", "-S", bridge.__file__)
KEYS = ("XAI_API_KEY", "GROK_CODE_XAI_API_KEY", "GROK_DEPLOYMENT_KEY")
CHECK_S = 20.0


class GrokExecutor:
    """`grok` on PATH, or the configured command. `bridge` is the program that runs it and answers its hook."""

    name = "grok"
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

    def __init__(
        self,
        settings: ExecutorSettings | None = None,
        *,
        bridge: tuple[str, ...] = BRIDGE,
        check_s: float = CHECK_S,
    ) -> None:
        self._settings = settings or ExecutorSettings()
        self._bridge = bridge
        self._check_s = check_s
        self._command = self._settings.command or ("grok",)

    def check(self) -> Readiness:
        """The version, as the CLI tells it, and whether a login or a key is there; no model is called."""
        environment = self._environment()
        try:
            done = run_program(
                [*self._command, "--version"],
                cwd=Path(tempfile.gettempdir()),
                env=environment,
                timeout_s=self._check_s,
            )
        except ProcessError as error:
            fix = "npm install -g @xai-official/grok, or set executors.grok.command"
            return Readiness(installed=False, problem=error.what, fix=fix)
        version = done.stdout.decode("utf-8", "replace")
        judged = judge_version(version, command=self._command[0], oldest=OLDEST, name=self.name, update="grok update")
        if judged.problem:
            return judged
        return Readiness(True, judged.version, _logged_in(environment))

    def rehearsal(self, model_url: str) -> Rehearsal:
        """The address of the local model for grok's own models, and one of those instead of the user's choice."""
        env = {
            "XAI_API_KEY": "rehearsal-without-a-key",
            "GROK_XAI_API_BASE_URL": f"{model_url}/v1",
            "GROK_CLI_CHAT_PROXY_BASE_URL": f"{model_url}/v1",
            "GROK_TELEMETRY_ENABLED": "0",
            "GROK_TELEMETRY_TRACE_UPLOAD": "0",
            **ONLY_LOOPBACK,
        }
        return Rehearsal("openai-responses", env, ("--model", OWN_MODEL))

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        """One bridge: the order goes in, events come out, hook calls are decided in between."""
        if not _is_uuid(request.session_id):
            kind = FailureKind.LOST_RESUME if request.resume else FailureKind.PROTOCOL
            yield TurnEnded("", Failure(kind, f"{request.session_id!r} is no session id of grok"))
            return
        environment = {**ENVIRONMENT, **self._own_retries(), **self._settings.env}
        with (
            tempfile.TemporaryDirectory(prefix="grok-", dir=_scratch(request)) as folder,
            host.start(self._bridge, stdin=None, env=environment, unset=self._settings.env_remove) as child,
        ):
            send(child, self._order(request, Path(folder)))
            yield from self.read_program(request, child, host)

    def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
        """What the bridge prints, as events; hook calls are decided."""
        stream = GrokStream(session_id=request.session_id)

        def handle(line: str) -> Iterator[Event]:
            for item in stream.feed(line):
                if isinstance(item, HookCall):
                    answer = _decide(item, host)
                    if not answer.allowed:
                        stream.deny(item.call_id)
                    send(program, _decision(item.number, answer))
                elif isinstance(item, HookHeard):
                    send(program, {"id": item.number, "decision": "allow"})
                else:
                    yield item

        def lost() -> Failure:
            status = program.returncode if stream.status is None else stream.status
            return without_result(program.ending, status, program.stderr_tail, name="grok", signs=SIGNS)

        yield from read_turn(
            program,
            handle,
            lambda: stream.result,
            # After a failure of the turn there is nothing to wait for; a hook that did not run must end it at once.
            grace_s=lambda end: request.limits.grace_s if end.failure is None else 0.0,
            without_result=lost,
        )

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        """The shared default: the CLI's own question tool is removed, so there is no guard to add."""
        return question_or_silent(session_id, text, question)

    def _order(self, request: TurnRequest, folder: Path) -> dict[str, object]:
        places = [str(place) for place in (request.cwd, *request.readable)]
        argv = self._argv(request, folder)
        return {"argv": argv, "folder": str(folder), "readable": places, "path_fields": PATH_FIELDS}

    def _argv(self, request: TurnRequest, folder: Path) -> list[str]:
        """The CLI's command line; prompt and hook are files in the turn's private folder."""
        prompt, agent = folder / "prompt.txt", folder / "agent.md"
        # A prompt that begins with a slash would be a command of the CLI's.
        text = f"\n{request.prompt}" if request.prompt.startswith("/") else request.prompt
        prompt.write_text(text, encoding="utf-8", errors="replace", newline="")
        agent.write_text(
            agent_definition(python=sys.executable, hook=Path(hook.__file__), folder=folder, refused=REFUSED),
            encoding="utf-8",
        )
        session = "--resume" if request.resume else "--session-id"
        argv = [*self._command, "--output-format", "streaming-json", "--always-approve", "--verbatim"]
        argv += [session, request.session_id, "--prompt-file", str(prompt), "--agent", str(agent)]
        argv += ["--no-subagents", "--no-plan"]
        for rule in (*DENIED, *(DENIED_TO_VERIFIERS if request.role == "verifier" else ())):
            argv += ["--deny", rule]
        model = request.model or self._settings.model
        if model and "--model" not in self._settings.extra_args:
            argv += ["--model", model]
        return [*argv, *self._settings.extra_args]

    def _own_retries(self) -> dict[str, str]:
        """The user's own choice of retries goes before ours."""
        names = ("GROK_TURN_TRANSIENT_RETRY", "GROK_MAX_RETRIES")
        return {name: os.environ[name] for name in names if os.environ.get(name)}

    def _environment(self) -> dict[str, str]:
        return clean_environment(
            os.environ, remove=self._settings.env_remove, add={**ENVIRONMENT, **self._settings.env}
        )


def _decide(call: HookCall, host: ExecutorHost) -> PermissionAnswer:
    """Reading where the turn may read is free; everything else that can change something is asked."""
    if call.truncated:
        return PermissionAnswer(False, "touchline: the call is too long to be judged; make it shorter")
    if call.tool in REFUSED:
        return PermissionAnswer(False, f"touchline: {call.tool} is not offered here; do the work in this session")
    if call.tool in HARMLESS or (call.tool in READING and call.inside):
        return PermissionAnswer(True)
    return host.permit(normalised(call.tool, call.input, call.call_id))


def _decision(number: int, answer: PermissionAnswer) -> dict[str, object]:
    if answer.allowed:
        return {"id": number, "decision": "allow"}
    return {"id": number, "decision": "deny", "reason": answer.reason or "denied by the run's policy"}


def _logged_in(environment: Mapping[str, str]) -> bool | None:
    """True where a login or a key is there; None otherwise, since a model of the configuration may have its own."""
    home = Path(environment.get("GROK_HOME") or Path(environment.get("HOME", "/")) / ".grok")
    return True if any(environment.get(key) for key in KEYS) or (home / "auth.json").is_file() else None


def _scratch(request: TurnRequest) -> Path:
    request.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    return request.scratch


def _is_uuid(session_id: str) -> bool:
    try:
        return str(uuid.UUID(session_id)) == session_id.lower()
    except ValueError:
        return False
