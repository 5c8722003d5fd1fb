"""A whole run on the real Claude Code, without any configuration; only the model behind it is scripted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from touchline.testing import ScriptedModel, find_cli
from touchline.testing.steps import Say, Shell

NOBODY = "http://127.0.0.1:9"


def environment(model_url: str) -> dict[str, str]:
    """What a user's shell would hold, with the model's address turned to the scripted one."""
    folder = Path(find_cli("claude")).parent
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "ANTHROPIC_API_KEY": "sk-ant-not-a-key-but-long-enough",
        "ANTHROPIC_BASE_URL": model_url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "HTTPS_PROXY": NOBODY,
        "HTTP_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1",
    }


def turn(value: int) -> tuple[Shell, Say]:
    report = {"changed": [{"path": "value.py", "why": "the plan"}], "tests": "not run", "receipts": []}
    if value == 3:
        report["receipts"] = [{"item": "1", "status": "addressed", "note": "now 3"}]  # type: ignore[assignment]
    trailer = json.dumps({"summary": f"set the value to {value}", "report": report})
    return Shell(f"printf 'VALUE = {value}\\n' > value.py"), Say(f"The value is set.\n{trailer}")


JUDGE = Say('I read the change.\n{"issues": []}')
EXERCISER = Say('I used it.\n{"status": "PASSED", "notes": "the value can be imported"}')


@pytest.mark.cli("claude")
@pytest.mark.smoke
@pytest.mark.slow
def test_two_turns_and_a_verdict_without_any_configuration(project: Any) -> None:
    with ScriptedModel() as model:
        model.play(*turn(1), JUDGE, EXERCISER, *turn(3), JUDGE, EXERCISER)
        ran = project.run(env=environment(model.url), timeout_s=120)
    assert ran.status == 0, ran.err
    assert ran.block["STATUS"] == "APPROVED_NO_PR"
    assert (ran.block["TURNS_USED"], ran.block["VERIFY_RUNS"]) == ("2 of 10", "2")
    assert ran.block["REVIEWER"] == "reviewer (Codex unavailable)"
    ledger = project.ledger
    assert [row["decision"] for row in ledger["verificationRuns"]] == ["FEEDBACK", "APPROVED"]
    assert [row["settlement"]["kind"] for row in ledger["turns"]] == ["finished", "finished"]
    assert [row["changedPaths"] for row in ledger["turns"]] == [["value.py"], ["value.py"]]
    assert all(row["usage"]["input"] > 0 for row in ledger["turns"])
    sent = [json.dumps(request.body) for request in model.requests]
    assert any("You are the player on turn 1 of 10" in text for text in sent)
    assert any("turn 2 of 10" in text and "TOTAL BLOCKING ITEMS: 1" in text for text in sent)
    sessions = {row["sessionId"] for row in ledger["turns"]}
    assert len(sessions) == 2
    everything = "".join(
        path.read_bytes().decode("utf-8", "replace") for path in project.folder.rglob("*") if path.is_file()
    )
    assert "sk-ant-not-a-key-but-long-enough" not in everything + ran.err + ran.out


@pytest.mark.cli("claude")
@pytest.mark.slow
def test_a_push_is_denied_with_a_reason_that_the_model_sees(project: Any) -> None:
    with ScriptedModel() as model:
        model.play(Shell("cd . && git push origin main"), *turn(3), JUDGE, EXERCISER)
        ran = project.run(env=environment(model.url), timeout_s=120)
    assert ran.status == 0, ran.err
    assert any("Denied by the permission policy" in json.dumps(request.body) for request in model.requests)
    assert any("denied by the permission policy" in concern for concern in project.ledger["turns"][0]["concerns"])


@pytest.mark.cli("claude")
@pytest.mark.smoke
@pytest.mark.slow
def test_a_cli_that_is_not_logged_in_ends_failed_run_and_says_so(project: Any) -> None:
    with ScriptedModel() as model:
        env = environment(model.url)
        env["ANTHROPIC_API_KEY"] = ""
        ran = project.run(env=env, timeout_s=120)
    assert (ran.status, ran.block["STATUS"]) == (1, "FAILED_RUN"), ran.err
    assert "log in" in ran.err.lower() or "login" in ran.err.lower()
    assert "Traceback" not in ran.err
