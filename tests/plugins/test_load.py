"""Drivers of other distributions: found, refused with the culprit's name, and never in each other's way."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline.errors import PluginLoadError
from touchline.executor import ExecutorSettings
from touchline.plugins.load import driver_names, load_driver_class, load_executor, load_executor_class

Install = Callable[..., Path]
Listed = Callable[..., dict[str, dict[str, Any]]]
Python = Callable[..., subprocess.CompletedProcess[str]]

GROUP = "touchline.executors"
LOAD = "from touchline.executor import ExecutorSettings as S; from touchline.plugins.load import load_executor as l; "


def source(name: str, *, version: object = 1, lacks: str = "") -> str:
    members = {"check": "self", "run_turn": "self, request, host", "settle_without_work": "self, a, b, c"}
    lines = [f"class {name}:", f"    name = '{name}'", "    capabilities = frozenset()"]
    if version is not None:
        lines.append(f"    api_version = {version!r}")
    lines += [f"    def {one}({arguments}): ..." for one, arguments in members.items() if one != lacks]
    return "\n".join([*lines, "    def __init__(self, settings): self.settings = settings", ""])


def load(python: Python, name: str, **environ: str) -> str:
    """What loading says in a fresh process: the class's name, or the refusal."""
    program = (
        f"from touchline.errors import PluginLoadError\n{LOAD}\n"
        f"try: print('loaded', type(l({name!r}, S())).__name__)\n"
        "except PluginLoadError as exc: print('refused', exc)\n"
    )
    done = python("-c", program, **environ)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def test_a_separately_installed_executor_is_found_and_loaded(aider: str, python: Python, listed: Listed) -> None:
    assert load(python, aider) == "loaded Aider\n"
    row = listed()["aider touchline-aider"]
    assert (row["kind"], row["version"], row["api_version"]) == ("executor", "2.3", 1)
    assert row["capabilities"] == ["resume"]
    assert row["error"] == ""


def test_only_the_named_driver_is_imported(aider: str, install: Install, python: Python) -> None:
    install("other", "1", {GROUP: {"other": "other_driver:Other"}}, {"other_driver.py": source("Other")})
    program = f"{LOAD}l('aider', S()); import sys; print('other_driver' in sys.modules)"
    assert python("-c", program).stdout == "False\n"


def test_names_are_told_without_importing_anything(install: Install, python: Python) -> None:
    install("bad", "1", {GROUP: {"bad": "bad_driver:Bad"}}, {"bad_driver.py": "raise SystemExit('imported')"})
    done = python("-c", "from touchline.plugins.load import driver_names as d; print('bad' in d('executor'))")
    assert done.stdout == "True\n"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
        ("def", "SyntaxError"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("assert 1 == 2, 'no'", "AssertionError: no"),
        ("", "AttributeError"),
    ],
)
def test_a_driver_that_cannot_be_imported_is_refused_by_name_with_its_reason(
    code: str, reason: str, install: Install, python: Python
) -> None:
    install("touchline-quokka", "0.4", {GROUP: {"quokka": "quokka_driver:Quokka"}}, {"quokka_driver.py": code})
    said = load(python, "quokka")
    assert said.startswith(
        "refused executor 'quokka' from touchline-quokka 0.4 (quokka_driver:Quokka) failed to load: "
    )
    assert reason in said


def test_a_broken_driver_is_listed_as_such_and_breaks_no_other(
    install: Install, aider: str, python: Python, listed: Listed
) -> None:
    install(
        "touchline-quokka", "0.4", {GROUP: {"quokka": "quokka_driver:Quokka"}}, {"quokka_driver.py": "import not_there"}
    )
    rows = listed()
    assert "No module named 'not_there'" in rows["quokka touchline-quokka"]["error"]
    assert rows["aider touchline-aider"]["error"] == ""
    assert load(python, aider) == "loaded Aider\n"


def test_two_plugins_of_one_name_are_an_error_that_names_both_distributions(
    install: Install, aider: str, python: Python, listed: Listed
) -> None:
    install("rival", "7", {GROUP: {"aider": "rival_driver:Rival"}}, {"rival_driver.py": source("Rival")})
    said = load(python, aider)
    assert "more than one distribution provides executor 'aider'" in said
    assert "touchline-aider 2.3 (aider_driver.executor:Aider)" in said
    assert "rival 7 (rival_driver:Rival)" in said
    rows = listed()
    assert "more than one distribution" in rows["aider rival"]["error"]
    assert "more than one distribution" in rows["aider touchline-aider"]["error"]


@pytest.mark.parametrize(
    ("version", "spoken"),
    [(2, "speaks plugin API 2"), ("1", "speaks plugin API 1"), (None, "declares no `api_version`")],
)
def test_another_api_version_is_a_clear_error(version: object, spoken: str, install: Install, python: Python) -> None:
    install("new", "1", {GROUP: {"new": "new_driver:New"}}, {"new_driver.py": source("New", version=version)})
    assert f"executor 'new' from new 1 (new_driver:New) {spoken}, touchline speaks 1" in load(python, "new")


def test_a_driver_without_a_member_of_the_contract_says_which(install: Install, python: Python) -> None:
    install("half", "1", {GROUP: {"half": "half_driver:Half"}}, {"half_driver.py": source("Half", lacks="check")})
    assert "from half 1 (half_driver:Half) lacks check" in load(python, "half")


def test_an_entry_point_that_is_no_class_is_refused(install: Install, python: Python) -> None:
    install("fn", "1", {GROUP: {"fn": "fn_driver:make"}}, {"fn_driver.py": "def make(settings): ..."})
    assert "from fn 1 (fn_driver:make) is no class" in load(python, "fn")


def test_a_driver_whose_constructor_raises_is_a_plugin_error(install: Install, python: Python) -> None:
    code = source("Odd").replace("self.settings = settings", "raise KeyError('x')")
    install("odd", "1", {GROUP: {"odd": "odd_driver:Odd"}}, {"odd_driver.py": code})
    assert "refused executor 'odd' could not be built: KeyError: 'x'" in load(python, "odd")


def test_a_disabled_plugin_is_neither_listed_for_use_nor_imported(
    install: Install, python: Python, listed: Listed
) -> None:
    install("bad", "1", {GROUP: {"bad": "bad_driver:Bad"}}, {"bad_driver.py": "raise SystemExit('imported')"})
    row = listed(TOUCHLINE_DISABLE_PLUGINS="x, bad")["bad bad"]
    assert (row["disabled"], row["error"]) == (True, "")
    assert "is switched off by TOUCHLINE_DISABLE_PLUGINS" in load(python, "bad", TOUCHLINE_DISABLE_PLUGINS="bad")
    assert "scripted" not in driver_names("executor", environ={"TOUCHLINE_DISABLE_PLUGINS": "scripted"})


def test_a_driver_installed_after_the_first_look_is_found(
    site: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(site))
    load_executor_class("scripted", environ={})
    install("late", "1", {GROUP: {"late": "tl_late_driver:Late"}}, {"tl_late_driver.py": source("Late")})
    assert load_executor_class("late", environ={}).__name__ == "Late"


def test_an_unknown_name_says_what_is_installed() -> None:
    with pytest.raises(PluginLoadError, match=r"no executor 'nope' is installed; installed: .*scripted"):
        load_executor_class("nope", environ={})
    with pytest.raises(PluginLoadError, match="no forge 'nope' is installed"):
        load_driver_class("forge", "nope", environ={})


def test_our_own_drivers_are_installed_and_load() -> None:
    assert {"claude", "scripted"} <= set(driver_names("executor", environ={}))
    assert load_executor("scripted", ExecutorSettings(), environ={}).name == "scripted"


def test_the_table_of_plugins_for_people_names_the_broken_one(install: Install, python: Python) -> None:
    install("bad", "1", {GROUP: {"bad": "bad_driver:Bad"}}, {"bad_driver.py": "raise ValueError('\\x1b[31mred')"})
    done = python("-m", "touchline", "plugins")
    assert "BROKEN: executor 'bad' from bad 1" in done.stdout
    assert "\x1b" not in done.stdout
    assert "executor  scripted" in done.stdout
