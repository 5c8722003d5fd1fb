"""Driver for Codex (spec page 2, "codex"): `codex app-server`, JSON-RPC over stdio, on the native binary.

One process a turn, in a private CODEX_HOME over the user's own. Every command and patch is asked for; commands run in
Codex's sandbox, in which git's folders are writable only when the role commits. The sandbox is a second fence, not the
first: an allowed patch is written outside of it (measured), and an allowed command that failed in it was sometimes seen
to have run outside of it in the end. A repository that brings a `.codex` of its own (rules, hooks, servers) is not
trusted, and a verifier trusts none; Codex reads no AGENTS.md then. A declared difference: a denial's reason reaches the
model as the next input of the turn, not in the tool's result. Not asked for: MCP tools that the user's configuration
approves.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from touchline.agent_cli.failures import without_result
from touchline.agent_cli.fields import text
from touchline.agent_cli.readiness import ONLY_LOOPBACK, judge_version
from touchline.agent_cli.reading import read_turn, send
from touchline.api import (
    API_VERSION,
    Capability,
    Child,
    Completed,
    Event,
    ExecutorHost,
    ExecutorSettings,
    Notice,
    PermissionAnswer,
    ProcessError,
    QuestionAsked,
    Readiness,
    Rehearsal,
    TurnRequest,
    TurnSettlement,
    clean_environment,
    question_or_silent,
    run_program,
)
from touchline_codex.approvals import PermissionRequest
from touchline_codex.arguments import FEATURES, merged, overrides, turn_arguments
from touchline_codex.conversation import Conversation, Send, TurnPlan
from touchline_codex.gitdirs import git_folders
from touchline_codex.home import layer, trusted_hooks, users_config, users_home
from touchline_codex.outcome import SIGNS
from touchline_codex.program import native
from touchline_codex.readiness import login, own_key_variable, sandbox_problem

OLDEST = (0, 171, 0)
"""The oldest version that was driven; an older one is refused, since its protocol is not known to us."""

KEY_VARIABLE = "CODEX_API_KEY"
"""Given to the app server as a login of this process alone; by itself it reads no key from there (measured)."""

TMP = Path("/tmp")
"""Writable in Codex's sandbox, and so would be a repository inside it."""
CHECK_S = 10.0
REHEARSAL_KEY = "TOUCHLINE_REHEARSAL_KEY"


@dataclass(frozen=True, slots=True)
class _Start:
    """How the process of one turn is started, and what is said to it."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    unset: tuple[str, ...]
    plan: TurnPlan


class CodexExecutor:
    """`codex` on PATH, or the configured command."""

    name = "codex"
    api_version = API_VERSION
    capabilities = frozenset(
        {
            Capability.RESUME,
            Capability.PERMISSION_GATE,
            Capability.USAGE,
            Capability.MODEL_NAME,
            Capability.INTERRUPT,
        }
    )

    def __init__(self, settings: ExecutorSettings | None = None, *, check_s: float = CHECK_S) -> None:
        self._settings = settings or ExecutorSettings()
        self._check_s = check_s
        self._command = self._settings.command or ("codex",)

    def check(self) -> Readiness:
        """Version, login and sandbox, as the CLI itself tells them; no model is called."""
        environment = self._environment()
        with tempfile.TemporaryDirectory(prefix="touchline-codex-") as folder:
            home = layer(Path(folder) / "home", users_home(environment))
            try:
                told = self._ask(folder, home, "--version").stdout.decode("utf-8", "replace")
            except ProcessError as error:
                return Readiness(
                    installed=False,
                    problem=error.what,
                    fix="npm install -g @openai/codex, or set executors.codex.command",
                )
            judged = judge_version(told, command=self._command[0], oldest=OLDEST, name=self.name, update="codex update")
            if judged.problem:
                return judged
            status = self._ask(folder, home, *FEATURES, "login", "status")
            config = self._config(environment)
            logged_in, problem, fix = login(status, config, environment, key_variable=KEY_VARIABLE)
            if not problem and not self._own_sandbox():
                problem, fix = sandbox_problem(self._ask(folder, home, "sandbox", "--", "true"))
            return Readiness(True, judged.version, logged_in, problem=problem, fix=fix)

    def rehearsal(self, model_url: str) -> Rehearsal:
        """A provider of its own at the local model, given by arguments; the user's configuration stays as it is."""
        provider = (
            f'{{ name = "rehearsal", base_url = "{model_url}/v1", env_key = "{REHEARSAL_KEY}", '
            'wire_api = "responses", request_max_retries = 1, stream_max_retries = 1 }'
        )
        values = {
            "model": '"gpt-5.5"',
            "model_provider": '"rehearsal"',
            "model_providers.rehearsal": provider,
        }
        env = {
            REHEARSAL_KEY: "rehearsal-without-a-key",
            **ONLY_LOOPBACK,
        }
        arguments = tuple(part for key, value in values.items() for part in ("-c", f"{key}={value}"))
        return Rehearsal("openai-responses", env, arguments)

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        """One process: the thread is opened, the prompt goes in, events come out, approvals are answered between."""
        start = self._prepare(request)
        conversation = Conversation(start.plan, version=_own_version())
        with host.start(start.argv, stdin=None, env=start.env, unset=start.unset) as child:
            send(child, conversation.opening())
            yield from _read_program(conversation, child, host, grace_s=request.limits.grace_s)

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        """The shared default: Codex offers no question tool in this mode, so there is no guard to add."""
        return question_or_silent(session_id, text, question)

    def _prepare(self, request: TurnRequest) -> _Start:
        environment = self._environment()
        config = self._config(environment)
        key = environment.get(KEY_VARIABLE, "")
        if own_key_variable(config) == KEY_VARIABLE:
            key = ""  # the user's own model provider reads it by itself
        added = dict(self._settings.env)
        unset = self._settings.env_remove
        if key:
            added.pop(KEY_VARIABLE, None)
            unset = (*unset, KEY_VARIABLE)
        users = users_home(environment)
        home = layer(request.scratch / "codex-home", users)
        added["CODEX_HOME"] = str(home)
        temporary = _is_temporary(request, environment)
        if temporary:
            added["TMPDIR"] = str(_folder(request.scratch / "codex-tmp"))
        commits, trusted = request.role == "executor", _is_trusted(request)
        arguments = turn_arguments(
            trust={request.cwd: trusted, request.cwd.resolve(): trusted},
            writable=git_folders(request.cwd) if commits else (),
            config=config,
            without_tmp=temporary,
            without_instructions=request.role == "verifier",
            ephemeral_login=bool(key),
            hooks=trusted_hooks(config, home, users),
        )
        program = native(self._command, environ=environment)
        plan = TurnPlan(
            request.prompt,
            request.cwd,
            self._thread(request),
            resume_id=request.session_id if request.resume else "",
            api_key=key,
            may_leave_sandbox=commits,
        )
        return _Start((*program, *arguments, *self._settings.extra_args, "app-server"), added, unset, plan)

    def _thread(self, request: TurnRequest) -> dict[str, object]:
        thread: dict[str, object] = {
            "cwd": str(request.cwd),
            "approvalPolicy": "untrusted",
            "approvalsReviewer": "user",
        }
        if not self._own_sandbox():
            thread["sandbox"] = "workspace-write"
        model = request.model or self._settings.model
        return {**thread, "model": model} if model else thread

    def _own_sandbox(self) -> bool:
        """Whether the configuration chooses the sandbox, for machines on which Codex's own does not work."""
        return bool(text(overrides(self._settings.extra_args), "sandbox_mode"))

    def _config(self, environment: Mapping[str, str]) -> Mapping[str, object]:
        return merged(users_config(users_home(environment)), overrides(self._settings.extra_args))

    def _environment(self) -> dict[str, str]:
        return clean_environment(os.environ, remove=self._settings.env_remove, add=self._settings.env)

    def _ask(self, folder: str, home: Path, *arguments: str) -> Completed:
        environment = {**self._environment(), "CODEX_HOME": str(home)}
        program = native(self._command, environ=environment)
        return run_program([*program, *arguments], cwd=Path(folder), env=environment, timeout_s=self._check_s)


def _read_program(conversation: Conversation, child: Child, host: ExecutorHost, *, grace_s: float) -> Iterator[Event]:
    def handle(line: str) -> Iterator[Event]:
        for item in conversation.feed(line):
            if isinstance(item, PermissionRequest):
                yield from _decide(item, conversation, child, host)
            elif isinstance(item, Send):
                send(child, item.message)
            else:
                yield item

    return read_turn(
        child,
        handle,
        lambda: conversation.result,
        grace_s=lambda _: grace_s,
        without_result=lambda: without_result(child.ending, child.returncode, child.stderr_tail, signs=SIGNS),
    )


def _decide(
    request: PermissionRequest, conversation: Conversation, child: Child, host: ExecutorHost
) -> Iterator[Event]:
    if request.refusal:
        yield Notice(f"denied without a question: {request.asked.text[:200]}: {request.refusal}")
        answer = PermissionAnswer(False, request.refusal)
    else:
        answer = host.permit(request.asked)
    for message in conversation.answer(request, answer):
        send(child, message)


def _folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _is_temporary(request: TurnRequest, environment: Mapping[str, str]) -> bool:
    """Whether something that must not be writable lies in a folder that the sandbox makes writable."""
    folders = [Path(name).resolve() for name in (str(TMP), environment.get("TMPDIR", "")) if name]
    guarded = (request.cwd.resolve(), request.scratch.resolve(), *git_folders(request.cwd))
    return any(path.is_relative_to(folder) for path in guarded for folder in folders)


def _is_trusted(request: TurnRequest) -> bool:
    return request.role != "verifier" and not _brings_configuration(request.cwd)


def _brings_configuration(cwd: Path) -> bool:
    """Whether the work has a `.codex` of its own anywhere that Codex looks for one."""
    if any(os.path.lexists(folder.parent / ".codex") for folder in git_folders(cwd)):
        return True
    for folder in (cwd, *cwd.parents):
        if os.path.lexists(folder / ".codex"):
            return True
        if os.path.lexists(folder / ".git"):
            return False
    return False


def _own_version() -> str:
    try:
        return version("touchline")
    except PackageNotFoundError:
        return "0"
