"""The program that plays a script: the child process of the scripted executor (spec page 2, "scripted").

Standard library only and started as a file, so that it costs little. It reads the turn as one line of JSON on standard
input, then answers to its permission requests, one a line; it writes one event a line. Hangs, crashes, kills and
runaway grandchildren are real, because this is a real process. On an interrupt it ends its running tool and exits.
"""

from __future__ import annotations

import json
import os
import re
import signal
import string
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

OUTPUT_LIMIT = 200_000
"""Code points of a command's output that are reported."""
SOLUTION = re.compile(r"^```sh solution[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
"""The fenced blocks of a plan that the step `solve` carries out."""
ITEMS = re.compile(r"^TOTAL BLOCKING ITEMS: (\d+)", re.MULTILINE)
OTHER_ITEMS = re.compile(r"\b([GC]-\d{1,4})\b")

Fields = dict[str, Any]


class TurnOver(Exception):
    """The script said that the turn ends."""


def main() -> int:
    """Play one turn."""
    turn: Fields = json.loads(sys.stdin.readline())
    player = Player(turn)
    signal.signal(signal.SIGINT, player.interrupted)
    signal.signal(signal.SIGTERM, player.interrupted)
    try:
        player.play(turn["steps"])
        player.end("")
    except TurnOver:
        pass
    if player.hang_after_s:
        time.sleep(player.hang_after_s)
    return 0


class Player:
    """The state of one turn."""

    def __init__(self, turn: Fields) -> None:
        self.turn = turn
        self.cwd = Path(turn["cwd"])
        self.session = Path(turn["session_file"])
        self.calls = 0
        self.said: list[str] = []
        self.changed: list[str] = []
        self.denial = ""
        self.hang_after_s = 0.0
        self.tool: subprocess.Popen[bytes] | None = None
        self.remember(prompt=turn["prompt"])
        emit("started", session_id=turn["session_id"], model=turn["model"])

    def play(self, steps: list[Fields]) -> None:
        """Take the steps in order; a step that ends the turn raises TurnOver."""
        for step in steps:
            ((name, value),) = step.items()
            getattr(self, f"step_{name}")(value)

    # What the model says.

    def step_say(self, text: str) -> None:
        text = self.fill(text)
        self.said.append(text)
        emit("text", text=text)

    def step_think(self, text: str) -> None:
        emit("reasoning", text=text)

    def step_ask(self, question: str) -> None:
        self.finish_with({"ask": self.fill(question)})

    def step_question(self, question: str) -> None:
        emit("question", id="question", text=self.fill(question))

    def step_finish(self, given: Fields) -> None:
        """The trailer of the role, with the facts of git and of this turn filled in."""
        trailer: Fields = {"summary": self.fill(given.get("summary", "did what the script says"))}
        if self.turn["role"] == "executor":
            trailer |= {
                "branch": self.git("rev-parse", "--abbrev-ref", "HEAD"),
                "commit": self.git("rev-parse", "HEAD"),
            }
        elif self.turn["role"] == "player":
            trailer["report"] = self.report() | given.get("report", {})
        self.finish_with(trailer)

    def step_lie(self, claim: Fields) -> None:
        """A trailer as the script claims it, whatever is true."""
        self.finish_with({key: self.fill(value) if isinstance(value, str) else value for key, value in claim.items()})

    def step_answer(self, answer: Fields) -> None:
        self.finish_with(answer)

    def step_end(self, text: str) -> None:
        if text:
            self.step_say(text)
        self.end("")

    def step_fail(self, failure: Fields) -> None:
        emit("end", text="", failure=failure)
        raise TurnOver

    def finish_with(self, value: Fields) -> NoReturn:
        self.step_say(("\n" if self.said else "") + json.dumps(value, ensure_ascii=False))
        self.end("")

    def end(self, text: str) -> NoReturn:
        emit("end", text=text or "".join(self.said))
        raise TurnOver

    # What the model does.

    def step_run(self, given: Fields | str) -> None:
        step = {"command": given} if isinstance(given, str) else given
        command = self.fill(step["command"])
        allowed, output = self.asked("bash", command, command=command)
        if not allowed:
            self.after(step, "denied", output)
            return
        if step.get("background"):
            # As a tool that runs away: a session of its own, its pipes closed, nobody waits for it.
            subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self.finished("ok", "", 0.0)
            return
        started = time.monotonic()
        self.tool = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        raw, _ = self.tool.communicate()
        status = "ok" if self.tool.returncode == 0 else "error"
        self.tool = None
        output = raw.decode("utf-8", "replace")[:OUTPUT_LIMIT]
        self.finished(status, output, time.monotonic() - started)
        self.after(step, "ok" if status == "ok" else "failed", output)

    def after(self, step: Fields, outcome: str, output: str) -> None:
        """Hold the outcome against what the script expects, then take its branch."""
        expected = step.get("expect")
        if expected and expected != outcome:
            reason = f"the script expected `{step['command']}` to be {expected}, it was {outcome}: {output[-200:]}"
            self.step_fail({"kind": "protocol", "reason": reason})
        self.play(step.get(f"on_{outcome}", []))

    def step_write(self, given: Fields) -> None:
        path = self.cwd / given["path"]
        allowed, _ = self.asked("write", f"write {given['path']}", path=given["path"])
        if allowed:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(given["content"], encoding="utf-8")
            self.changed.append(given["path"])
            self.finished("ok", "written", 0.0)

    def step_edit(self, given: Fields) -> None:
        path = self.cwd / given["path"]
        allowed, _ = self.asked("edit", f"edit {given['path']}", path=given["path"])
        if not allowed:
            return
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if given["old"] not in before:
            self.finished("error", "the text to replace is not there", 0.0)
            return
        path.write_text(before.replace(given["old"], given["new"], 1), encoding="utf-8")
        self.changed.append(given["path"])
        self.finished("ok", "edited", 0.0)

    def step_delete(self, name: str) -> None:
        allowed, _ = self.asked("edit", f"delete {name}", path=name)
        if allowed:
            (self.cwd / name).unlink(missing_ok=True)
            self.changed.append(name)
            self.finished("ok", "deleted", 0.0)

    def step_solve(self, fallback: Fields) -> None:
        """Carry out the solution that the plan itself holds; without one, write the fallback file."""
        blocks = SOLUTION.findall(self.turn["prompt"])
        for block in blocks:
            self.step_run({"command": block, "expect": "ok"})
        if not blocks:
            self.step_write(fallback)

    # What goes wrong.

    def step_hang(self, seconds: float) -> None:
        time.sleep(seconds)

    def step_hang_after(self, seconds: float) -> None:
        self.hang_after_s = seconds

    def step_crash(self, given: Fields) -> None:
        if "signal" in given:
            os.kill(os.getpid(), given["signal"])
        sys.stderr.write(given.get("stderr", ""))
        sys.stderr.flush()
        os._exit(given.get("status", 1))

    def step_print(self, text: str) -> None:
        """A line that is no event."""
        write(text.encode() + b"\n")

    def step_print_bytes(self, hexadecimal: str) -> None:
        write(bytes.fromhex(hexadecimal))

    def step_long_line(self, size: int) -> None:
        emit("notice", text="x" * size)

    # What the CLI reports.

    def step_usage(self, given: Fields) -> None:
        emit("usage", **given)

    def step_retry(self, given: Fields) -> None:
        emit("retry", **given)

    def step_notice(self, text: str) -> None:
        emit("notice", text=text)

    # Helpers.

    def asked(self, tool: str, shown: str, *, command: str = "", path: str = "") -> tuple[bool, str]:
        """Begin a tool call: announce it and ask for permission. A denied call is finished at once."""
        self.calls += 1
        call = f"call-{self.calls}"
        emit("tool_started", id=call, tool=tool, input=shown)
        paths = [str(self.cwd / path)] if path else []
        emit("permission", id=call, tool=tool, command=command, paths=paths, text=shown)
        reply = sys.stdin.readline()
        answer = json.loads(reply) if reply else {"allowed": False, "reason": "nobody answered"}
        if answer["allowed"]:
            return True, ""
        self.denial = str(answer["reason"])
        self.finished("denied", self.denial, 0.0)
        return False, self.denial

    def finished(self, status: str, output: str, duration_s: float) -> None:
        self.remember(result=output)
        emit("tool_finished", id=f"call-{self.calls}", status=status, output=output, duration_s=round(duration_s, 3))

    def fill(self, text: str) -> str:
        """`${head}`, `${branch}`, `${turn}`, `${task}` and `${denial}` in a text of the script."""
        if "${" not in text:
            return text
        values = {"turn": self.turn["turn"], "task": self.turn["task_id"], "denial": self.denial}
        if "${head}" in text or "${branch}" in text:
            values |= {"head": self.git("rev-parse", "HEAD"), "branch": self.git("rev-parse", "--abbrev-ref", "HEAD")}
        return string.Template(text).safe_substitute(values)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def report(self) -> Fields:
        """A player's report with what this turn changed and a receipt for every item of its feedback."""
        prompt = self.turn["prompt"]
        count = ITEMS.search(prompt)
        numbered = [str(number + 1) for number in range(int(count[1]))] if count else []
        others = list(dict.fromkeys(OTHER_ITEMS.findall(prompt))) if count else []
        return {
            "changed": [{"path": path, "why": "the script says so"} for path in dict.fromkeys(self.changed)],
            "build": "not run",
            "tests": "not run",
            "app": "not run",
            "concerns": [],
            "receipts": [{"item": item, "status": "addressed", "note": ""} for item in numbered + others],
        }

    def remember(self, **entry: str) -> None:
        """Append to the session, so that a later process can continue it and a test can see what was told."""
        with self.session.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")

    def interrupted(self, number: int, _frame: object) -> None:
        if self.tool is not None:
            os.killpg(self.tool.pid, signal.SIGKILL)
        os._exit(128 + number)


def emit(event: str, **payload: Any) -> None:
    """Write one event."""
    write(json.dumps({"event": event, **payload}).encode() + b"\n")


def write(content: bytes) -> None:
    """Write to standard output, all of it, at once."""
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
