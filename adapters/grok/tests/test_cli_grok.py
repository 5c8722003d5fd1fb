"""What only the real grok can show, without any network."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from touchline.execution import Budget
from touchline.executor import ExecutorSettings, PermissionAnswer, PermissionAsked
from touchline.testing import ScriptedModel, find_cli
from touchline.testing.bench import Bench, Ran
from touchline.testing.openai_chat import OpenAIChat
from touchline.testing.repositories import make_repository
from touchline.testing.steps import Say, Shell, ToolCall
from touchline.turn.settle import FailureKind
from touchline_grok.executor import GrokExecutor

pytestmark = [pytest.mark.cli("grok"), pytest.mark.slow]

NOBODY = "http://127.0.0.1:9"
MODEL = """\
[models]
default = "fake"
session_summary = "fake"
[model.fake]
model = "fake-model"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
context_window = 200000
[model.other]
model = "other-model"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
context_window = 200000
[marketplace]
default_skills_installs_purged = true
"""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(OpenAIChat()) as server:
        yield server


@pytest.fixture
def grok_home(tmp_path: Path, model: ScriptedModel) -> Path:
    folder = tmp_path / "grok-home"
    folder.mkdir()
    (folder / "config.toml").write_text(MODEL.format(url=model.url))
    return folder


@pytest.fixture
def environment(grok_home: Path) -> dict[str, str]:
    return {
        "GROK_HOME": str(grok_home),
        "FAKE_KEY": "sk-not-a-key",
        "GROK_MAX_RETRIES": "1",
        "HTTPS_PROXY": NOBODY,
        "HTTP_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1",
    }


@pytest.fixture
def bench(model: ScriptedModel, environment: dict[str, str], tmp_path: Path) -> Bench:
    executor = GrokExecutor(ExecutorSettings(command=(find_cli("grok"),), env=environment))
    (tmp_path / "private").mkdir(mode=0o700)
    return Bench(executor, model, make_repository(tmp_path / "repo"), tmp_path / "private")


def kind(ran: Ran) -> FailureKind | None:
    return ran.executed.failure.kind if ran.executed.failure else None


def no(asked: PermissionAsked) -> PermissionAnswer:
    return PermissionAnswer(False, "not yours")


def test_turn_of_nobody_is_not_authenticated(bench: Bench, environment: dict[str, str]) -> None:
    environment["FAKE_KEY"] = ""
    assert kind(bench.turn(Say("Hello."))) is FailureKind.NOT_AUTHENTICATED


def test_writes_and_edits_are_asked_for_with_their_paths(bench: Bench) -> None:
    asked: list[PermissionAsked] = []

    def permit(request: PermissionAsked) -> PermissionAnswer:
        asked.append(request)
        return PermissionAnswer(True)

    path = str(bench.repo / "new.txt")
    bench.turn(
        ToolCall("write", {"file_path": path, "content": "one"}),
        ToolCall("search_replace", {"file_path": path, "old_string": "one", "new_string": "two"}),
        Say("Done."),
        permit=permit,
    )
    assert [(request.tool, request.paths) for request in asked] == [("write", (path,)), ("edit", (path,))]
    assert Path(path).read_text() == "two"


def test_readable_places_are_read_without_a_question_and_others_are_asked_for(
    bench: Bench, model: ScriptedModel, tmp_path: Path
) -> None:
    paths = [tmp_path / "given" / "a.md", tmp_path / "run 1" / "plan.md", tmp_path / "run 1" / "other.md"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"this is {path.name}")
    (bench.repo / "link").symlink_to(tmp_path / "run 1")
    reads = [ToolCall("read_file", {"target_file": str(path)}) for path in (*paths, bench.repo / "link" / "other.md")]
    ran = bench.turn(*reads, Say("Done."), readable=(tmp_path / "given", paths[1]), permit=no)
    folder, file, other, linked = model.tool_results()
    assert "this is a.md" in folder
    assert "this is plan.md" in file
    assert "not yours" in other
    assert "not yours" in linked
    assert [asked.raw_tool for asked in ran.executed.denials] == ["read_file", "read_file"]


def test_verifier_writes_nothing_even_where_a_person_would_allow_it(bench: Bench) -> None:
    bench.turn(
        ToolCall("write", {"file_path": str(bench.repo / "n.txt"), "content": "x"}), Say("Done."), role="verifier"
    )
    assert not (bench.repo / "n.txt").exists()


def test_pushing_is_refused_by_a_rule_of_the_clis_own(bench: Bench, model: ScriptedModel) -> None:
    bench.turn(Shell("git push origin main"), Say("Done."))
    assert "deny rule" in model.tool_results()[0]


def test_tools_that_go_past_the_policy_are_not_offered_or_refused(bench: Bench, model: ScriptedModel) -> None:
    bench.turn(ToolCall("spawn_subagent", {"prompt": "x", "description": "y"}), Say("Hello."))
    assert any("not offered here" in told for told in model.tool_results())
    offered = {
        tool["function"]["name"]
        for request in model.requests
        if request.main and request.body
        for tool in request.body.get("tools", [])
    }
    assert "run_terminal_command" in offered
    assert "get_command_or_subagent_output" in offered, "commands in the background need it"
    assert not offered & {"ask_user_question", "enter_plan_mode", "exit_plan_mode", "workflow", "scheduler_create"}


def test_hooks_that_the_user_has_still_run(bench: Bench, grok_home: Path, tmp_path: Path) -> None:
    (grok_home / "hooks").mkdir()
    hook = {"hooks": [{"type": "command", "command": f"touch {tmp_path / 'own'}"}]}
    (grok_home / "hooks" / "own.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    ran = bench.turn(Shell("touch made.txt"), Say("Done."))
    assert ran.executed.failure is None
    assert (tmp_path / "own").exists()


def test_command_that_another_hook_changes_ends_the_turn(bench: Bench, grok_home: Path) -> None:
    (grok_home / "hooks").mkdir()
    rewritten = {"command": "sleep 9; touch b", "description": "x"}
    changed = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": rewritten}}
    hook = {"hooks": [{"type": "command", "command": f"printf %s {shlex.quote(json.dumps(changed))}"}]}
    (grok_home / "hooks" / "own.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    ran = bench.turn(Shell("touch a"), Say("Done."))
    assert kind(ran) is FailureKind.REFUSED_PERMISSION
    assert not (bench.repo / "b").exists()


def test_user_who_forbids_hooks_gets_no_turn_without_a_policy(bench: Bench, grok_home: Path) -> None:
    (grok_home / "requirements.toml").write_text("allow_managed_hooks_only = true\n")
    ran = bench.turn(Shell("touch made.txt"), Say("Done."))
    assert kind(ran) is FailureKind.PROTOCOL
    assert "hook" in ran.executed.failure.reason  # type: ignore[union-attr]


def test_prompt_that_looks_like_a_command_of_the_cli_is_a_prompt(bench: Bench, model: ScriptedModel) -> None:
    bench.turn(Say("Hello."), prompt="/compact")
    assert any("/compact" in known for known in model.prompts())


def test_chosen_model_is_used(bench: Bench, environment: dict[str, str]) -> None:
    bench.executor = GrokExecutor(ExecutorSettings(command=(find_cli("grok"),), env=environment, model="other"))
    assert bench.turn(Say("Hello.")).executed.model == "other-model"


def test_variable_that_the_configuration_removes_does_not_arrive(
    bench: Bench, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNWANTED", "1")
    bench.executor = GrokExecutor(
        ExecutorSettings(command=(find_cli("grok"),), env=environment, env_remove=("UNWANTED",))
    )
    bench.turn(Shell("env > environment.txt"), Say("Done."))
    assert "UNWANTED" not in (bench.repo / "environment.txt").read_text()


def test_budget_stops_the_turn_between_two_tools_and_leaves_the_session_usable(bench: Bench) -> None:
    steps = [Shell(f"echo {number} >> log.txt") for number in range(6)]
    ran = bench.turn(*steps, Say("Never."), budget=Budget(max_tokens=400))
    assert kind(ran) is FailureKind.BUDGET
    again = bench.turn(Say("Back."), session_id=ran.executed.session_id, resume=True)
    assert again.executed.failure is None


def test_session_id_that_was_used_already_is_a_lost_resume(bench: Bench) -> None:
    first = bench.turn(Say("Hello."))
    assert bench.turn(Say("Hello."), session_id=first.executed.session_id).executed.lost_resume
