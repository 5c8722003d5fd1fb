"""The turn record (spec page 1): events a second, and memory while a stream of 1 GB goes through a whole turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from bench.claude_lines import SESSION, pieces, write_turn
from bench.measure import interleaved, peak_mb
from bench.rows import Aim, Row
from bench.scale import Scale
from touchline.execution import execute_turn
from touchline.executor import ExecutorSettings, Limits, PermissionAnswer, TurnRequest
from touchline.turn.record import TurnRecord
from touchline_claude.executor import ClaudeExecutor

GB = 1_000_000_000
CHILD_TIMEOUT_S = 1800.0


def events(scale: Scale) -> list[Row]:
    """Text deltas into `render.log` and `events.jsonl`, masked, against a program that writes the same two lines."""
    number = scale.pick(50_000, quick=200)
    texts = list(islice(pieces(), number))
    folders = iter(range(1_000_000))
    secrets = ("a-token-that-is-known-to-the-run", "another one")

    def record() -> None:
        with TurnRecord(scale.scratch / f"record-{next(folders)}", secrets) as one:
            for text in texts:
                one.text(text)
                one.event(1, "TextDelta", {"text": text})

    def write() -> None:
        place = scale.scratch / f"plain-{next(folders)}"
        place.mkdir()
        with (place / "render.log").open("ab", 0) as shown, (place / "events.jsonl").open("ab", 0) as lines:
            for seq, text in enumerate(texts):
                shown.write(text.encode())
                at = datetime.now(UTC).isoformat(timespec="milliseconds")
                line = {"seq": seq, "turn": 1, "at": at, "kind": "TextDelta", "payload": {"text": text}}
                lines.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")

    pair = interleaved(record, write, rounds=scale.pick(7, quick=1))
    return [
        Row(
            "record",
            number / pair.measured_s,
            "events/s",
            number / pair.floor_s,
            "`json.dumps` and one unbuffered write to each file",
            pair.ratio,
            (Aim("value", 50_000, at_least=True),),
            "the ratio is of times; every text goes to both files",
        )
    ]


def memory(scale: Scale) -> list[Row]:
    """The peak of a process that runs one turn of Claude Code's driver on a program that prints 1 GB."""
    size = scale.pick(GB, quick=200_000)
    small = _turn_in_child(scale.scratch / "small", 1000)
    began = time.perf_counter()
    large = _turn_in_child(scale.scratch / "large", size)
    took_s = time.perf_counter() - began
    return [
        Row(
            "memory",
            large,
            "MB",
            small,
            "the same turn with a stream of a few lines",
            large / small,
            (Aim("value", 200),),
            f"{size / 1e6:,.1f} MB through process host, driver, settlement and record in {took_s:.1f} s",
        )
    ]


def _turn_in_child(scratch: Path, size: int) -> float:
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "bench.recording", str(scratch), str(size)],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
        timeout=CHILD_TIMEOUT_S,
    )
    return float(done.stdout)


def run_turn(scratch: Path, size: int) -> float:
    """One recorded turn of a program that prints `size` bytes; gives the peak of this process in MB."""
    program = Path(write_turn.__code__.co_filename).resolve()
    executor = ClaudeExecutor(ExecutorSettings(command=(sys.executable, "-I", str(program), str(size))))
    request = TurnRequest(
        task_id="bench",
        role="player",
        prompt="Print it.",
        cwd=scratch,
        session_id=SESSION,
        scratch=scratch,
        limits=Limits(wall_s=CHILD_TIMEOUT_S),
    )
    with TurnRecord(scratch / "record") as record:
        executed = execute_turn(executor, request, record=record, permit=lambda asked: PermissionAnswer(True))
    if executed.failure is not None:
        raise RuntimeError(f"the turn failed: {executed.failure}")
    return peak_mb()


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    print(run_turn(Path(sys.argv[1]), int(sys.argv[2])))
