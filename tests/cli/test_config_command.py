"""`touchline config` and `touchline init` (spec page 8)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.config import places

Touchline = Callable[..., Any]


@pytest.fixture
def here(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(repo)
    return repo


def test_init_writes_a_file_that_changes_nothing_and_never_overwrites_it(here: Path, touchline: Touchline) -> None:
    before = touchline("config", "show").out
    said = touchline("init")
    assert said.status == 0
    assert str(here / "touchline.yaml") in said.err
    assert touchline("config", "show").out == before
    (here / "touchline.yaml").write_text("# mine\n")
    said = touchline("init")
    assert said.status == 2
    assert "is left as it is" in said.err
    assert (here / "touchline.yaml").read_text() == "# mine\n"


def test_show_prints_every_value_and_where_it_comes_from(
    here: Path, touchline: Touchline, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "touchline.yaml").write_text("run:\n  max_turns: 3\nforge: {git.example.com: {driver: gitlab}}\n")
    monkeypatch.setenv("TOUCHLINE_CFG__RUN__SEVERITY", "7")
    lines = touchline("config", "show", "--origin").out.splitlines()
    assert f"run.max_turns = 3   # repository file {here}/touchline.yaml:2:3" in lines
    assert "run.severity = 7   # environment TOUCHLINE_CFG__RUN__SEVERITY" in lines
    assert "tests.timeout = 1800   # default" in lines
    assert any(line.startswith('forge."git.example.com".driver = "gitlab"   # repository file') for line in lines)
    assert "run.max_turns = 3" in touchline("config", "show").out.splitlines()


def test_each_deny_rule_stands_with_its_own_origin(
    here: Path, touchline: Touchline, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "touchline.yaml").write_text("permissions: {deny: ['bash(a   b)']}\n")
    monkeypatch.setenv("TOUCHLINE_CFG__PERMISSIONS__DENY", "['bash(c)']")
    lines = touchline("config", "show", "--origin").out.splitlines()
    assert f'permissions.deny[0] = "bash(a   b)"   # repository file {here}/touchline.yaml:1:22' in lines
    assert 'permissions.deny[1] = "bash(c)"   # environment TOUCHLINE_CFG__PERMISSIONS__DENY' in lines


def test_show_as_json_holds_settings_and_origins(here: Path, touchline: Touchline) -> None:
    (here / "touchline.yaml").write_text("run: {max_turns: 3}\n")
    found = json.loads(touchline("config", "show", "--json").out)
    assert found["settings"]["run"]["max_turns"] == 3
    assert found["origins"]["run.max_turns"] == {
        "level": "repository file",
        "place": f"{here}/touchline.yaml:1:7",
    }
    assert found["origins"]["run.severity"] == {"level": "default", "place": ""}


def test_what_may_be_a_secret_is_never_shown(here: Path, touchline: Touchline) -> None:
    token = "ghp_" + "a" * 36
    (here / "touchline.yaml").write_text(
        f"executors: {{a: {{env: {{PROXY: 'http://u:hunter2@x'}}, extra_args: ['{token}', \"\\e[31m\"]}}}}\n"
    )
    for argv in (("show",), ("show", "--json"), ("show", "--origin"), ("get", "executors.a")):
        said = touchline("config", *argv)
        assert said.status == 0
        assert "hunter2" not in said.out
        assert token not in said.out
        assert "\x1b" not in said.out
        assert "(hidden)" in said.out
    said = touchline("config", "check")
    assert said.status == 2
    assert "a value looks like a secret" in said.err
    assert token not in said.err


def test_get_prints_a_text_as_it_is_and_the_rest_as_json(here: Path, touchline: Touchline) -> None:
    (here / "touchline.yaml").write_text("run: {plans: docs}\ntests: {command: pytest -q}\nreviewers: []\n")
    assert touchline("config", "get", "run.plans").out == "docs\n"
    assert touchline("config", "get", "tests.command").out == '["pytest", "-q"]\n'
    assert touchline("config", "get", "run.max_turns").out == "10\n"
    assert touchline("config", "get", "run.executor").out == "null\n"
    assert touchline("config", "get", "executors.nobody.model").out == "null\n"
    assert touchline("config", "get", "reviewers[4].name").out == "null\n"


@pytest.mark.parametrize("command", [("get",), ("set",)])
def test_an_unknown_key_names_the_nearest_one(command: tuple[str, ...], here: Path, touchline: Touchline) -> None:
    value = ("1",) if command == ("set",) else ()
    said = touchline("config", *command, "run.max_turn", *value)
    assert said.status == 2
    assert "run.max_turn: unknown key; did you mean `max_turns`?" in said.err
    assert touchline("config", *command, "run.max_turns.x", *value).status == 2
    assert "is no key" in touchline("config", *command, "a..b", *value).err


def test_set_changes_one_value_and_keeps_comments(here: Path, touchline: Touchline) -> None:
    file = here / "touchline.yaml"
    file.write_text("# top\nrun:\n  max_turns: 3  # few\n\n# next\ntests: {}\n")
    assert touchline("config", "set", "run.max_turns", "8").status == 0
    assert touchline("config", "set", "tests.timeout", "5m").status == 0
    assert touchline("config", "set", "gates.review", "[one, 'two: 2']").status == 0
    assert file.read_text() == (
        "# top\nrun:\n  max_turns: 8  # few\n\n# next\ntests: {timeout: 5m}\n"
        "\ngates:\n  review:\n    - one\n    - 'two: 2'\n"
    )
    assert touchline("config", "get", "tests.timeout").out == "300\n"


def test_set_makes_the_file_that_is_missing_and_user_goes_to_the_user_file(here: Path, touchline: Touchline) -> None:
    assert touchline("config", "set", "run.severity", "3").status == 0
    assert touchline("config", "set", "--user", "run.max_turns", "4").status == 0
    assert (here / "touchline.yaml").read_text() == "run:\n  severity: 3\n"
    assert places.user_file(os.environ).read_text() == "run:\n  max_turns: 4\n"
    assert touchline("config", "set", "--file", str(here / "x.yaml"), "run.max_turns", "5").status == 0
    assert (here / "x.yaml").read_text() == "run:\n  max_turns: 5\n"
    assert touchline("config", "set", "--user", "--file", "x", "run.max_turns", "5").status == 2


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("run.severity", "11", "run.severity: expected at most 10"),
        ("run.severity", "high", "run.severity: expected a whole number"),
        ("run.severity", "", "the value is empty"),
        ("run.plans", "[a", "this is not YAML"),
        ("executors.Big.model", "x", "expected a name of lower-case letters"),
        ("executors.a.extra_args", "[ghp_" + "a" * 36 + "]", "this looks like a secret"),
        ("permissions.deny", "[rm]", "is no permission rule"),
    ],
)
def test_a_value_that_is_not_valid_leaves_the_file_alone(
    key: str, value: str, says: str, here: Path, touchline: Touchline
) -> None:
    (here / "touchline.yaml").write_text("# mine\n")
    said = touchline("config", "set", key, value)
    assert said.status == 2
    assert says in said.err
    assert (here / "touchline.yaml").read_text() == "# mine\n"


def test_check_names_each_good_file_and_fails_on_a_bad_one(here: Path, touchline: Touchline) -> None:
    assert touchline("config", "check").out == "no configuration file: the defaults are in effect\n"
    file = here / "touchline.yaml"
    file.write_text("run: {severity: 3}\n")
    assert touchline("config", "check").out == f"{file}: ok\n"
    file.write_text("run: {severiti: 3}\n")
    said = touchline("config", "check", str(file))
    assert said.status == 2
    assert f"{file}:1:7: run.severiti: unknown key; did you mean `severity`?" in said.err
    assert touchline("config", "check", "none.yaml").status == 2


def test_another_file_is_laid_over_with_the_config_option(here: Path, touchline: Touchline) -> None:
    (here / "more.yaml").write_text("run: {severity: 9}\n")
    assert touchline("config", "get", "run.severity", "--config", "more.yaml").out == "9\n"
    assert touchline("config", "get", "run.severity", "--config", "none.yaml").status == 2
