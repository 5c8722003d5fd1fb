"""Hooks: everyone is told, one at a time; no hook ends a run; gates fail closed (spec page 8)."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pluggy
import pytest

from touchline.documents.report import CustomGate
from touchline.errors import PluginLoadError
from touchline.executor import PermissionAsked, TextDelta
from touchline.plugins import hookspecs
from touchline.plugins.hook_loading import load_hooks
from touchline.plugins.hooks import Hooks
from touchline.plugins.hookspecs import hookimpl

LEDGER: Any = SimpleNamespace(name="ledger")
REPORT: Any = SimpleNamespace(name="report")
FOLDER = Path("/run")

Install = Callable[..., Path]
Python = Callable[..., subprocess.CompletedProcess[str]]
Listed = Callable[..., dict[str, dict[str, Any]]]


def hooks_of(said: list[str], **plugins: object) -> Hooks:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    for name, plugin in plugins.items():
        manager.register(plugin, name)
    return Hooks(manager=manager, say=said.append)


class Witness:
    """Keeps everything that it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    @hookimpl
    def touchline_run_started(self, ledger: Any, folder: Path) -> None:
        self.told.append(("started", ledger, folder))

    @hookimpl
    def touchline_run_ended(self, ledger: Any, folder: Path, status: str, reason: str) -> None:
        self.told.append(("ended", ledger, folder, status, reason))

    @hookimpl
    def touchline_step_planned(self, ledger: Any, step: str) -> None:
        self.told.append(("planned", ledger, step))

    @hookimpl
    def touchline_step_performed(self, ledger: Any, step: str, duration_s: float) -> None:
        self.told.append(("performed", ledger, step, duration_s))

    @hookimpl
    def touchline_event(self, turn: int, event: Any) -> None:
        self.told.append(("event", turn, event))

    @hookimpl
    def touchline_permission_asked(self, turn: int, asked: Any) -> None:
        self.told.append(("asked", turn, asked))

    @hookimpl
    def touchline_prompt_discipline(self, role: str) -> str:
        return f"rule for {role}"

    @hookimpl
    def touchline_gate(self, ledger: Any, report: Any, work_tree: Path) -> list[CustomGate]:
        return [CustomGate(rule="mine", status="PASS", evidence=str(work_tree))]

    @hookimpl
    def touchline_body_section(self, ledger: Any) -> tuple[str, str]:
        return "Title", "text"


class Raiser:
    """Raises from every hook that it implements."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    @hookimpl
    def touchline_run_started(self) -> None:
        raise self.error

    @hookimpl
    def touchline_event(self) -> None:
        raise self.error

    @hookimpl
    def touchline_prompt_discipline(self) -> str:
        raise self.error

    @hookimpl
    def touchline_gate(self) -> list[CustomGate]:
        raise self.error

    @hookimpl
    def touchline_body_section(self) -> tuple[str, str]:
        raise self.error


def tell_all(hooks: Hooks) -> None:
    hooks.run_started(LEDGER, FOLDER)
    hooks.run_ended(LEDGER, FOLDER, status="FAILED_RUN", reason="why")
    hooks.step_planned(LEDGER, "Verify")
    hooks.step_performed(LEDGER, "Verify", duration_s=1.5)
    hooks.event(2, TextDelta("x"))
    hooks.permission_asked(2, PermissionAsked(id="1", tool="bash"))


def test_every_hook_reaches_a_plugin_with_its_arguments() -> None:
    witness, said = Witness(), list[str]()
    hooks = hooks_of(said, witness=witness)
    tell_all(hooks)
    assert witness.told == [
        ("started", LEDGER, FOLDER),
        ("ended", LEDGER, FOLDER, "FAILED_RUN", "why"),
        ("planned", LEDGER, "Verify"),
        ("performed", LEDGER, "Verify", 1.5),
        ("event", 2, TextDelta("x")),
        ("asked", 2, PermissionAsked(id="1", tool="bash")),
    ]
    assert hooks.prompt_discipline("player") == ["rule for player"]
    assert hooks.gates(LEDGER, REPORT, FOLDER) == [CustomGate(rule="mine", status="PASS", evidence="/run")]
    assert hooks.body_sections(LEDGER) == [("Title", "text")]
    assert said == []


def test_the_typed_methods_cover_every_hook_specification() -> None:
    witness = {name for name in dir(Witness) if name.startswith("touchline_")}
    specified = {name for name in dir(hookspecs) if name.startswith("touchline_")}
    assert witness == specified
    source = inspect.getsource(Hooks)
    assert [name for name in specified if f'"{name}"' not in source] == []


def test_every_hook_says_when_it_is_called_and_what_a_failure_does() -> None:
    for name in dir(hookspecs):
        if name.startswith("touchline_"):
            text = (getattr(hookspecs, name).__doc__ or "").lower()
            assert "called" in text, name
            assert "failure" in text, name


def test_without_plugins_nothing_is_called_and_nothing_is_said() -> None:
    hooks = Hooks()
    tell_all(hooks)
    assert hooks.prompt_discipline("player") == []
    assert hooks.gates(LEDGER, REPORT, FOLDER) == []
    assert hooks.body_sections(LEDGER) == []


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3), RecursionError("deep")])
@pytest.mark.parametrize("first", [True, False])
def test_a_raising_hook_is_named_and_the_others_are_still_told(error: BaseException, first: bool) -> None:
    witness, said = Witness(), list[str]()
    plugins = {"bad": Raiser(error), "witness": witness}
    hooks = hooks_of(said, **(plugins if first else dict(reversed(plugins.items()))))
    tell_all(hooks)
    assert len(witness.told) == 6
    assert hooks.prompt_discipline("player") == ["rule for player"]
    assert hooks.body_sections(LEDGER) == [("Title", "text")]
    assert f"hook plugin 'bad' failed in touchline_run_started: {type(error).__name__}: {error}" in said[0]


def test_a_hook_that_fails_many_times_is_said_once_and_still_called() -> None:
    said: list[str] = []
    calls: list[int] = []

    class Noisy:
        @hookimpl
        def touchline_event(self, turn: int) -> None:
            calls.append(turn)
            raise ValueError

    hooks = hooks_of(said, noisy=Noisy())
    for turn in range(1000):
        hooks.event(turn, TextDelta("x"))
    assert len(calls) == 1000
    assert len(said) == 1


def test_an_interrupt_is_never_swallowed_by_a_hook() -> None:
    hooks = hooks_of([], bad=Raiser(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        hooks.event(1, TextDelta("x"))


def test_a_gate_hook_that_raises_blocks_and_the_other_gates_stand() -> None:
    said: list[str] = []
    hooks = hooks_of(said, bad=Raiser(ValueError("boom")), witness=Witness())
    rows = {row.rule: row for row in hooks.gates(LEDGER, REPORT, FOLDER)}
    assert rows["mine"].status == "PASS"
    assert rows["plugin bad"].status == "BLOCKED"
    assert rows["plugin bad"].evidence.startswith("ValueError: boom.")
    assert "TOUCHLINE_DISABLE_PLUGINS=bad" in rows["plugin bad"].evidence
    assert len(said) == 1


@pytest.mark.parametrize("answer", ["PASS", True, {"rule": "x"}, [("x", "PASS")], (), 0])
def test_a_gate_hook_that_answers_something_else_blocks(answer: object) -> None:
    class Odd:
        @hookimpl
        def touchline_gate(self) -> object:
            return answer

    rows = hooks_of([], odd=Odd()).gates(LEDGER, REPORT, FOLDER)
    assert [(row.rule, row.status) for row in rows] == [("plugin odd", "BLOCKED")]


@pytest.mark.parametrize("answer", [None, []])
def test_a_gate_hook_without_an_opinion_adds_nothing(answer: object) -> None:
    class Quiet:
        @hookimpl
        def touchline_gate(self) -> object:
            return answer

    assert hooks_of([], quiet=Quiet()).gates(LEDGER, REPORT, FOLDER) == []


@pytest.mark.parametrize("answer", [5, ("only title",), ("a", 1), ["a", "b", "c"]])
def test_a_contribution_of_another_kind_is_named_and_left_out(answer: object) -> None:
    class Odd:
        @hookimpl
        def touchline_body_section(self) -> object:
            return answer

        @hookimpl
        def touchline_prompt_discipline(self) -> object:
            return answer

    said: list[str] = []
    hooks = hooks_of(said, odd=Odd())
    assert hooks.body_sections(LEDGER) == []
    assert hooks.prompt_discipline("player") == []
    assert len(said) == 2


def test_each_call_is_traced_on_demand() -> None:
    said: list[str] = []
    hooks = hooks_of(said, witness=Witness())
    hooks.trace = True
    hooks.step_planned(LEDGER, "Verify")
    assert said[0].startswith("hook touchline_step_planned -> witness (")


# --- loading -------------------------------------------------------------------------------------------------

GOOD = """
from touchline.api import hookimpl
api_version = 1
@hookimpl
def touchline_prompt_discipline(role):
    return "from " + __name__
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """module(name, source): an importable module that is forgotten after the test."""
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    (tmp_path / "modules").mkdir()

    def write(name: str, source: str) -> str:
        (tmp_path / "modules" / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def test_a_named_module_is_loaded_once_however_often_it_is_named(module: Callable[[str, str], str]) -> None:
    name = module("tl_hooks_good", GOOD)
    hooks = load_hooks([name, name], environ={})
    assert hooks.prompt_discipline("player") == [f"from {name}"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import not_there", "failed to load: ModuleNotFoundError"),
        ("raise SystemExit('x')", "failed to load: SystemExit: x"),
        (GOOD.replace("api_version = 1", "api_version = 2"), "speaks plugin API 2, touchline speaks 1"),
        (GOOD.replace("api_version = 1", ""), "declares no `api_version`"),
        ("api_version = 1", "has no function marked with touchline.api.hookimpl"),
        (GOOD.replace("discipline", "disciplin"), "unknown hook 'touchline_prompt_disciplin'"),
        (GOOD.replace("(role)", "(role, more)"), "more"),
    ],
)
def test_a_named_module_that_is_no_hook_plugin_is_an_error_with_its_reason(
    source: str, reason: str, module: Callable[[str, str], str]
) -> None:
    name = module(f"tl_hooks_bad_{abs(hash(source))}", source)
    with pytest.raises(PluginLoadError) as caught:
        load_hooks([name], environ={})
    assert f"hook plugin {name!r}" in caught.value.what
    assert reason in caught.value.what


def test_a_module_that_does_not_exist_says_where_it_is_looked_for() -> None:
    with pytest.raises(PluginLoadError, match="PYTHONPATH"):
        load_hooks(["tl_no_such_module"], environ={})


def test_a_disabled_module_is_not_imported(module: Callable[[str, str], str]) -> None:
    name = module("tl_hooks_off", "raise ValueError")
    assert load_hooks([name], environ={"TOUCHLINE_DISABLE_PLUGINS": name}).manager is None


LOAD = """
from touchline.plugins.hook_loading import load_hooks
said = []
hooks = load_hooks(say=said.append)
hooks.step_planned(None, "x")
print([row.rule + " " + row.status for row in hooks.gates(None, None, None)])
print(hooks.prompt_discipline("player"))
print(said)
"""


def test_an_installed_plugin_that_is_broken_blocks_gates_and_not_the_other_plugins(
    install: Install, python: Python, listed: Listed
) -> None:
    install("good", "1", {"touchline.hooks": {"good": "good_hooks"}}, {"good_hooks.py": GOOD})
    install("bad", "2", {"touchline.hooks": {"bad": "bad_hooks"}}, {"bad_hooks.py": "import not_there"})
    done = python("-c", LOAD)
    assert done.stderr == ""
    gates, texts, said = done.stdout.splitlines()
    assert gates == "['plugin bad BLOCKED']"
    assert texts == "['from good_hooks']"
    assert "hook plugin 'bad' from bad 2 (bad_hooks) is not loaded" in said
    rows = listed()
    assert "No module named 'not_there'" in rows["bad bad"]["error"]
    assert rows["good good"]["capabilities"] == ["touchline_prompt_discipline"]
    assert (rows["good good"]["kind"], rows["good good"]["api_version"]) == ("hooks", 1)


def test_two_hook_plugins_of_one_name_are_both_named_and_neither_is_loaded(
    install: Install, python: Python, listed: Listed
) -> None:
    install("first", "1", {"touchline.hooks": {"same": "first_hooks"}}, {"first_hooks.py": GOOD})
    install("second", "2", {"touchline.hooks": {"same": "second_hooks"}}, {"second_hooks.py": GOOD})
    gates, texts, said = python("-c", LOAD).stdout.splitlines()
    assert gates == "['plugin same BLOCKED', 'plugin same BLOCKED']"
    assert texts == "[]"
    assert "first 1 (first_hooks) and second 2 (second_hooks)" in said
    assert "first 1 (first_hooks) and second 2 (second_hooks)" in listed()["same first"]["error"]


def test_a_plugin_that_is_installed_and_named_is_called_once(install: Install, python: Python) -> None:
    install("good", "1", {"touchline.hooks": {"good": "good_hooks"}}, {"good_hooks.py": GOOD})
    done = python("-c", LOAD.replace("load_hooks(say", "load_hooks(['good_hooks'], say"))
    assert done.stdout.splitlines()[1] == "['from good_hooks']"


def test_a_broken_plugin_that_is_switched_off_blocks_nothing(install: Install, python: Python) -> None:
    install("bad", "2", {"touchline.hooks": {"bad": "bad_hooks"}}, {"bad_hooks.py": "import not_there"})
    assert python("-c", LOAD, TOUCHLINE_DISABLE_PLUGINS="bad").stdout.splitlines() == ["[]", "[]", "[]"]


def test_hooks_are_traced_by_an_environment_variable(install: Install, python: Python) -> None:
    install("good", "1", {"touchline.hooks": {"good": "good_hooks"}}, {"good_hooks.py": GOOD})
    traced = python("-c", LOAD, TOUCHLINE_TRACE_HOOKS="1").stdout
    assert "hook touchline_prompt_discipline -> good (" in traced
    assert "hook touchline" not in python("-c", LOAD, TOUCHLINE_TRACE_HOOKS="0").stdout


def test_pluggy_is_not_imported_without_a_plugin(python: Python) -> None:
    program = "from touchline.plugins.hook_loading import load_hooks; load_hooks(); import sys; "
    assert python("-c", program + "print('pluggy' in sys.modules)").stdout == "False\n"


def test_the_example_in_the_documentation_of_the_hooks_is_a_working_plugin(
    module: Callable[[str, str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    text = inspect.getdoc(hookspecs) or ""
    example = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    ") or not line)
    hooks = load_hooks([module("tl_hooks_example", example)], environ={})
    hooks.run_ended(LEDGER, FOLDER, status="INTERRUPTED", reason="Ctrl-C")
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "INTERRUPTED Ctrl-C\n")
