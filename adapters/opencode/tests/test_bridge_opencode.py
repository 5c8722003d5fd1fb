"""The bridge between lines and the server: readiness, password, session, answers, abort, every way to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from touchline_opencode import bridge

LIMIT_S = 60
RULES = [{"permission": "*", "pattern": "*", "action": "ask"}]
SERVER = Path(__file__).with_name("fake_server.py")
IDLE = {"type": "session.idle", "properties": {"sessionID": "ses_1"}}


def event(kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, "properties": {"sessionID": "ses_1", **fields}}


def message(name: str, role: str, **info: object) -> dict[str, object]:
    parts = [{"type": "text", "text": name}, {"type": "step-finish"}, {"type": "tool", "output": "x" * 1000}]
    return {"info": {"id": name, "role": role, **info}, "parts": parts}


class Running:
    """The bridge on a fake server."""

    def __init__(self, folder: Path, *, session: str = "", **plan: object) -> None:
        self.log = folder / "log.jsonl"
        self.log.touch()
        (folder / "plan.json").write_text(json.dumps({"log": str(self.log), **plan}))
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", bridge.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
        )
        self.send(
            {
                "command": [sys.executable, "-I", "-S", str(SERVER), str(folder / "plan.json")],
                "arguments": [],
                "session": session,
                "title": "t",
                "model": "fake/one",
                "prompt": "Do it.",
                "readable": [str(folder / "given")],
            }
        )

    def send(self, told: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(told).encode() + b"\n")
        self.process.stdin.flush()

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]

    def begin(self) -> dict[str, Any]:
        """Up to the session; the line of the session or of the failure."""
        assert self.line() == {
            "type": "bridge.agents",
            "agents": [{"name": "build", "permission": []}],
            "default": "build",
        }
        self.send({"rules": RULES})
        return self.line()

    def end(self) -> int:
        try:
            return self.process.wait(LIMIT_S)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                assert stream is not None
                stream.close()

    def asked(self, *paths: str) -> list[Any]:
        calls = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [body for _, path, body in calls if path in paths]


def test_turn_goes_from_prompt_to_message_list(tmp_path: Path) -> None:
    running = Running(
        tmp_path,
        events=[
            event("session.status", status={"type": "busy"}),
            {"type": "server.heartbeat", "properties": {}},
            {"type": "session.idle", "properties": {"sessionID": "ses_of_somebody_else"}},
            event("file.edited"),
            IDLE,
        ],
        messages=[message("u1", "user"), message("a1", "assistant", finish="tool-calls"), message("a2", "assistant")],
    )
    assert running.begin() == {"type": "bridge.session", "id": "ses_1"}
    status, idle, last = running.line(), running.line(), running.line()
    assert status["properties"]["status"] == {"type": "busy"}
    assert status["bridgeTime"] > 0
    assert idle == IDLE
    assert [[part["type"] for part in found["parts"]] for found in last["messages"]] == [
        ["step-finish"],
        ["text", "step-finish"],
    ]
    assert running.end() == 0
    (prompt,) = running.asked("/session/ses_1/prompt_async")
    assert prompt == {
        "parts": [{"type": "text", "text": "Do it."}],
        "model": {"providerID": "fake", "modelID": "one"},
    }


def test_requests_that_are_never_answered_do_not_hold_it_up(tmp_path: Path) -> None:
    running = Running(tmp_path, deaf=2, events=[IDLE])
    assert running.begin()["type"] == "bridge.session"
    running.line()
    assert running.line()["messages"] == []
    assert running.end() == 0


def test_resumed_turn_tells_only_its_own_messages_and_renews_the_rules(tmp_path: Path) -> None:
    old, new = message("a1", "assistant"), message("a2", "assistant")
    running = Running(tmp_path, session="ses_1", events=[IDLE], before=[old], messages=[old, message("u", "user"), new])
    assert running.begin()["type"] == "bridge.session"
    running.line()
    assert [found["info"]["id"] for found in running.line()["messages"]] == ["a2"]
    assert running.end() == 0
    assert running.asked("/session/ses_1")[-1] == {"permission": RULES}


def test_unknown_session_is_told_with_its_status(tmp_path: Path) -> None:
    running = Running(tmp_path, session="ses_unknown")
    failed = running.begin()
    assert (failed["type"], failed["stage"], failed["status"]) == ("bridge.failed", "resume", 404)
    assert running.end() == 1


def test_server_that_does_not_take_the_rules_gets_no_prompt(tmp_path: Path) -> None:
    running = Running(tmp_path, opened={"permission": [{"permission": "*", "pattern": "*", "action": "allow"}]})
    failed = running.begin()
    assert (failed["type"], failed["stage"]) == ("bridge.failed", "rules")
    assert running.end() == 1
    assert running.asked("/session/ses_1/prompt_async") == []


@pytest.mark.parametrize(
    ("path", "inside"), [("given/a.md", True), ("given/../b.md", False), ("given", True), ("givens/a", False)]
)
def test_request_is_passed_on_with_where_its_file_lies_and_answered(tmp_path: Path, path: str, inside: bool) -> None:
    asked = event("permission.asked", id="per_1", metadata={"filepath": str(tmp_path / path)})
    running = Running(tmp_path, events=[asked])
    running.begin()
    assert running.line() == {**asked, "bridgeInside": inside}
    running.send({"permission": "per_1", "reply": "reject", "message": "no"})
    assert running.line() == IDLE
    running.line()
    assert running.end() == 0
    assert running.asked("/permission/per_1/reply") == [{"reply": "reject", "message": "no"}]


def test_abort_ends_the_turn_with_its_message_list(tmp_path: Path) -> None:
    running = Running(tmp_path, messages=[message("a1", "assistant")])
    running.begin()
    running.send({"abort": True})
    assert running.line() == IDLE
    assert running.line()["type"] == "bridge.messages"
    assert running.end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_aborts_the_session(tmp_path: Path, number: signal.Signals) -> None:
    running = Running(tmp_path)
    running.begin()
    running.process.send_signal(number)
    assert running.line()["stage"] == "interrupted"
    assert running.end() == 1
    assert running.asked("/session/ses_1/abort") == [None]


def test_end_of_our_input_ends_the_turn(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.begin()
    assert running.process.stdin is not None
    running.process.stdin.close()
    assert running.line()["stage"] == "closed"
    assert running.end() == 1


def test_server_that_ends_in_the_middle_is_told_with_its_status(tmp_path: Path) -> None:
    running = Running(tmp_path, exit=7)
    assert running.begin()["type"] == "bridge.session"
    failed = running.line()
    assert (failed["stage"], failed["status"]) == ("exited", 7)
    assert running.end() == 1


def test_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    order = {"command": ["/nowhere/opencode"], "arguments": [], "session": ""}
    done = subprocess.run(
        [sys.executable, "-I", "-S", bridge.__file__],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert json.loads(done.stdout)["stage"] == "start"
    assert "/nowhere/opencode" in done.stdout
    assert done.returncode == 1
