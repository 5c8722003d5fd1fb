"""Start-up: help and completion import no command and nothing heavy (spec page 8)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from importlib import import_module

import click
import pytest

from touchline.cli import COMMANDS

Process = Callable[..., "subprocess.CompletedProcess[str]"]

HEAVY = (
    "pydantic",
    "git",
    "ruamel",
    "stevedore",
    "rich",
    "httpx",
    "githubkit",
    "gitlab",
    "asyncio",
    "pluggy",
    "psutil",
    "rapidfuzz",
    "tree_sitter",
    "importlib.metadata",
    "touchline.documents",
    "touchline.process",
    "touchline.testing",
)


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "click" in names
    return {name for name in names if any(name == heavy or name.startswith(f"{heavy}.") for heavy in HEAVY)}


@pytest.mark.parametrize("argv", [("--help",), ("-h",), (), ("nonsense",), ("--nonsense",)])
def test_help_and_usage_errors_import_nothing_heavy(argv: tuple[str, ...], process: Process) -> None:
    assert imported(process(*argv, python=("-X", "importtime"))) == set()


def test_completing_a_command_imports_nothing_heavy(process: Process) -> None:
    done = process(
        python=("-X", "importtime"),
        _TOUCHLINE_COMPLETE="bash_complete",
        COMP_WORDS="touchline sch",
        COMP_CWORD="1",
    )
    assert done.stdout == "plain,schema\n"
    assert imported(done) == set()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_imports_and_has_the_help_that_the_table_shows(name: str) -> None:
    target, text = COMMANDS[name]
    module, attribute = target.split(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.get_short_help_str(200) == text


def test_help_shows_every_command_with_its_line(process: Process) -> None:
    done = process("--help")
    assert done.returncode == 0
    for name, (_, text) in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert text.split()[0] in done.stdout


@pytest.mark.parametrize(("columns", "widest"), [("60", 58), ("1000", 98), ("nonsense", 78), ("-3", 78)])
def test_help_is_as_wide_as_the_terminal_within_reason(columns: str, widest: int, process: Process) -> None:
    shown = process("run", "--help", COLUMNS=columns).stdout.splitlines()
    assert widest - 12 < max(map(len, shown)) <= widest


def test_every_command_explains_itself_and_its_options() -> None:
    for target, _ in COMMANDS.values():
        module, attribute = target.split(":")
        command = getattr(import_module(module), attribute)
        assert command.help
        options = [one for one in command.params if isinstance(one, click.Option)]
        assert [one.name for one in options if not one.help] == []
