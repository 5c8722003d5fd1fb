"""The two ways to start a program: `run` to its end, `start` to talk with it (spec page 2, "The process host").

`start`, and `run` with `supervised=True`, put a supervisor between us and the program: the whole tree ends when
we do, however we die. `run` without it is the light form for the many small calls of our own (git): the same
limits and the same end of the whole tree at a timeout, but a SIGKILL of ours leaves the call to end by itself.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from touchline.process.buffers import Head, Tail
from touchline.process.cancel import Cancellation
from touchline.process.child import Child
from touchline.process.deadlines import Ending, ProcessLimits
from touchline.process.launch import launch
from touchline.process.light import run_light
from touchline.process.lines import Line
from touchline.process.pipes import Sink
from touchline.process.recording import Recording

__all__ = ["Child", "Completed", "Ending", "Line", "ProcessLimits", "run", "start"]

MAX_OUTPUT_BYTES = 8 * 1024 * 1024
MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended and what it said; `truncated` when stdout or stderr was longer than kept."""

    argv: tuple[str, ...]
    returncode: int | None
    stdout: bytes
    stderr: bytes
    ending: Ending
    duration_s: float
    truncated: bool = False


def start(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = b"",
    limits: ProcessLimits = ProcessLimits(),  # noqa: B008  (frozen)
    run_id: str = "",
    raw: Sink | None = None,
    cancel: Cancellation | None = None,
) -> Child:
    """Start `argv` under a supervisor, to read its lines and write to it.

    `stdin`: bytes are written and the pipe is closed; None holds it open for `Child.write`. `env` None means the
    cleaned environment; a given one is used as it is. `raw` gets every byte of standard output as it comes.
    Raises ProcessError when the program cannot be started.
    """
    return launch(argv, cwd=Path(cwd), env=env, stdin=stdin, limits=limits, run_id=run_id, raw=raw, cancel=cancel)


def run(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float,
    idle_s: float | None = None,
    stop_s: float = 2.0,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    keep: Literal["head", "tail"] = "head",
    output_path: str | os.PathLike[str] | None = None,
    max_file_bytes: int = MAX_FILE_BYTES,
    supervised: bool = False,
    run_id: str = "",
    cancel: Cancellation | None = None,
) -> Completed:
    """Run `argv` to its end, or to the end of `timeout_s` or of `idle_s` without a byte of output.

    Of stdout and of stderr the first (or, by `keep`, the last) `max_output_bytes` are kept each; the rest is
    read and dropped. `output_path` records both as they come, up to `max_file_bytes`. Only a supervisor can tell
    silence from work, so `idle_s` brings one; so does a process of ours that ignores interrupts (a background job
    of a script), since a program inherits that. Raises ProcessError when the program cannot be started or the
    record not be written; any exit status, timeout or cancellation is a value.
    """
    stdout = Tail(max_output_bytes) if keep == "tail" else Head(max_output_bytes)
    stderr = Tail(max_output_bytes) if keep == "tail" else Head(max_output_bytes)
    with Recording(output_path, max_file_bytes) as record:
        to_stdout, to_stderr = record.before(stdout.add), record.before(stderr.add)
        if supervised or idle_s is not None or _ignores_interrupts():
            limits = ProcessLimits(
                wall_s=timeout_s, idle_s=timeout_s if idle_s is None else idle_s, stop_s=stop_s, grace_s=timeout_s
            )
            began = time.monotonic()
            with launch(
                argv,
                cwd=Path(cwd),
                env=env,
                stdin=stdin,
                limits=limits,
                run_id=run_id,
                cancel=cancel,
                stdout=to_stdout,
                stderr=to_stderr,
            ) as child:
                child.wait()
            returncode, ending, duration_s = child.returncode, child.ending, time.monotonic() - began
        else:
            returncode, ending, duration_s = run_light(
                argv,
                cwd=Path(cwd),
                env=env,
                stdin=stdin,
                timeout_s=timeout_s,
                stop_s=stop_s,
                run_id=run_id,
                cancel=cancel,
                stdout=to_stdout,
                stderr=to_stderr,
            )
    return Completed(
        tuple(argv),
        returncode,
        stdout.content(),
        stderr.content(),
        ending,
        duration_s,
        bool(stdout.dropped or stderr.dropped),
    )


def _ignores_interrupts() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN
