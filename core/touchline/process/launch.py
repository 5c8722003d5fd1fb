"""Starting a child under its supervisor (spec page 2, "The process host")."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from touchline.errors import ProcessError, ProcessStartError
from touchline.process import supervisor
from touchline.process.cancel import Cancellation
from touchline.process.child import Child
from touchline.process.deadlines import ProcessLimits
from touchline.process.environment import MARK_VARIABLE, RUN_VARIABLE, clean_environment
from touchline.process.pipes import Sink
from touchline.process.programs import find_program, illegal_environment, start_problem
from touchline.process.tree import Process, look_up

START_S = 30.0
"""How long the supervisor may take to report the child as started."""

WALL_SLACK_S = 1.0
"""The supervisor keeps the wall clock as well, a little later than we do."""


def child_environment(env: Mapping[str, str] | None, *, run_id: str) -> tuple[dict[str, str], str]:
    """The environment of a new child, and the mark in it by which its tree is recognised."""
    mark = os.urandom(8).hex()
    full = clean_environment(os.environ) if env is None else dict(env)
    full[MARK_VARIABLE] = mark
    if run_id:
        full[RUN_VARIABLE] = run_id
    return full, mark


def launch(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None,
    stdin: bytes | None,
    limits: ProcessLimits,
    run_id: str,
    raw: Sink | None = None,
    cancel: Cancellation | None = None,
    stdout: Sink | None = None,
    stderr: Sink | None = None,
) -> Child:
    """Start `argv`; `stdout` replaces the splitting into lines. Raises ProcessError when it cannot start."""
    full, mark = child_environment(env, run_id=run_id)
    program = find_program(argv, cwd=cwd, env=full)
    ours, theirs = socket.socketpair()
    try:
        process = _start_supervisor(theirs.fileno(), program=program, cwd=cwd, env=full, stdin=stdin)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    try:
        frame = supervisor.launch_frame(
            argv,
            program=program,
            stop_s=limits.stop_s,
            wall_s=limits.wall_s + WALL_SLACK_S,
            locale=full.get("LC_CTYPE"),
        )
        pid, rest = _await_start(ours, frame, program=program, cwd=cwd)
        # It may have ended already; then its number alone stands for it.
        root = look_up(pid) or _ended(pid)
        ours.setblocking(False)
        child = Child(
            process,
            ours,
            root=root,
            limits=limits,
            mark=mark,
            heard=rest,
            raw=raw,
            cancel=cancel,
            stdout=stdout,
            stderr=stderr,
        )
    except BaseException:
        ours.close()  # the supervisor ends whatever it started
        _end_supervisor(process)
        raise
    if stdin is not None:
        if stdin:
            child.write(stdin)
        child.close_stdin()
    return child


def _start_supervisor(
    control: int, *, program: str, cwd: Path, env: Mapping[str, str], stdin: bytes | None
) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise ProcessError(
            f"{program} cannot be started: this Python does not know its own interpreter",
            fix="Run touchline from an installed interpreter.",
        )
    try:
        return subprocess.Popen(
            supervisor.command(sys.executable, control),
            bufsize=0,
            stdin=subprocess.DEVNULL if stdin == b"" else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            pass_fds=(control,),
            start_new_session=True,
        )
    except OSError as problem:
        raise start_problem(program, problem.errno or 0, cwd=cwd) from problem
    except ValueError as problem:
        raise illegal_environment(program) from problem


def _await_start(control: socket.socket, frame: bytes, *, program: str, cwd: Path) -> tuple[int, bytes]:
    """The number of the started child and what the supervisor said after that."""
    control.settimeout(START_S)
    try:
        control.sendall(frame)
        heard = b""
        while b"\n" not in heard:
            words = control.recv(4096)
            if not words:
                raise ProcessStartError(
                    f"{program} was not started: its supervisor ended at once",
                    fix="Check memory and process limits of this machine, then try again.",
                )
            heard += words
    except OSError as problem:
        raise ProcessStartError(
            f"{program} was not started: its supervisor did not answer ({problem})",
            fix="Check the load and the process limits of this machine, then try again.",
        ) from problem
    word, _, rest = heard.partition(b"\n")
    name, _, value = word.partition(b" ")
    if name == b"failed":
        raise start_problem(program, int(value), cwd=cwd)
    return int(value), rest


def _end_supervisor(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(timeout=supervisor.KILL_PATIENCE_S + 5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=5.0)


def _ended(pid: int) -> Process:
    return Process(pid, 0, pid, pid, b"", "Z", 0.0)
