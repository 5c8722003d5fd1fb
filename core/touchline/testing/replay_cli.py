"""A program that prints recorded bytes, for `touchline.testing.replay`; its own arguments after the plan are ignored.

Standard library only and started as a file.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path


def main() -> None:
    """Do what the plan says."""
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    content = Path(plan["stream"]).read_bytes()
    log = Path(plan["stdin_log"])
    if plan["after_interrupt"]:

        def interrupted(number: int, _frame: object) -> None:
            _print(content, 0)
            os._exit(0)

        signal.signal(signal.SIGINT, interrupted)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    first = threading.Event()
    threading.Thread(target=_copy_stdin, args=(log, first), daemon=True).start()
    first.wait(10)
    if not plan["after_interrupt"]:
        _print(content, plan["piece"])
    if plan["wait_for_lines"]:
        _wait_for_lines(log, plan["wait_for_lines"])
    sys.stderr.write(plan["stderr"])
    sys.stderr.flush()
    time.sleep(plan["hang_s"])
    if plan["status"] < 0:
        os.kill(os.getpid(), -plan["status"])
    os._exit(plan["status"])


def _print(content: bytes, piece: int) -> None:
    size = piece if piece > 1 else len(content) or 1
    for start in range(0, len(content), size):
        sys.stdout.buffer.write(content[start : start + size])
        sys.stdout.buffer.flush()
        if piece > 1:
            time.sleep(0.0005)


def _copy_stdin(log: Path, first: threading.Event) -> None:
    with log.open("ab", buffering=0) as file:
        for line in sys.stdin.buffer:
            file.write(line)
            first.set()
    first.set()


def _wait_for_lines(log: Path, count: int) -> None:
    deadline = time.monotonic() + 10
    while log.read_bytes().count(b"\n") < count and time.monotonic() < deadline:
        time.sleep(0.01)


if __name__ == "__main__":
    main()
