"""A whole run on the real Codex as player, judge and exerciser; only the model behind it is scripted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from touchline.testing import ScriptedModel, find_cli
from touchline.testing.openai_responses import OpenAIResponses
from touchline.testing.steps import Say, Shell

pytestmark = [pytest.mark.cli("codex"), pytest.mark.slow]

KEY = "sk-not-a-key-but-long-enough"
NOBODY = "http://127.0.0.1:9"
CONFIG = """\
model = "{model}"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""
JUDGE = Say('I read the change.\n{"issues": []}')
EXERCISER = Say('I used it.\n{"status": "PASSED", "notes": "the value can be imported"}')


def environment(model_url: str, *, model: str = "gpt-5.5") -> dict[str, str]:
    """What a user's shell and home would hold, with Codex on PATH and the model's address turned around."""
    home = Path(os.environ["HOME"]) / ".codex"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(CONFIG.format(model=model, url=model_url))
    program = home / "bin" / "codex"
    program.parent.mkdir()
    program.symlink_to(Path(find_cli("codex")).resolve())
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "SCRIPTED_KEY": KEY,
        "HTTPS_PROXY": NOBODY,
        "HTTP_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1",
    }


def turn(value: int) -> tuple[Shell, Say]:
    report: dict[str, Any] = {"changed": [{"path": "value.py", "why": "the plan"}], "tests": "not run", "receipts": []}
    if value == 3:
        report["receipts"] = [{"item": "1", "status": "addressed", "note": "now 3"}]
    trailer = json.dumps({"summary": f"set the value to {value}", "report": report})
    return Shell(f"printf 'VALUE = {value}\\n' > value.py"), Say(f"The value is set.\n{trailer}")


@pytest.mark.parametrize("name", ["gpt-5.5", "gpt-6.2-sol"])
def test_two_turns_and_a_verdict_of_codex_alone(project: Any, name: str) -> None:
    with ScriptedModel(OpenAIResponses()) as model:
        model.play(*turn(1), JUDGE, EXERCISER, *turn(3), JUDGE, EXERCISER)
        env = environment(model.url, model=name)
        before = (Path(os.environ["HOME"]) / ".codex" / "config.toml").read_bytes()
        ran = project.run("--executor", "codex", env=env, timeout_s=120)
    assert ran.status == 0, ran.err
    assert ran.block["STATUS"] == "APPROVED_NO_PR"
    assert (ran.block["TURNS_USED"], ran.block["VERIFY_RUNS"]) == ("2 of 10", "2")
    assert ran.block["REVIEWER"] == "codex-reviewer"
    ledger = project.ledger
    assert [row["decision"] for row in ledger["verificationRuns"]] == ["FEEDBACK", "APPROVED"]
    assert [row["settlement"]["kind"] for row in ledger["turns"]] == ["finished", "finished"]
    assert [row["changedPaths"] for row in ledger["turns"]] == [["value.py"], ["value.py"]]
    assert all(row["usage"]["input"] > 0 for row in ledger["turns"])
    sent = [json.dumps(request.body) for request in model.requests]
    assert any("turn 2 of 10" in text and "TOTAL BLOCKING ITEMS: 1" in text for text in sent)
    assert (Path(os.environ["HOME"]) / ".codex" / "config.toml").read_bytes() == before
    assert [path.name for path in (Path(os.environ["HOME"]) / ".codex").iterdir() if path.name != "bin"] == [
        "config.toml"
    ]
    everything = b"".join(path.read_bytes() for path in project.folder.rglob("*") if path.is_file())
    assert KEY not in everything.decode("utf-8", "replace") + ran.err + ran.out


def test_a_push_is_denied_with_a_reason_that_the_model_sees(project: Any) -> None:
    with ScriptedModel(OpenAIResponses()) as model:
        model.play(Shell("cd . && git push origin main"), *turn(3), JUDGE, EXERCISER)
        ran = project.run("--executor", "codex", env=environment(model.url), timeout_s=120)
    assert ran.status == 0, ran.err
    assert any("Denied by the permission policy" in json.dumps(request.body) for request in model.requests)
    assert any("denied by the permission policy" in concern for concern in project.ledger["turns"][0]["concerns"])


def test_a_provider_without_its_key_ends_failed_run_and_says_so(project: Any) -> None:
    with ScriptedModel(OpenAIResponses()) as model:
        env = {**environment(model.url), "SCRIPTED_KEY": ""}
        ran = project.run("--executor", "codex", env=env, timeout_s=120)
    assert (ran.status, ran.block["STATUS"]) == (1, "FAILED_RUN"), ran.err
    assert "SCRIPTED_KEY" in ran.err
    assert "Traceback" not in ran.err
    assert model.requests == []
