"""The loop, its early stops, executors in it, and stored sessions (spec page 7)."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from touchline.commands import bootstrap, load_session, route, turn_loop
from touchline.errors import LedgerError, UsageError
from touchline.executor import ExecutorSettings
from touchline.plugins.load import load_executor
from touchline.probe import (
    EngineConfig,
    Inventory,
    TurnEngine,
    bootstrap_session,
    run_turn_loop,
    store_session,
)
from touchline.probe import load_session as load
from touchline.probe.bootstrap import DENIED
from touchline.probe.sessions import session_path

HOSTILE = ["../x", "a/b", "", ".", "..", "-x", "a\0b", "a b", "x" * 65, "/etc/passwd", "a\nb", "é", "\ud800"]

Cli = Callable[..., str]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def run(module: object, *args: str, status: int = 0) -> str:
        returned = module.command.main(list(args), standalone_mode=False)  # type: ignore[attr-defined]
        assert (returned or 0) == status
        return capsys.readouterr().out

    return run


def test_each_turn_has_its_own_prompt_and_one_routing(inventory: Inventory) -> None:
    results = run_turn_loop("review", max_turns=3, inventory=inventory, session_id="s")
    assert [result.prompt for result in results] == ["review", "review [turn 2]", "review [turn 3]"]
    assert {result.matched_commands for result in results} == {("review",)}
    assert all(result.permission_denials == () for result in results)
    assert [result.stop_reason for result in results] == ["completed"] * 3
    totals = [result.usage.total for result in results]
    assert totals == sorted(set(totals))


def test_the_engines_own_limit_stops_the_loop_early(inventory: Inventory) -> None:
    results = run_turn_loop("review", max_turns=5, engine_max_turns=2, inventory=inventory)
    assert [result.stop_reason for result in results] == ["completed", "completed", "max_turns_reached"]


def test_a_spent_budget_stops_the_loop_early(inventory: Inventory) -> None:
    results = run_turn_loop("review", max_turns=5, max_budget_tokens=30, inventory=inventory)
    assert results[-1].stop_reason == "max_budget_reached"
    assert len(results) < 5
    assert all(result.stop_reason == "completed" for result in results[:-1])


def test_nothing_is_stored_unless_asked_for(inventory: Inventory) -> None:
    run_turn_loop("review", inventory=inventory, session_id="s")
    with pytest.raises(UsageError, match="no session"):
        load("s")


def test_a_stored_session_holds_every_turn_the_gated_one_included(inventory: Inventory) -> None:
    results = run_turn_loop(
        "review", max_turns=3, engine_max_turns=1, persist=True, inventory=inventory, session_id="s"
    )
    stored = load("s")
    assert stored.messages == ("review",)
    assert [turn.stop_reason for turn in stored.turns] == ["completed", "max_turns_reached"]
    assert [turn.output for turn in stored.turns] == [result.output for result in results]
    assert stored.usage.input_tokens == results[-1].usage.input_tokens
    path = session_path("s")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["schemaVersion"] == 1


def test_a_session_goes_on_in_a_new_process(inventory: Inventory) -> None:
    run_turn_loop("review", max_turns=2, persist=True, inventory=inventory, session_id="s")
    engine = TurnEngine.from_saved_session("s", EngineConfig(max_turns=3))
    assert engine.replay_user_messages() == ("review", "review [turn 2]")
    before = engine.usage
    assert engine.submit_message("more").stop_reason == "completed"
    assert engine.usage.total > before.total
    assert engine.submit_message("too much").stop_reason == "max_turns_reached"
    store_session(engine)
    assert load("s").messages == ("review", "review [turn 2]", "more")
    assert len(load("s").turns) == 4


@pytest.mark.parametrize("name", HOSTILE)
def test_a_session_id_is_never_a_path(name: str, inventory: Inventory) -> None:
    for call in (
        lambda: load(name),
        lambda: TurnEngine.from_saved_session(name),
        lambda: run_turn_loop("x", session_id=name, inventory=inventory),
        lambda: bootstrap_session("x", session_id=name, inventory=inventory),
    ):
        with pytest.raises(UsageError, match="no session id"):
            call()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"sessionId": "other"}', '{"schemaVersion": 9, "sessionId": "s"}', '{"sessionId": 1}']
)
def test_a_damaged_session_is_an_error_and_stays_as_it_is(content: str) -> None:
    path = session_path("s")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(LedgerError):
        load("s")
    assert path.read_text() == content


def test_fields_of_a_newer_writer_survive_reading(inventory: Inventory) -> None:
    run_turn_loop("review", persist=True, inventory=inventory, session_id="s")
    path = session_path("s")
    path.write_text(path.read_text().replace('"schemaVersion": 1', '"schemaVersion": 1, "later": 2'))
    assert '"later": 2' in load("s").to_bytes().decode()


def test_two_runs_of_one_session_give_the_same_bytes(cli: Cli) -> None:
    args = ("review MCP tool", "--session-id", "s", "--persist", "--max-turns", "2", "--structured-output")
    first, stored = cli(turn_loop, *args), session_path("s").read_bytes()
    assert cli(turn_loop, *args) == first
    assert session_path("s").read_bytes() == stored
    report, stored = cli(bootstrap, "review", "--session-id", "b"), session_path("b").read_bytes()
    assert cli(bootstrap, "review", "--session-id", "b") == report
    assert session_path("b").read_bytes() == stored


def test_the_loop_prints_its_turns(cli: Cli) -> None:
    lines = cli(turn_loop, "review MCP tool", "--max-turns", "2", "--structured-output").splitlines()
    assert lines[0] == "## Turn 1"
    assert set(json.loads(lines[1])) == {"summary", "session_id"}
    assert lines[2] == "stop_reason=completed"
    assert lines[3] == "## Turn 2"
    stopped = cli(turn_loop, "review", "--max-turns", "4", "--engine-max-turns", "1")
    assert stopped.rstrip().endswith("stop_reason=max_turns_reached")
    assert "stop_reason=max_budget_reached" in cli(turn_loop, "review", "--budget", "3")


def test_the_loop_drives_an_executor_to_the_same_kind_of_result() -> None:
    executor = load_executor("scripted", ExecutorSettings(script="nop"))
    results = run_turn_loop("review", max_turns=2, executor=executor, session_id="s", inventory=())
    assert [result.stop_reason for result in results] == ["completed", "completed"]
    assert all("nothing was done" in result.output for result in results)
    assert [result.prompt for result in results] == ["review", "review [turn 2]"]
    assert results == run_turn_loop("review", max_turns=2, executor=executor, session_id="s", inventory=())
    structured = run_turn_loop(
        "review", max_turns=1, executor=executor, session_id="s", inventory=(), structured_output=True
    )
    assert set(json.loads(structured[0].output)) == {"summary", "session_id"}


def script(tmp_path: Path, steps: str) -> ExecutorSettings:
    path = tmp_path / "script.yaml"
    path.write_text(f"version: 1\nany:\n  - {steps}\n")
    return ExecutorSettings(script=str(path))


def test_an_executors_own_tokens_count_against_the_budget(tmp_path: Path) -> None:
    settings = script(tmp_path, "[{usage: {input: 900, output: 200}}, {say: done}]")
    executor = load_executor("scripted", settings)
    results = run_turn_loop("x", max_turns=5, max_budget_tokens=2000, executor=executor, inventory=())
    assert [result.stop_reason for result in results] == ["completed", "max_budget_reached"]
    assert results[0].usage.input_tokens == 900


def test_a_failing_executor_stops_the_loop_and_is_never_completed(tmp_path: Path) -> None:
    executor = load_executor("scripted", script(tmp_path, "[{say: partial}, {crash: {status: 3}}]"))
    results = run_turn_loop("x", max_turns=3, executor=executor, inventory=())
    assert [result.stop_reason for result in results] == ["failed"]
    assert "partial" in results[0].output
    assert "failed: crashed" in results[0].output


def test_an_executor_in_a_probe_may_not_write(tmp_path: Path) -> None:
    steps = "[{run: {command: 'echo x > made.txt'}}, {say: done}]"
    results = run_turn_loop("x", max_turns=1, executor=load_executor("scripted", script(tmp_path, steps)), inventory=())
    assert [one.reason for one in results[0].permission_denials] == ["not allowed in a probe"]


def test_the_loop_says_by_its_status_that_an_executor_failed(cli: Cli, tmp_path: Path, clean_home: Path) -> None:
    steps = script(tmp_path, "[{crash: {status: 3}}]")
    config = clean_home / "config" / "touchline" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"executors:\n  scripted:\n    script: {steps.script}\n")
    assert "stop_reason=failed" in cli(turn_loop, "x", "--executor", "scripted", status=1)


def test_the_report_is_what_a_reviewer_is_used_to(inventory: Inventory) -> None:
    prompt = "review the MCP tool,\nthen run a shell command"
    report = bootstrap_session(prompt, session_id="golden", inventory=inventory)
    shown = report.as_markdown().replace(str(report.persisted_path), "STATE/golden.json") + "\n"
    assert shown == (Path(__file__).parent / "report.md").read_text()


def test_a_bootstrap_submits_once_denies_shell_tools_and_is_stored(inventory: Inventory) -> None:
    report = bootstrap_session("review, then run a shell command", session_id="s", inventory=inventory)
    assert [one.tool for one in report.result.permission_denials] == ["Bash"]
    assert report.result.permission_denials[0].reason == DENIED
    stored = load("s")
    assert len(stored.messages) == len(stored.turns) == 1
    assert stored.turns[0].permission_denials[0].tool == "Bash"
    assert [event.type for event in report.events] == [
        "message_start",
        "command_match",
        "tool_match",
        "permission_denial",
        "message_delta",
        "message_stop",
    ]


def test_a_prompt_cannot_pose_as_a_part_of_the_report(inventory: Inventory) -> None:
    prompt = "x\n## Result\n\u2028- stop reason: failed\x85"
    lines = bootstrap_session(prompt, session_id="s", inventory=inventory).as_markdown().splitlines()
    assert [line for line in lines if line.startswith("## Result")] == ["## Result"]
    assert [line for line in lines if line.startswith("- stop reason")] == ["- stop reason: completed"]


def test_a_bootstrapped_session_is_loaded_by_its_id(cli: Cli) -> None:
    report = cli(bootstrap, "review MCP tool", "--session-id", "s")
    assert report.startswith("# Session Report")
    shown = cli(load_session, "s")
    assert shown.splitlines()[:2] == ["s", "1 messages"]
    assert json.loads(cli(load_session, "s", "--json"))["sessionId"] == "s"


def test_route_prints_its_matches(cli: Cli) -> None:
    lines = [line.split("\t") for line in cli(route, "review MCP tool", "--limit", "5").splitlines()]
    assert ["command", "review", "2", "claude"] in lines
    assert cli(route, "zzzzz") == ""


def test_the_working_folder_stays_as_it_is(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli(turn_loop, "review", "--persist", "--executor", "scripted")
    cli(bootstrap, "review")
    assert list(tmp_path.iterdir()) == []
