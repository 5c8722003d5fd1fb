"""The hook denies whatever happens to it; the bridge passes on what it is told."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from touchline_grok import bridge, hook
from touchline_grok.hooking import agent_definition

CALL = {"hookEventName": "pre_tool_use", "toolName": "write", "toolUseId": "c1", "toolInput": {"file_path": "a"}}
LIMIT_S = 30


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def run_hook(line: str, event: object = CALL) -> subprocess.CompletedProcess[str]:
    """The hook as grok starts it: a shell line, the event on standard input."""
    return subprocess.run(
        ["sh", "-c", line], input=json.dumps(event), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def hook_line(folder: Path, *, python: str = sys.executable, program: Path | None = None) -> str:
    text = agent_definition(python=python, hook=program or Path(hook.__file__), folder=folder)
    (line,) = [line for line in text.splitlines() if line.startswith("hooks: ")]
    events = json.loads(line.removeprefix("hooks: "))
    assert sorted(events) == ["PreToolUse", "UserPromptSubmit"]
    handler = events["PreToolUse"][0]["hooks"][0]
    assert handler["timeout"] > hook.ANSWER_S
    return str(handler["command"])


class Running:
    """A bridge whose CLI is a shell script."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", bridge.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        order = {
            "argv": ["sh", "-c", script],
            "folder": str(folder),
            "readable": [str(folder)],
            "path_fields": ["file_path"],
        }
        self.send(order)

    def send(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def line(self) -> dict[str, object]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]

    def end(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            return self.process.wait(LIMIT_S)
        finally:
            self.process.kill()
            self.process.stdout.close()


def asking(folder: Path, event: object = CALL) -> str:
    """A script that does with the hook what grok does, and leaves its answer and its status in a file."""
    line = f"printf %s {shlex.quote(json.dumps(event))} | {{ {hook_line(folder)}; }}"
    return f'{{ sh -c {shlex.quote(line)}; echo " $?"; }} >out.txt 2>&1\n'


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"decision": "allow"}, '{"decision": "allow"} 0'),
        ({"decision": "deny", "reason": "no"}, '{"decision": "deny", "reason": "no"} 2'),
    ],
)
def test_answer_reaches_the_hook(folder: Path, answer: dict[str, str], expected: str) -> None:
    running = Running(folder, asking(folder) + "exit 7")
    told = running.line()
    assert (told["type"], told["event"], told["inside"]) == ("bridge.hook", CALL, True)
    running.send({"id": told["id"], **answer})
    assert running.line() == {"type": "bridge.exited", "status": 7}
    assert running.end() == 7
    assert (folder / "out.txt").read_text() == expected + "\n"


def test_hook_denies_when_touchline_is_gone(folder: Path) -> None:
    running = Running(folder, asking(folder))
    running.line()
    assert running.end() == 0
    assert '"decision": "deny"' in (folder / "out.txt").read_text()


def test_hook_denies_when_nobody_listens(folder: Path) -> None:
    done = run_hook(hook_line(folder))
    assert done.returncode == 2
    assert "the call is denied" in done.stderr


@pytest.mark.parametrize("python", ["/nowhere/python", "false"])
def test_hook_that_cannot_be_started_denies(folder: Path, python: str) -> None:
    assert run_hook(hook_line(folder, python=python)).returncode == 2


def test_hook_that_is_gone_denies(folder: Path) -> None:
    assert run_hook(hook_line(folder, program=folder / "gone.py")).returncode == 2


def test_event_that_cannot_be_read_is_denied_and_told_to_nobody(folder: Path) -> None:
    running = Running(folder, asking(folder, [1]))
    assert running.line() == {"type": "bridge.exited", "status": 0}
    assert running.end() == 0
    assert "could not be read" in (folder / "out.txt").read_text()


@pytest.mark.parametrize(
    ("path", "inside"), [("a", True), ("sub/../a", True), ("../a", False), ("/etc/passwd", False), ("link", False)]
)
def test_file_is_inside_where_it_really_lies(folder: Path, path: str, inside: bool) -> None:
    (folder / "link").symlink_to("/etc")
    event = {**CALL, "toolInput": {"file_path": path}}
    running = Running(folder, asking(folder, event))
    told = running.line()
    running.send({"id": told["id"], "decision": "allow"})
    running.line()
    running.end()
    assert told["inside"] is inside


def test_lines_of_the_cli_are_passed_on_whole(folder: Path) -> None:
    running = Running(folder, "head -c 300000 /dev/zero | tr '\\0' x | sed 's/^/\"/; s/$/\"/'")
    assert len(str(running.line())) == 300_000
    assert running.line() == {"type": "bridge.exited", "status": 0}
    running.end()


def test_killed_cli_is_told_with_its_signal(folder: Path) -> None:
    running = Running(folder, "kill -9 $$")
    assert running.line() == {"type": "bridge.exited", "status": -9}
    assert running.end() == 1


def test_cli_that_is_not_there_is_told(folder: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-I", "-S", bridge.__file__],
        input=json.dumps({"argv": ["/nowhere/grok"], "folder": str(folder), "readable": [], "path_fields": []}),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert json.loads(process.stdout)["type"] == "bridge.failed"
    assert "/nowhere/grok" in process.stdout
