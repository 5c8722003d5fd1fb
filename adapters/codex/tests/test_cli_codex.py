"""What only the real Codex can show, without any network; its sandbox is on."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from touchline.execution import Budget
from touchline.executor import ExecutorSettings, Notice, PermissionAnswer, PermissionAsked, Retrying
from touchline.testing import ScriptedModel, find_cli
from touchline.testing.bench import Bench, Ran
from touchline.testing.openai_responses import OpenAIResponses
from touchline.testing.repositories import git, make_repository
from touchline.testing.steps import Cut, HttpError, Say, Shell, ToolCall
from touchline.turn.settle import FailureKind
from touchline_codex.executor import CodexExecutor
from touchline_codex.program import native

pytestmark = [pytest.mark.cli("codex"), pytest.mark.slow]

Settings = Callable[..., ExecutorSettings]
MARKER = "MEMORY-OF-THE-PROJECT"
COMMIT = "echo x > made.txt && git add made.txt && git commit -q -m made"
OPEN_SOCKET = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
LOGIN = '{"auth_mode": "apikey", "OPENAI_API_KEY": "sk-of-the-user"}\n'


class Limited(OpenAIResponses):
    """Says that the subscription is used up."""

    def error(self, step: HttpError) -> dict[str, Any]:
        return {
            "error": {"type": "usage_limit_reached", "message": "limit", "plan_type": "pro", "resets_at": 4102444800}
        }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's own CODEX_HOME."""
    folder = tmp_path / "home" / ".codex"
    (folder / "rules").mkdir(parents=True)
    (folder / "skills" / "mine").mkdir(parents=True)
    (folder / "config.toml").write_text(
        'model = "gpt-6.2-sol"\n\n[sandbox_workspace_write]\nwritable_roots = ["/opt"]\n'
    )
    (folder / "auth.json").write_text(LOGIN)
    (folder / "AGENTS.md").write_text("Prefer short answers.\n")
    (folder / "rules" / "default.rules").write_text('prefix_rule(pattern = ["touch"], decision = "allow")\n')
    (folder / "skills" / "mine" / "SKILL.md").write_text("---\nname: mine\ndescription: mine\n---\n")
    return folder


@pytest.fixture
def bench(scripted_settings: Settings, model: ScriptedModel, home: Path, tmp_path: Path) -> Bench:
    (tmp_path / "private").mkdir(mode=0o700)
    executor = CodexExecutor(scripted_settings())
    return Bench(executor, model, make_repository(tmp_path / "repo"), tmp_path / "private")


def kind(ran: Ran) -> FailureKind | None:
    return ran.executed.failure.kind if ran.executed.failure else None


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sent(model: ScriptedModel) -> str:
    return json.dumps([request.body for request in model.requests])


class Asked:
    """A policy that remembers what it was asked."""

    def __init__(self, *, allowed: bool = True, reason: str = "") -> None:
        self.requests: list[PermissionAsked] = []
        self._answer = PermissionAnswer(allowed, reason)

    def __call__(self, request: PermissionAsked) -> PermissionAnswer:
        self.requests.append(request)
        return self._answer


def test_native_binary_is_started_not_the_script() -> None:
    (program,) = native((find_cli("codex"),), environ={})
    assert Path(program).read_bytes()[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    assert native(("codex", "--x"), environ={"PATH": os.path.dirname(find_cli("codex"))}) == [program, "--x"]  # noqa: PTH120


def test_check_tells_version_login_and_sandbox_without_a_model_call_or_a_trace(
    bench: Bench, model: ScriptedModel, home: Path
) -> None:
    before = content(home)
    readiness = bench.executor.check()
    assert readiness.version[0].isdigit()
    assert (readiness.logged_in, readiness.problem) == (True, "")
    assert model.requests == []
    assert content(home) == before


@pytest.mark.parametrize(
    ("login", "environment", "logged_in"),
    [(LOGIN, {}, True), ("", {}, False), ("", {"CODEX_API_KEY": "sk-1"}, True)],
)
def test_check_tells_whether_the_user_is_logged_in(
    home: Path, login: str, environment: dict[str, str], logged_in: bool
) -> None:
    (home / "auth.json").unlink()
    if login:
        (home / "auth.json").write_text(login)
    readiness = CodexExecutor(ExecutorSettings(command=(find_cli("codex"),), env=environment)).check()
    assert readiness.logged_in is logged_in
    assert bool(readiness.problem) is not logged_in
    assert logged_in or "codex login" in readiness.fix


def test_check_tells_that_a_provider_of_the_users_own_has_no_key(scripted_settings: Settings) -> None:
    readiness = CodexExecutor(scripted_settings(env={"SCRIPTED_KEY": ""})).check()
    assert (readiness.logged_in, readiness.fix) == (False, "set SCRIPTED_KEY")


def test_turn_without_a_key_is_not_authenticated(bench: Bench, scripted_settings: Settings) -> None:
    settings = scripted_settings()
    bench.executor = CodexExecutor(
        ExecutorSettings(command=settings.command, env={"NO_PROXY": "127.0.0.1"}, extra_args=settings.extra_args)
    )
    ran = bench.turn(Say("Hello."))
    assert kind(ran) is FailureKind.NOT_AUTHENTICATED
    assert "SCRIPTED_KEY" in ran.executed.failure.reason  # type: ignore[union-attr]


def test_nothing_of_the_users_is_written_and_their_login_is_a_link(bench: Bench, home: Path) -> None:
    before = content(home)
    first = bench.turn(Shell("ls"), Say("Hello."))
    bench.turn(Say("Again."), session_id=first.executed.session_id, resume=True)
    assert content(home) == before
    private = bench.scratch / "codex-home"
    assert (private / "auth.json").readlink() == home / "auth.json"
    assert (private / "config.toml").readlink() == home / "config.toml"
    assert (private / "skills" / "mine").readlink() == home / "skills" / "mine"
    assert not (private / "rules").exists()


def test_users_instructions_and_model_are_used(bench: Bench, model: ScriptedModel, scripted_settings: Settings) -> None:
    settings = scripted_settings()
    own = tuple(part for part in settings.extra_args if part != 'model="gpt-5.5"')
    at = own.index("-c")
    bench.executor = CodexExecutor(
        ExecutorSettings(command=settings.command, env=settings.env, extra_args=own[:at] + own[at + 1 :])
    )
    ran = bench.turn(Say("Hello."))
    assert ran.executed.model == "gpt-6.2-sol"
    assert "Prefer short answers." in sent(model)


def test_rule_of_the_users_that_allows_a_command_does_not_get_past_the_policy(bench: Bench) -> None:
    asked = Asked(allowed=False, reason="no")
    bench.turn(Shell("touch made.txt"), Say("Done."), permit=asked)
    assert [request.command for request in asked.requests] == ["touch made.txt"]
    assert not (bench.repo / "made.txt").exists()


def hook(home: Path, event: str, script: Path) -> None:
    """A hook of the user's that they trust, as Codex itself writes it down."""
    table = f'[[hooks.{event}]]\nmatcher = ".*"\n[[hooks.{event}.hooks]]\ntype = "command"\n'
    with (home / "config.toml").open("a") as file:
        file.write(f'\n{table}command = "/bin/sh {script}"\ntimeout = 10\n')
    (program,) = native((find_cli("codex"),), environ={})
    environment = {"HOME": str(home.parent), "CODEX_HOME": str(home), "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        [program, "app-server"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def call(number: int, method: str, params: dict[str, Any]) -> Any:
            server.stdin.write(json.dumps({"id": number, "method": method, "params": params}).encode() + b"\n")  # type: ignore[union-attr]
            server.stdin.flush()  # type: ignore[union-attr]
            answers = (json.loads(line) for line in server.stdout or ())
            return next(one["result"] for one in answers if one.get("id") == number)

        call(1, "initialize", {"clientInfo": {"name": "test", "version": "0"}})
        (found,) = call(2, "hooks/list", {"cwds": [str(home)]})["data"][0]["hooks"]
        state = {found["key"]: {"trusted_hash": found["currentHash"], "enabled": True}}
        edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
        call(3, "config/batchWrite", {"edits": [edit]})
        server.stdin.close()
        server.wait(timeout=20)


def test_trusted_hook_of_the_users_runs(bench: Bench, home: Path, model: ScriptedModel, tmp_path: Path) -> None:
    output = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not on mondays"}
    (tmp_path / "hook.sh").write_text(f"echo '{json.dumps({'hookSpecificOutput': output})}'\n")
    hook(home, "PreToolUse", tmp_path / "hook.sh")
    bench.turn(Shell("touch made.txt"), Say("Done."))
    assert "not on mondays" in model.tool_results()[0]
    assert not (bench.repo / "made.txt").exists()


def test_hook_of_the_users_that_answers_requests_does_not_get_past_the_policy(
    bench: Bench, home: Path, tmp_path: Path
) -> None:
    output = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    (tmp_path / "hook.sh").write_text(f"echo '{json.dumps({'hookSpecificOutput': output})}'\n")
    hook(home, "PermissionRequest", tmp_path / "hook.sh")
    asked = Asked(allowed=False, reason="no")
    bench.turn(Shell("touch made.txt"), Say("Done."), permit=asked)
    assert len(asked.requests) == 1
    assert not (bench.repo / "made.txt").exists()


def test_reason_of_a_denial_is_the_next_input_of_the_same_turn(bench: Bench, model: ScriptedModel) -> None:
    reason = "pushing is not allowed; do not try again"
    ran = bench.turn(Shell("git push"), Say("I see."), permit=Asked(allowed=False, reason=reason))
    assert ran.executed.text == "I see."
    assert model.prompts()[-1] == f"touchline denied `git push`: {reason}"


@pytest.mark.parametrize("linked", [False, True])
def test_role_that_commits_can_commit(bench: Bench, tmp_path: Path, linked: bool) -> None:
    if linked:
        git(bench.repo, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
        bench.repo = tmp_path / "linked"
    before = git(bench.repo, "rev-parse", "HEAD")
    bench.turn(Shell(COMMIT), Say("Done."))
    assert git(bench.repo, "rev-parse", "HEAD~1") == before


@pytest.mark.parametrize("role", ["player", "verifier"])
@pytest.mark.parametrize("linked", [False, True])
def test_role_that_does_not_commit_cannot_write_gits_folder(
    bench: Bench, tmp_path: Path, role: str, linked: bool
) -> None:
    """Codex may repeat a command that fails inside the sandbox outside of it (README); so these do not fail."""
    if linked:
        git(bench.repo, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
        bench.repo = tmp_path / "linked"
    before = git(bench.repo, "rev-parse", "HEAD")
    bench.turn(Shell(f"{COMMIT}; true"), Shell("touch .git/made; true"), Say("Done."), role=role)  # type: ignore[arg-type]
    assert (bench.repo / "made.txt").exists()
    assert git(bench.repo, "rev-parse", "HEAD") == before
    assert not (bench.repo / ".git" / "made").exists()


def test_role_that_does_not_commit_cannot_leave_the_sandbox(bench: Bench) -> None:
    escalated = ToolCall(
        "exec_command", {"cmd": COMMIT, "sandbox_permissions": "require_escalated", "justification": "please"}
    )
    asked = Asked()
    ran = bench.turn(escalated, Say("Done."), role="player", permit=asked)
    assert asked.requests == []
    assert any("denied without a question" in event.text for event in ran.events if isinstance(event, Notice))
    assert not (bench.repo / "made.txt").exists()


def test_sandbox_has_no_network_and_a_folder_for_temporary_files(bench: Bench, model: ScriptedModel) -> None:
    bench.turn(Shell(f'python3 -c "{OPEN_SOCKET}"'), Shell('touch "$(mktemp)" && echo made'), Say("Done."))
    network, temporary = model.tool_results()
    assert "Operation not permitted" in network
    assert "made" in temporary


def test_patches_are_asked_for_with_their_paths(bench: Bench) -> None:
    asked = Asked()
    patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch"
    bench.turn(Shell(f"apply_patch <<'P'\n{patch}\nP"), Say("Done."), role="player", permit=asked)
    assert [(request.tool, request.paths) for request in asked.requests] == [("write", (str(bench.repo / "new.txt"),))]
    assert (bench.repo / "new.txt").read_text() == "one\n"


def test_denied_patch_is_not_written(bench: Bench) -> None:
    patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch"
    bench.turn(Shell(f"apply_patch <<'P'\n{patch}\nP"), Say("Done."), permit=Asked(allowed=False))
    assert not (bench.repo / "new.txt").exists()


def test_nothing_can_be_typed_into_a_command_that_was_allowed(bench: Bench, model: ScriptedModel) -> None:
    bench.turn(ToolCall("exec_command", {"cmd": "bash", "tty": True}), Shell("cat; echo at its end"), Say("Done."))
    terminal, plain = model.tool_results()
    assert "disabled" in terminal
    assert "at its end" in plain


@pytest.mark.parametrize(
    ("role", "own_configuration", "read"),
    [("player", False, True), ("player", True, False), ("verifier", False, False)],
)
def test_instructions_of_the_work_are_read_only_where_it_is_trusted(
    bench: Bench, model: ScriptedModel, role: str, own_configuration: bool, read: bool
) -> None:
    (bench.repo / "AGENTS.md").write_text(f"{MARKER}: be kind.\n")
    if own_configuration:
        (bench.repo / ".codex" / "rules").mkdir(parents=True)
        (bench.repo / ".codex" / "config.toml").write_text('model = "gpt-chosen-by-the-work"\n')
        (bench.repo / ".codex" / "rules" / "x.rules").write_text('prefix_rule(pattern=["touch"], decision="allow")\n')
    asked = Asked()
    ran = bench.turn(Shell("touch made.txt"), Say("Hello."), role=role, permit=asked)  # type: ignore[arg-type]
    assert (MARKER in sent(model)) is read
    assert ran.executed.model == "gpt-5.5"
    assert len(asked.requests) == 1


def test_error_that_passes_is_retried_and_announced(bench: Bench, scripted_settings: Settings) -> None:
    bench.executor = CodexExecutor(scripted_settings(retries=1))
    ran = bench.turn(Cut(), Say("Back."))
    assert (ran.executed.failure, ran.executed.text) == (None, "Back.")
    assert [event.attempt for event in ran.events if isinstance(event, Retrying)] == [1]


def test_usage_limit_of_a_subscription_tells_its_reset(
    bench: Bench, scripted_settings: Settings, model: ScriptedModel
) -> None:
    limits = {"x-codex-primary-used-percent": "100", "x-codex-primary-window-minutes": "300"}
    with ScriptedModel(Limited()) as limited:
        settings = scripted_settings()
        arguments = tuple(part.replace(model.url, limited.url) for part in settings.extra_args)
        bench.executor = CodexExecutor(
            ExecutorSettings(command=settings.command, env=settings.env, extra_args=arguments)
        )
        bench.model = limited
        ran = bench.turn(HttpError(429, "limit", headers={**limits, "x-codex-primary-reset-at": "4102444800"}))
    assert kind(ran) is FailureKind.USAGE_LIMIT
    assert ran.executed.failure.resets_at == "2100-01-01T00:00:00+00:00"  # type: ignore[union-attr]


def test_budget_stops_the_turn_between_two_tools_and_leaves_the_session_usable(bench: Bench) -> None:
    steps = [Shell(f"echo {number} >> log.txt") for number in range(6)]
    ran = bench.turn(*steps, Say("Never."), budget=Budget(max_tokens=400))
    assert kind(ran) is FailureKind.BUDGET
    assert ran.executed.usage is not None
    assert 400 < ran.executed.usage.input + ran.executed.usage.output <= 600
    again = bench.turn(Say("Back."), session_id=ran.executed.session_id, resume=True)
    assert again.executed.failure is None


def test_variable_that_the_configuration_removes_does_not_arrive(
    bench: Bench, scripted_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNWANTED", "1")
    settings = scripted_settings()
    bench.executor = CodexExecutor(
        ExecutorSettings(
            command=settings.command, env=settings.env, extra_args=settings.extra_args, env_remove=("UNWANTED",)
        )
    )
    bench.turn(Shell("env > environment.txt"), Say("Done."))
    assert "UNWANTED" not in (bench.repo / "environment.txt").read_text()


def test_configuration_that_codex_cannot_read_is_a_protocol_failure_with_its_words(bench: Bench, home: Path) -> None:
    (home / "config.toml").write_text("model = [\n")
    ran = bench.turn(Say("Hello."))
    assert kind(ran) is FailureKind.PROTOCOL
    assert "config.toml" in ran.executed.failure.reason  # type: ignore[union-attr]


@pytest.fixture
def door() -> Iterator[tuple[str, list[str]]]:
    """A server that lets nobody in, and what they had in their hands."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers.get("authorization", ""))
            self.send_response(401)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()
        thread.join(timeout=10)


@pytest.mark.parametrize(("key", "shown"), [("sk-of-the-job", "sk-of-the-job"), ("", "sk-of-the-user")])
def test_key_of_the_environment_is_a_login_of_the_process_alone(
    bench: Bench, home: Path, door: tuple[str, list[str]], key: str, shown: str
) -> None:
    url, seen = door
    provider = f'{{ name = "door", base_url = "{url}", wire_api = "responses", requires_openai_auth = true, '
    provider += "request_max_retries = 0, stream_max_retries = 0, supports_websockets = false }"
    values = {"model": '"gpt-5.5"', "model_provider": '"door"', "model_providers.door": provider}
    arguments = tuple(part for name, value in values.items() for part in ("-c", f"{name}={value}"))
    bench.executor = CodexExecutor(
        ExecutorSettings(command=(find_cli("codex"),), env={"CODEX_API_KEY": key}, extra_args=arguments)
    )
    before = content(home)
    ran = bench.turn(prompt="Hello.")
    assert kind(ran) is FailureKind.NOT_AUTHENTICATED
    assert f"Bearer {shown}" in seen
    assert content(home) == before


def test_key_of_the_environment_is_not_shown_to_the_commands(bench: Bench, scripted_settings: Settings) -> None:
    bench.executor = CodexExecutor(scripted_settings(env={"CODEX_API_KEY": "sk-of-the-job"}))
    ran = bench.turn(Shell("env > environment.txt"), Say("Done."))
    assert ran.executed.failure is None
    assert "sk-of-the-job" not in (bench.repo / "environment.txt").read_text()


def test_methods_and_fields_that_we_use_are_in_the_protocol_of_this_version(tmp_path: Path) -> None:
    (program,) = native((find_cli("codex"),), environ={})
    argv = [program, "app-server", "generate-json-schema", "--out", str(tmp_path / "schema")]
    environment = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    subprocess.run(argv, check=True, timeout=60, env=environment, stdin=subprocess.DEVNULL, capture_output=True)

    def methods(name: str) -> set[str]:
        schema = json.loads((tmp_path / "schema" / f"{name}.json").read_text())
        return {option["properties"]["method"]["enum"][0] for option in schema["oneOf"]}

    def fields(name: str) -> set[str]:
        return set(json.loads((tmp_path / "schema" / "v2" / f"{name}.json").read_text())["properties"])

    calls = {"initialize", "account/login/start", "thread/start", "thread/resume", "turn/start", "turn/steer"}
    assert calls <= methods("ClientRequest")
    assert {"item/commandExecution/requestApproval", "item/fileChange/requestApproval"} <= methods("ServerRequest")
    told = {"turn/started", "turn/completed", "item/started", "item/completed", "error", "thread/tokenUsage/updated"}
    assert told | {"item/agentMessage/delta", "account/rateLimits/updated"} <= methods("ServerNotification")
    thread = {"cwd", "approvalPolicy", "approvalsReviewer", "sandbox", "model"}
    assert thread <= fields("ThreadStartParams")
    assert thread | {"threadId", "excludeTurns"} <= fields("ThreadResumeParams")
    assert {"threadId", "expectedTurnId", "input"} <= fields("TurnSteerParams")
