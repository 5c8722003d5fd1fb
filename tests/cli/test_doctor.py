"""`touchline doctor`: what is there, what is wrong, and what to do about it (spec page 8)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.commands.doctor_checks import Check, examine

Touchline = Callable[..., Any]

SLOW = """
import pathlib, time
class Slow:
    name = "slow"
    api_version = 1
    capabilities = frozenset()
    def __init__(self, settings): ...
    def check(self):
        while not pathlib.Path({flag!r}).exists(): time.sleep(0.02)
    def run_turn(self, request, host): ...
    def settle_without_work(self, a, b, c): ...
"""


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_a_usable_place_is_reported_line_by_line(repo: Path) -> None:
    found = by_name(examine(repo, os.environ))
    for name in ("python", "git", "repository", "git identity", "state folder", "configuration", "plugins"):
        assert found[name].status == "ok", found[name]
    assert found["repository"].detail == f"{repo}, branch main"
    assert found["git identity"].detail == "Test <test@example.invalid>"
    assert found["executor scripted"].status == "ok"
    assert (found["remotes"].status, found["remotes"].detail) == ("warning", "none")


def test_every_problem_and_warning_has_a_fix(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "touchline.yaml").write_text("run: {x: 1}")
    monkeypatch.setenv("XDG_STATE_HOME", str(repo / ".git"))
    monkeypatch.setenv("PATH", "/nonexistent")
    checks = examine(repo, os.environ)
    wrong = [check for check in checks if check.status != "ok"]
    assert {check.name for check in wrong} >= {"git", "repository", "state folder", "configuration", "executors"}
    assert [check.name for check in wrong if not check.fix] == []


def test_no_model_cli_is_a_problem_although_the_scripted_executor_works(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = by_name(examine(repo, os.environ))
    assert found["executor scripted"].status == "ok"
    assert found["executor claude"].status == "warning"
    assert found["executors"].status == "problem"
    assert "touchline demo" in found["executors"].fix


def test_the_configured_player_that_cannot_be_used_is_a_problem_and_others_are_rows(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    (repo / "touchline.yaml").write_text("run: {executor: claude}")
    found = by_name(examine(repo, os.environ))
    assert found["executor claude"].status == "problem"
    assert found["executor claude"].fix
    assert found["executor codex"].status == "warning"


def test_a_missing_identity_says_which_commands_set_it(repo: Path, clean_home: Path) -> None:
    (clean_home / "gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    check = by_name(examine(repo, os.environ))["git identity"]
    assert check.status == "problem"
    assert "git config --global user.name" in check.fix


def test_a_folder_without_repository_or_commit_is_a_problem(tmp_path: Path) -> None:
    assert by_name(examine(tmp_path, os.environ))["repository"].status == "problem"
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    check = by_name(examine(tmp_path, os.environ))["repository"]
    assert (check.status, check.fix) == ("problem", "Make a first commit.")


def test_a_configuration_that_is_not_valid_is_a_problem_with_its_place(repo: Path) -> None:
    (repo / "touchline.yaml").write_text("run: {max_turn: 1}")
    check = by_name(examine(repo, os.environ))["configuration"]
    assert check.status == "problem"
    assert "touchline.yaml:1:7: run.max_turn: unknown key" in check.detail


def test_a_stored_secret_is_a_problem_and_not_shown(repo: Path) -> None:
    token = "ghp_" + "a" * 36
    (repo / "touchline.yaml").write_text(f"executors: {{scripted: {{extra_args: [{token}]}}}}")
    check = by_name(examine(repo, os.environ))["configuration"]
    assert check.status == "problem"
    assert token not in check.detail + check.fix


def test_a_state_folder_inside_the_repository_is_a_problem(repo: Path) -> None:
    check = by_name(examine(repo, {**os.environ, "XDG_STATE_HOME": str(repo / "state")}))["state folder"]
    assert check.status == "problem"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """plugin(name, source) installs an executor of a third party for this process."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def install(name: str, source: str) -> None:
        (site / f"tl_{name}_driver.py").write_text(source)
        metadata = site / f"{name}-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[touchline.executors]\n{name} = tl_{name}_driver:Slow\n")

    return install


def test_a_broken_plugin_is_named_with_the_way_out(repo: Path, plugin: Callable[[str, str], None]) -> None:
    plugin("broken", "import not_there")
    found = by_name(examine(repo, os.environ))
    assert found["plugin broken"].status == "problem"
    assert "not_there" in found["plugin broken"].detail
    assert "TOUCHLINE_DISABLE_PLUGINS=broken" in found["plugin broken"].fix
    assert found["executor scripted"].status == "ok"


def test_an_executor_whose_check_hangs_does_not_hold_up_the_others(
    repo: Path, tmp_path: Path, plugin: Callable[[str, str], None]
) -> None:
    plugin("slow", SLOW.format(flag=str(tmp_path / "over")))
    found = by_name(examine(repo, os.environ, check_timeout_s=0.5))
    (tmp_path / "over").touch()
    assert "did not answer within 0.5 s" in found["executor slow"].detail
    assert "executor scripted" in found


def test_inside_a_run_the_doctor_says_so(repo: Path) -> None:
    check = by_name(examine(repo, {**os.environ, "TOUCHLINE_RUN": "20261201000000"}))["surroundings"]
    assert check.status == "warning"


def test_json_and_exit_status_agree(repo: Path, touchline: Touchline) -> None:
    (repo / "touchline.yaml").write_text("run: {max_turn: 1}")
    said = touchline("doctor", "--json", "--repo", str(repo))
    found = json.loads(said.out)
    assert (said.status, found["ok"]) == (1, False)
    assert {"name", "status", "detail", "fix"} == set(found["checks"][0])
    lines = touchline("doctor", "--repo", str(repo)).out.splitlines()
    assert any(line.startswith("problem  configuration") for line in lines)
    assert any("-> " in line for line in lines)
