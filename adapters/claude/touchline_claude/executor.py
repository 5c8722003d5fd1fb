"""Driver for Claude Code (spec page 2, "claude"): stream-json both ways over stdio, with permission control.

One process a turn. Standard input stays open until the result (the CLI loses the end of a long output otherwise),
permissions are answered on it, and the session's id is ours. Shell and edit tools always ask, whatever allow rules
and hooks the user or the repository has: the run's policy answers. A verifier reads no project settings or memory,
which the work being judged could have written. On a stop the host interrupts the process, which ends its tools and
keeps the session usable. Not asked for: tools of MCP servers that the user's own rules allow.
"""

from __future__ import annotations

import json
import os
import re
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
    Notice,
    PermissionAnswer,
    ProcessError,
    Program,
    QuestionAsked,
    Readiness,
    Rehearsal,
    TurnRequest,
    TurnSettlement,
    clean_environment,
    question_or_silent,
    run_program,
)
from touchline_claude.outcome import LOGIN, SIGNS
from touchline_claude.stream import ClaudeStream, PermissionRequest, UnsupportedRequest

OLDEST = (2, 1, 197)
"""The oldest version that was driven; an older one is refused, since its protocol is not known to us."""

DISALLOWED = (
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "EnterWorktree",
    "ExitWorktree",
    "CronCreate",
    "ScheduleWakeup",
)
"""Questions go through the trailer; nobody approves a plan; the branch stays; nothing happens after the turn."""

ASKED = ("Bash", "Write", "Edit", "NotebookEdit", "WebFetch")
ENVIRONMENT = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_RETRIES": "3"}
"""No self-update in the middle of a run, and retries that end: the default of 10 takes three minutes."""

CHECK_S = 10.0


class ClaudeExecutor:
    """`claude` on PATH, or the configured command."""

    name = "claude"
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
        }
    )

    def __init__(self, settings: ExecutorSettings | None = None, *, check_s: float = CHECK_S) -> None:
        self._settings = settings or ExecutorSettings()
        self._check_s = check_s
        self._command = self._settings.command or ("claude",)

    def check(self) -> Readiness:
        """Version and login, as the CLI itself tells them; no model is called."""
        try:
            version = self._ask("--version")
        except ProcessError as error:
            return Readiness(
                installed=False,
                problem=error.what,
                fix="npm install -g @anthropic-ai/claude-code, or set executors.claude.command",
            )
        judged = judge_version(version, command=self._command[0], oldest=OLDEST, name=self.name, update="claude update")
        if judged.problem:
            return judged
        logged_in = _logged_in(self._ask("auth", "status"))
        if logged_in is False:
            return Readiness(True, judged.version, False, problem="not logged in", fix=LOGIN)
        return Readiness(True, judged.version, logged_in)

    def rehearsal(self, model_url: str) -> Rehearsal:
        """The address of the local model; a key that is none where the user has no login."""
        env = {
            "ANTHROPIC_BASE_URL": model_url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            **ONLY_LOOPBACK,
        }
        if self.check().logged_in is False:
            env["ANTHROPIC_API_KEY"] = "rehearsal-without-a-key"
        return Rehearsal("anthropic-messages", env)

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        """One process: the prompt goes in, events come out, permissions are answered in between."""
        environment = {**ENVIRONMENT, **self._own_retries(), **self._settings.env}
        with host.start(self._argv(request), stdin=None, env=environment, unset=self._settings.env_remove) as child:
            send(child, _user_message(request.prompt))
            yield from self.read_program(request, child, host)

    def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
        """What the CLI prints, as events; its requests are answered."""
        stream = ClaudeStream(session_id=request.session_id, resumed=request.resume)

        def handle(line: str) -> Iterator[Event]:
            for item in stream.feed(line):
                if isinstance(item, PermissionRequest):
                    answer = host.permit(item.asked)
                    if not answer.allowed:
                        stream.deny(item.asked.id)
                    send(program, _answer(item, answer))
                elif isinstance(item, UnsupportedRequest):
                    send(program, _refusal(item))
                    yield Notice(f"the CLI asked for {item.subtype or 'something'}, which is not offered")
                else:
                    yield item

        yield from read_turn(
            program,
            handle,
            lambda: stream.result,
            grace_s=lambda _: request.limits.grace_s,
            without_result=lambda: without_result(program.ending, program.returncode, program.stderr_tail, signs=SIGNS),
        )

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        """The shared default: the CLI's own question tool is disallowed, so there is no guard to add."""
        return question_or_silent(session_id, text, question)

    def _argv(self, request: TurnRequest) -> list[str]:
        session = f"--resume={request.session_id}" if request.resume else f"--session-id={request.session_id}"
        argv = [*self._command, "--print", "--verbose", "--input-format=stream-json", "--output-format=stream-json"]
        argv += ["--include-partial-messages", "--permission-prompt-tool=stdio", "--permission-mode=default", session]
        argv += [f"--disallowedTools={','.join(DISALLOWED)}"]
        files = [f"Read(/{_literal(path)})" for path in request.readable if not path.is_dir()]
        argv += [f"--settings={json.dumps({'permissions': {'ask': list(ASKED), 'allow': files}})}"]
        argv += [f"--add-dir={path}" for path in request.readable if path.is_dir()]
        if request.role == "verifier":
            argv.append("--setting-sources=user")
        model = request.model or self._settings.model
        if model:
            argv.append(f"--model={model}")
        return [*argv, *self._settings.extra_args]

    def _own_retries(self) -> dict[str, str]:
        """The user's own choice of retries goes before ours."""
        chosen = os.environ.get("CLAUDE_CODE_MAX_RETRIES")
        return {"CLAUDE_CODE_MAX_RETRIES": chosen} if chosen else {}

    def _ask(self, *arguments: str) -> str:
        environment = clean_environment(
            os.environ, remove=self._settings.env_remove, add={"DISABLE_AUTOUPDATER": "1", **self._settings.env}
        )
        done = run_program(
            [*self._command, *arguments], cwd=Path(tempfile.gettempdir()), env=environment, timeout_s=self._check_s
        )
        return done.stdout.decode("utf-8", "replace")


def _literal(path: Path) -> str:
    """A path as a permission rule takes it literally (rules are patterns; an absolute one begins with two slashes)."""
    return re.sub(r"([\\\[\]{}()*?!])", r"\\\1", str(path))


def _logged_in(status: str) -> bool | None:
    """What `claude auth status` says; None where this version does not know the command."""
    try:
        value = json.loads(status)
    except ValueError:
        return None
    said = value.get("loggedIn") if isinstance(value, dict) else None
    return said if isinstance(said, bool) else None


def _user_message(prompt: str) -> dict[str, Any]:
    return {
        "type": "user",
        "message": {"role": "user", "content": prompt},
        "parent_tool_use_id": None,
        "session_id": "default",
    }


def _answer(request: PermissionRequest, answer: PermissionAnswer) -> dict[str, Any]:
    if answer.allowed:
        body: dict[str, Any] = {"behavior": "allow", "updatedInput": dict(request.input)}
    else:
        body = {"behavior": "deny", "message": answer.reason or "denied by the run's policy"}
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request.request_id, "response": body},
    }


def _refusal(request: UnsupportedRequest) -> dict[str, Any]:
    return {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": request.request_id, "error": "not offered by this host"},
    }
