"""A run that a person starts at a terminal: questions, the live line, the block (spec page 8)."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Attempt = Callable[[int], list[dict[str, Any]]]

TURNS, SEVERITY = b"[10]: ", b"[5]: "
LONGEST_S = 60.0
TYPING_S = 0.5


def at_terminal(project: Any, answers: Sequence[tuple[bytes, bytes]]) -> tuple[int, str]:
    """(exit status, screen) of a run whose prompts are answered; an answer is typed once its prompt is there."""
    own, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "touchline", "run", "--no-pr"],
        cwd=project.path,
        env={**os.environ, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    screen, waiting, until = b"", list(answers), time.monotonic() + LONGEST_S
    try:
        while time.monotonic() < until:
            if select.select([own], [], [], 0.1)[0]:
                try:
                    piece = os.read(own, 65536)
                except OSError:  # the other side is closed
                    break
                screen += piece
            if waiting and waiting[0][0] in screen:
                time.sleep(TYPING_S)  # a key that comes before the prompt is read would be a test of Python's own
                os.write(own, waiting.pop(0)[1])
        return child.wait(timeout=max(1.0, until - time.monotonic())), screen.decode("utf-8", "replace")
    finally:
        child.kill()
        child.wait()
        os.close(own)


def test_the_block_stands_on_lines_of_its_own_below_the_live_line(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    status, screen = at_terminal(project, [(TURNS, b"5\r"), (SEVERITY, b"5\r")])
    assert status == 0
    before, _, block = screen.partition("STATUS: APPROVED_NO_PR\r\n")
    assert before.endswith(("\n", "\x1b[2K")), before[-200:]
    assert "TURNS_USED: 1 of 5\r\n" in block


def test_one_interrupt_at_a_question_is_enough_and_leaves_no_run(
    project: Any, attempt_of: Attempt, verifiers: dict[str, Any]
) -> None:
    project.configure({"player": [attempt_of(3)], **verifiers})
    status, screen = at_terminal(project, [(TURNS, b"\x03")])
    assert status == 130
    assert "interrupted" in screen
    assert not list(Path(os.environ["XDG_STATE_HOME"]).rglob("ledger.json"))
