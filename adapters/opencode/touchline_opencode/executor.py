"""Driver for opencode (spec page 2, "opencode"): its server, its event stream and its message list, on loopback.

One process tree a turn: our bridge and below it `opencode serve`. Every tool that can change something is asked of the
run's policy, whatever the user's rules allow; their denials stay. A denial goes back with its reason, which the model
sees. opencode chooses the session id. On a stop the host interrupts the tree; the session stays usable.

Not kept: opencode asks about the commands in a shell line, so a line without any (`> file`, or `cd` alone) runs
without a question and can at most empty or make a file. A program that the policy allows runs as the user.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
    Notice,
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
from touchline_opencode import bridge
from touchline_opencode.rules import session_rules
from touchline_opencode.stream import Abort, OpencodeStream, PermissionRequest, RulesWanted

OLDEST = (1, 18, 33)
"""The oldest version that was driven; the interface of an older one is not known to us."""

ENVIRONMENT = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
"""No self-update in the middle of a run."""
JUDGING = {"OPENCODE_DISABLE_PROJECT_CONFIG": "1", "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT": "1"}
"""A verifier reads no settings, plugins or memory that the work being judged could have written."""

BRIDGE = (sys.executable, "-I", "-S", bridge.__file__)
REPEATS = 10
"""How often the server may point out that the same call is made again until it is refused."""
REPEATED = "touchline: the same call was made many times with the same result; do something else"
CHECK_S = 20.0
_SESSION_ID = re.compile(r"ses[A-Za-z0-9_]{1,100}", re.ASCII)


class OpencodeExecutor:
    """`opencode` on PATH, or the configured command. `bridge` is the program that speaks to the server."""

    name = "opencode"
    api_version = API_VERSION
    capabilities = frozenset(
        {
            Capability.RESUME,
            Capability.PERMISSION_GATE,
            Capability.DENY_REASON,
            Capability.USAGE,
            Capability.COST,
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
        self._command = self._settings.command or ("opencode",)

    def check(self) -> Readiness:
        """Version and stored logins, as the CLI itself tells them; no model is called."""
        try:
            version = self._ask("--version")
        except ProcessError as error:
            fix = "npm install -g opencode-ai, or set executors.opencode.command"
            return Readiness(installed=False, problem=error.what, fix=fix)
        judged = judge_version(
            version, command=self._command[0], oldest=OLDEST, name=self.name, update="opencode upgrade"
        )
        if judged.problem:
            return judged
        return Readiness(True, judged.version, self._logged_in())

    def rehearsal(self, model_url: str) -> Rehearsal:
        """A provider of its own at the local model, laid over the user's configuration by the environment."""
        provider, _, model = (self._settings.model or "rehearsal/scripted").partition("/")
        known = {"name": model, "tool_call": True, "limit": {"context": 200_000, "output": 8192}}
        options = {"baseURL": f"{model_url}/v1", "apiKey": "rehearsal-without-a-key"}
        entry = {"npm": "@ai-sdk/openai-compatible", "name": provider, "options": options, "models": {model: known}}
        chosen = f"{provider}/{model}"
        configuration = {
            "model": chosen,
            "small_model": chosen,
            "enabled_providers": [provider],
            "share": "disabled",
            "provider": {provider: entry},
        }
        env = {
            "OPENCODE_CONFIG_CONTENT": json.dumps(configuration),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            **ONLY_LOOPBACK,
        }
        return Rehearsal("openai-chat", env)

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        """One bridge: the order goes in, events come out, rules and permissions are answered in between."""
        if request.resume and not _SESSION_ID.fullmatch(request.session_id):
            reason = f"{request.session_id!r} is no session of opencode"
            yield TurnEnded("", Failure(FailureKind.LOST_RESUME, reason))
            return
        environment = {**ENVIRONMENT, **self._settings.env, **(JUDGING if request.role == "verifier" else {})}
        with host.start(self._bridge, stdin=None, env=environment, unset=self._settings.env_remove) as child:
            send(child, self._order(request))
            yield from self.read_program(request, child, host)

    def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
        """What the bridge prints, as events; what it waits for is answered."""
        session = request.session_id if request.resume else ""
        stream = OpencodeStream(session_id=session, resumed=request.resume)
        answers = _Answers(host)

        def handle(line: str) -> Iterator[Event]:
            for item in stream.feed(line):
                if isinstance(item, PermissionRequest):
                    answer = answers.of(item)
                    stream.replied(item, allowed=answer.allowed)
                    send(program, _reply(item, answer))
                elif isinstance(item, RulesWanted):
                    send(program, {"rules": session_rules(item.agents, item.default)})
                elif isinstance(item, Abort):
                    send(program, {"abort": True})
                    yield Notice(f"the turn is aborted: {item.reason}")
                else:
                    yield item

        yield from read_turn(
            program,
            handle,
            lambda: stream.result,
            grace_s=lambda _: request.limits.grace_s,
            without_result=lambda: without_result(
                program.ending, program.returncode, program.stderr_tail, name="opencode"
            ),
            name="the server",
        )

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        """The shared default: the CLI's own question tool is refused, so there is no guard to add."""
        return question_or_silent(session_id, text, question)

    def _order(self, request: TurnRequest) -> dict[str, Any]:
        return {
            "command": self._command,
            "arguments": self._settings.extra_args,
            "session": request.session_id if request.resume else "",
            "title": f"touchline {request.task_id}",
            "model": request.model or self._settings.model or "",
            "prompt": request.prompt,
            "readable": [str(place) for place in request.readable],
        }

    def _logged_in(self) -> bool | None:
        """Whether a login is stored; None where a key may come from the environment or the configuration."""
        try:
            listed = self._ask("auth", "list")
        except ProcessError:
            return None
        found = re.search(r"\b(\d+) credentials?\b", listed)
        return True if found is not None and int(found[1]) else None

    def _ask(self, *arguments: str) -> str:
        environment = clean_environment(
            os.environ, remove=self._settings.env_remove, add={**ENVIRONMENT, **self._settings.env}
        )
        done = run_program(
            [*self._command, *arguments], cwd=Path(tempfile.gettempdir()), env=environment, timeout_s=self._check_s
        )
        return done.stdout.decode("utf-8", "replace")


class _Answers:
    """Answers to the permission requests of one turn."""

    def __init__(self, host: ExecutorHost) -> None:
        self._host = host
        self._given: dict[object, PermissionAnswer] = {}
        self._repeats = 0

    def of(self, request: PermissionRequest) -> PermissionAnswer:
        """The answer; a call that asks twice, for its folder and for itself, gets the same one."""
        asked = request.asked
        if request.repeats:
            self._repeats += 1
            return PermissionAnswer(self._repeats < REPEATS, REPEATED)
        if request.reading and request.inside:
            return PermissionAnswer(True)
        key = (asked.id, asked.tool, asked.command, asked.paths)
        if key not in self._given:
            self._given[key] = self._host.permit(asked)
        return self._given[key]


def _reply(request: PermissionRequest, answer: PermissionAnswer) -> dict[str, object]:
    if answer.allowed:
        return {"permission": request.request_id, "reply": "once"}
    reason = answer.reason or "denied by the run's policy"
    return {"permission": request.request_id, "reply": "reject", "message": reason}
