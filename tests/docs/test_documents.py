"""The documents are held to the code: every command in them exists and runs, the rooms they name are there."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from touchline import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
SHELL_LINES = re.findall(r"^\$ (.+)$", README, re.MULTILINE)


def test_the_readme_has_two_commands_and_ci_runs_both() -> None:
    demo, tests = SHELL_LINES[:2]
    assert demo.endswith("touchline demo")
    assert tests.endswith("tox")
    script = (ROOT / ".ci/run").read_text()
    assert "README.md" in script


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`touchline ([a-z-]+)", README))))
def test_every_command_that_the_readme_names_exists_and_shows_its_help(command: str) -> None:
    assert command in cli.COMMANDS
    done = subprocess.run(
        [sys.executable, "-m", "touchline", command, "--help"], capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"Usage: touchline" in done.stdout


@pytest.mark.parametrize("line", [line for line in SHELL_LINES[2:] if line.startswith("touchline")])
def test_every_touchline_line_of_the_readme_is_accepted_as_it_stands(line: str, repo: Path) -> None:
    words = line.split()[1:]
    if words[0] == "run":
        plan = repo / words[words.index("--plan-file") + 1]
        plan.parent.mkdir(parents=True)
        plan.write_text("# A change\n")
        words.append("--dry-run")
    done = subprocess.run(
        [sys.executable, "-m", "touchline", *words],
        cwd=repo,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    # The doctor of an empty machine rightly finds problems; it must say so without an accident.
    assert done.returncode in ((0, 1) if words[0] == "doctor" else (0,)), done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_every_change_request_command_of_the_publishing_page_exists_with_its_options_and_none_is_left_out() -> None:
    from touchline.commands.pr import pr

    rows = re.findall(r"^\| `touchline pr ([a-z]+)([^`]*)`", (ROOT / "docs/publishing.md").read_text(), re.MULTILINE)
    assert {name for name, _ in rows} == set(pr.commands)
    for name, usage in rows:
        options = {option for one in pr.commands[name].params for option in one.opts}
        assert set(re.findall(r"--[a-z-]+", usage)) <= options, name


def test_every_room_of_the_architecture_page_exists_and_every_room_is_on_it() -> None:
    table = ARCHITECTURE.partition("## Rooms")[2].partition("## What is trusted")[0]
    rows = "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`([a-z_]+(?:/|\.py))`", rows))
    package = ROOT / "core/touchline"
    for name in named:
        assert (package / name).exists(), name
    rooms = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").exists()}
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert rooms | modules <= named


def test_the_exit_codes_of_the_readme_are_those_of_the_code() -> None:
    from touchline.coach.terminal import EXIT_STATUS

    for code, statuses in re.findall(r"^\| (\d+) \| ([A-Z_]{6,})", README, re.MULTILINE):
        assert EXIT_STATUS[statuses] == int(code)  # type: ignore[index]


def test_ci_and_the_readme_name_no_machine_and_no_registry() -> None:
    for path in (ROOT / "README.md", ROOT / ".ci/run", ROOT / "tox.ini", ROOT / "pyproject.toml"):
        assert not re.search(r"/(?:root|work|home)/|https?://(?!github\.com)", path.read_text()), path


def test_the_reference_pages_say_what_the_code_says() -> None:
    """Every hook with its signature, every capability and every configuration key; `python docs/generate.py` mends."""
    generate = runpy.run_path(str(ROOT / "docs/generate.py"), run_name="generate")
    for page, make in generate["PAGES"].items():
        assert (ROOT / "docs" / page).read_text(encoding="utf-8") == make(), f"run: python docs/generate.py ({page})"


def test_the_files_shown_in_the_plugin_page_are_the_examples_own() -> None:
    text = (ROOT / "docs/write-an-executor.md").read_text()
    shown = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", text, re.DOTALL)
    assert [name for name, _ in shown] == [
        "pyproject.toml",
        "touchline_pebble/stream.py",
        "touchline_pebble/executor.py",
        "tests/test_contract.py",
    ]
    for name, content in shown:
        assert content == (ROOT / "docs/example-executor" / name).read_text(), name
