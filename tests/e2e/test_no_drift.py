"""The same plan and the same behaviour of the model end the same way on every executor (spec page 2).

What may differ is only what `DIFFERENCES` names; names, ids, usage and times are not compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from touchline.executor import ExecutorSettings, Rehearses
from touchline.plugins.load import load_executor
from touchline.testing import ScriptedModel, find_cli
from touchline.testing.anthropic import AnthropicMessages
from touchline.testing.openai_chat import OpenAIChat
from touchline.testing.openai_responses import OpenAIResponses
from touchline.testing.steps import Cut, HttpError, Say, Shell, Step

CLIS = ("claude", "codex", "opencode", "grok")
DIALECTS = {"anthropic-messages": AnthropicMessages, "openai-responses": OpenAIResponses, "openai-chat": OpenAIChat}
WRITE = Shell("printf 'VALUE = 3\\n' > value.py")
DONE = Say('Done.\n{"summary": "set the value", "report": {"tests": "not run"}}')
LIE = Say('Done.\n{"branch": "main", "commit": "0123456789abcdef0123456789abcdef01234567", "summary": "set it"}')


@dataclass(frozen=True)
class Scenario:
    """What the model does, and what the ledger must show of it."""

    steps: tuple[Step, ...]
    ending: tuple[int, str]
    settlement: str | None
    failure: str | None = None
    attempts: tuple[str, ...] = ()
    changed: bool = True
    gates: tuple[str, ...] = ()
    denied: bool = False
    assumptions: int = 0


APPROVED, SPENT = (0, "APPROVED_NO_PR"), (3, "TURN_LIMIT_VERIFY")
SCENARIOS = {
    "finish": Scenario((WRITE, DONE), APPROVED, "finished"),
    "undeclared": Scenario((WRITE, Say("All is done.")), SPENT, "undeclared", gates=("turn-discipline",)),
    "ask": Scenario((WRITE, Say('{"ask": "which value?"}'), DONE), APPROVED, "finished", assumptions=1),
    "denied": Scenario((Shell("git push origin main"), WRITE, DONE), APPROVED, "finished", denied=True),
    "lie": Scenario((WRITE, LIE), SPENT, "undeclared", gates=("turn-discipline",)),
    "not-logged-in": Scenario(
        (HttpError(401, "bad key"),), (1, "FAILED_RUN"), None, attempts=("not-authenticated",), changed=False
    ),
    "cut": Scenario(
        (WRITE, Cut()),
        SPENT,
        "failed",
        failure="model-error",
        attempts=("model-error", "model-error"),
        gates=("turn-discipline",),
    ),
    "kill": Scenario(
        (WRITE, Shell("kill -9 $PPID; sleep 300")), SPENT, "failed", failure="crashed", gates=("turn-discipline",)
    ),
}

DIFFERENCES: dict[tuple[str, str], dict[str, object]] = {}
"""(executor, scenario) -> fields of the scenario that are otherwise there, each with its reason as a comment."""


@dataclass
class Ready:
    """An executor that is turned to the local model."""

    name: str
    env: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)


def turned(name: str, model_url: str) -> Ready:
    command = find_cli(name)
    executor = load_executor(name, ExecutorSettings(command=(command,)))
    assert isinstance(executor, Rehearses)
    rehearsal = executor.rehearsal(model_url)
    extra = list(rehearsal.extra_args)
    if name == "codex":
        # Inside of its sandbox a tool has other process numbers, and could not kill it.
        extra += ["-c", "sandbox_mode=danger-full-access"]
    return Ready(name, dict(rehearsal.env), {"command": [command], "extra_args": extra})


def shown(project: Any, ran: Any) -> dict[str, object]:
    """What of the last run on the change is compared."""
    ledger = project.ledger
    number = ledger["runNumber"]
    (turn,) = [row for row in ledger["turns"] if row["runNumber"] == number]
    verified = [row for row in ledger["verificationRuns"] if row["runNumber"] == number]
    settlement = turn["settlement"] or {}
    return {
        "ending": (ran.status, ran.block["STATUS"]),
        "settlement": settlement.get("kind"),
        "failure": settlement.get("failure"),
        "attempts": tuple(one["kind"] for one in turn["attempts"]),
        "changed": (project.path / "value.py").exists(),
        "gates": tuple(gate["gate"] for row in verified for gate in row["gates"]),
        "denied": any("denied by the permission policy" in concern for concern in turn["concerns"]),
        "assumptions": len(ledger["run"]["assumptions"]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.cli(name)) for name in CLIS])
def test_every_cli_ends_as_the_scenario_says(project: Any, name: str, scenario: str) -> None:
    wanted = SCENARIOS[scenario]
    api = rehearsed_api(name)
    with ScriptedModel(DIALECTS[api]()) as model:
        ready = turned(name, model.url)
        configure(project, {name: ready.settings}, name)
        model.play(*wanted.steps)
        ran = project.run("--max-turns", "1", env=ready.env, timeout_s=240)
    expected = {**vars(wanted), **DIFFERENCES.get((name, scenario), {})}
    expected.pop("steps")
    assert shown(project, ran) == expected, ran.err


def test_the_scripted_executor_ends_as_every_cli_does(project: Any, tmp_path: Path) -> None:
    scripts: dict[str, list[Any]] = {
        "finish": [{"write": {"path": "value.py", "content": "VALUE = 3\n"}}, {"finish": {"summary": "set the value"}}],
        "undeclared": [{"write": {"path": "value.py", "content": "VALUE = 3\n"}}, {"end": "All is done."}],
        "lie": [
            {"write": {"path": "value.py", "content": "VALUE = 3\n"}},
            {"lie": {"branch": "main", "commit": "0123456789abcdef0123456789abcdef01234567", "summary": "set it"}},
        ],
        "denied": [
            {"run": {"command": "git push origin main"}},
            {"write": {"path": "value.py", "content": "VALUE = 3\n"}},
            {"finish": {"summary": "set the value"}},
        ],
        "not-logged-in": [{"fail": {"kind": "not-authenticated", "reason": "bad key"}}],
        "kill": [{"write": {"path": "value.py", "content": "VALUE = 3\n"}}, {"crash": {"signal": "KILL"}}],
    }
    for scenario, steps in scripts.items():
        (tmp_path / "script.json").write_text(json.dumps({"version": 1, "any": [steps]}))
        configure(project, {"play": {"driver": "scripted", "script": str(tmp_path / "script.json")}}, "play")
        ran = project.run("--max-turns", "1", "--new")
        wanted = vars(SCENARIOS[scenario]).copy()
        wanted.pop("steps")
        assert shown(project, ran) == wanted, f"{scenario}: {ran.err}"
        (project.path / "value.py").unlink(missing_ok=True)


def rehearsed_api(name: str) -> str:
    """Which API the CLI speaks; asked before there is a server."""
    executor = load_executor(name, ExecutorSettings(command=(find_cli(name),)))
    assert isinstance(executor, Rehearses)
    return executor.rehearsal("http://127.0.0.1:1").api


def configure(project: Any, executors: dict[str, Any], name: str) -> None:
    settings = {
        "executors": executors,
        "run": {"executor": name},
        "reviewers": [{"name": "judge", "command": ["true"]}],
        "exerciser": {"command": ["true"]},
        "tests": {"enabled": False},
        "permissions": {"allow": ["bash(kill *)"]},
    }
    (project.path / "touchline.yaml").write_text(json.dumps(settings))
    project.git("add", "--all")
    project.git("commit", "--quiet", "--allow-empty", "--message", "Configure")
