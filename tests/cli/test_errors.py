"""Every error is one message with an exit status; what is our fault is said and kept (spec page 8)."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touchline import cli
from touchline.cli import COMMANDS

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Command = Callable[[str], str]

HEAD = "import click\nfrom touchline.errors import ConfigError\n@click.command()\ndef boom():\n    "


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """command(body) adds a command `boom` with that body to the table of this test."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(body: str) -> str:
        (tmp_path / "tl_boom.py").write_text(HEAD + body + "\n")
        monkeypatch.delitem(sys.modules, "tl_boom", raising=False)
        monkeypatch.setitem(COMMANDS, "boom", ("tl_boom:boom", "Fail."))
        return "boom"

    return add


def test_an_error_of_the_user_is_one_message_with_its_fix_and_no_traceback(
    command: Command, touchline: Callable[..., Any]
) -> None:
    said = touchline(command("raise ConfigError('x.yaml:1:2: wrong', fix='Write it right.')"))
    assert (said.status, said.out) == (2, "")
    assert said.err == "touchline: x.yaml:1:2: wrong\n  Write it right.\n"


def test_a_message_cannot_steer_the_terminal(command: Command, touchline: Callable[..., Any]) -> None:
    said = touchline(command("raise ConfigError('a\\x1b[2Jb')"))
    assert said.err == "touchline: a\\x1b[2Jb\n"


def test_debug_adds_the_traceback(command: Command, touchline: Callable[..., Any]) -> None:
    said = touchline("--debug", command("raise ConfigError('wrong')"))
    assert said.status == 2
    assert "Traceback" in said.err
    assert said.err.endswith("touchline: wrong\n")


def test_an_internal_error_is_one_line_and_a_private_log_without_secrets(
    command: Command, touchline: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "hunter2hunter2")
    said = touchline(command("raise ZeroDivisionError('with hunter2hunter2')"))
    assert said.status == 70
    assert "Traceback" not in said.err
    assert said.err.startswith("touchline: internal error, ZeroDivisionError")
    log = Path(said.err.rpartition("log file ")[2].strip().rstrip("."))
    assert log.is_relative_to(os.environ["XDG_STATE_HOME"])
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    text = log.read_text()
    assert "Traceback" in text
    assert "raise ZeroDivisionError" in text
    assert "touchline 0." in text
    assert "arguments: ['boom']" in text
    assert "hunter2" not in text.replace("raise ZeroDivisionError('with hunter2", "").replace("hunter2')", "")


def test_the_log_of_an_internal_error_is_no_run(command: Command, touchline: Callable[..., Any]) -> None:
    touchline(command("raise ZeroDivisionError"))
    assert touchline("runs").out == "no runs are kept on this machine\n"


def test_without_a_place_for_the_log_the_message_says_how_to_see_the_traceback(
    command: Command, touchline: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    said = touchline(command("raise ZeroDivisionError"))
    assert said.status == 70
    assert "touchline --debug" in said.err


def test_an_interrupt_ends_with_130(command: Command, touchline: Callable[..., Any]) -> None:
    said = touchline(command("raise KeyboardInterrupt"))
    assert said.status == 130
    assert said.err.strip() == "touchline: interrupted"


def test_what_a_command_returns_is_the_exit_status(command: Command, touchline: Callable[..., Any]) -> None:
    assert touchline(command("return 5")).status == 5
    assert touchline(command("return None")).status == 0
    assert touchline(command("click.get_current_context().exit(4)")).status == 4


def test_a_full_disk_is_told_as_such(command: Command, touchline: Callable[..., Any]) -> None:
    said = touchline(command("import errno; raise OSError(errno.ENOSPC, 'No space left on device', '/x/y')"))
    assert said.status == 1
    assert said.err == "touchline: No space left on device: /x/y\n  Make room and try again.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "touchline", "schema", "config"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "touchline: No space left on device: the output\n  Make room and try again.\n"


def test_a_reader_that_goes_away_is_nobodys_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "touchline", "schema", "ledger"],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == cli.EXIT_BROKEN_PIPE


def test_a_closed_stdout_is_no_internal_error(tmp_path: Path) -> None:
    line = 'exec "$0" -m touchline schema config >&-'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable], stderr=subprocess.PIPE, cwd=tmp_path, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("schma",), "touchline: no command 'schma'; did you mean 'schema'?\n  See `touchline --help`.\n"),
        (("--nope",), "touchline: No such option"),
        (("schema", "config", "extra"), "See `touchline schema --help`."),
        (("schema",), "touchline: Missing argument"),
        (("schema", "nothing"), "'nothing' is not one of"),
        (("config", "sho"), "See `touchline config --help`."),
    ],
)
def test_a_usage_error_names_the_command_to_ask(
    argv: tuple[str, ...], says: str, touchline: Callable[..., Any]
) -> None:
    said = touchline(*argv)
    assert (said.status, said.out) == (2, "")
    assert says in said.err
    assert said.err.startswith("touchline: ")


def test_a_bare_call_shows_the_help_and_is_a_usage_error(touchline: Callable[..., Any]) -> None:
    said = touchline()
    assert said.status == 2
    assert "Usage: touchline" in said.err


def test_the_version_is_printed(touchline: Callable[..., Any]) -> None:
    said = touchline("--version")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("touchline 0.")


@pytest.mark.parametrize("module", ["click", "json", "pydantic", "ruamel"])
def test_modules_in_the_current_folder_never_become_part_of_touchline(
    module: str, tmp_path: Path, process: Process
) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / f"{module}.py").write_text("raise SystemExit('taken over')")
    (folder / "touchline.yaml").write_text("run: {max_turns: 3}")
    done = process("config", "get", "run.max_turns", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
