from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from touchline.errors import ProcessError
from touchline.process import run
from touchline.process.cancel import Cancellation

both_forms = pytest.mark.parametrize("supervised", [False, True], ids=["light", "supervised"])


@both_forms
def test_status_and_both_outputs_come_back_as_bytes(program, tmp_path: Path, supervised: bool) -> None:
    argv = program(r"""
        sys.stdout.buffer.write(b"out\xff\n"); sys.stderr.buffer.write(b"err\xfe")
        sys.exit(7)
    """)
    done = run(argv, cwd=tmp_path, timeout_s=20, supervised=supervised)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\xff\n", b"err\xfe")
    assert (done.ending, done.truncated, done.argv) == ("exited", False, tuple(argv))
    assert 0 < done.duration_s < 20


@both_forms
def test_a_signal_shows_as_a_negative_status(program, tmp_path: Path, supervised: bool) -> None:
    done = run(program("os.kill(os.getpid(), 9)"), cwd=tmp_path, timeout_s=20, supervised=supervised)
    assert (done.returncode, done.ending) == (-9, "exited")


@both_forms
def test_input_is_written_and_closed(program, tmp_path: Path, supervised: bool) -> None:
    argv = program("sys.stdout.write(str(len(sys.stdin.buffer.read())))")
    done = run(argv, cwd=tmp_path, stdin=b"x" * 3_000_000, timeout_s=20, supervised=supervised)
    assert done.stdout == b"3000000"


@both_forms
def test_input_is_never_inherited(program, tmp_path: Path, supervised: bool) -> None:
    done = run(program("sys.stdout.write(repr(sys.stdin.read()))"), cwd=tmp_path, timeout_s=20, supervised=supervised)
    assert done.stdout == b"''"


@both_forms
def test_a_program_that_never_reads_its_input_does_not_block_us(program, tmp_path: Path, supervised: bool) -> None:
    argv = program("print('done'); sys.stdout.flush(); time.sleep(0.3)")
    done = run(argv, cwd=tmp_path, stdin=b"x" * 10_000_000, timeout_s=20, supervised=supervised)
    assert (done.returncode, done.stdout, done.ending) == (0, b"done\n", "exited")


@both_forms
def test_both_outputs_are_drained_at_once(program, tmp_path: Path, supervised: bool) -> None:
    argv = program("""
        for _ in range(40):
            os.write(2, b"e" * 100_000)
            os.write(1, b"o" * 100_000)
    """)
    done = run(argv, cwd=tmp_path, timeout_s=20, supervised=supervised)
    assert (len(done.stdout), len(done.stderr), done.truncated) == (4_000_000, 4_000_000, False)


@both_forms
@pytest.mark.parametrize(("keep", "expected"), [("head", b"0123"), ("tail", b"6789")])
def test_output_over_the_bound_is_cut_and_said_to_be(
    program, tmp_path: Path, supervised: bool, keep, expected: bytes
) -> None:
    argv = program("sys.stdout.write('0123456789'); sys.exit(5)")
    done = run(argv, cwd=tmp_path, timeout_s=20, max_output_bytes=4, keep=keep, supervised=supervised)
    assert (done.stdout, done.truncated, done.returncode) == (expected, True, 5)


@both_forms
def test_the_record_holds_both_outputs_up_to_its_own_bound(program, tmp_path: Path, supervised: bool) -> None:
    record = tmp_path / "output.txt"
    record.write_text("from before " * 100)
    argv = program("os.write(1, b'out\\n'); time.sleep(0.1); os.write(2, b'err\\n')")
    done = run(argv, cwd=tmp_path, timeout_s=20, max_output_bytes=1, output_path=record, supervised=supervised)
    assert record.read_bytes() == b"out\nerr\n"
    assert done.truncated
    record.unlink()
    run(argv, cwd=tmp_path, timeout_s=20, output_path=record, max_file_bytes=6, supervised=supervised)
    assert record.read_bytes() == b"out\ner\n[touchline: 2 more bytes were not recorded]\n"
    assert record.stat().st_mode & 0o777 == 0o600


def test_a_record_that_cannot_be_written_is_an_error_that_names_it(program, tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=r"missing/output\.txt"):
        run(program("pass"), cwd=tmp_path, timeout_s=20, output_path=tmp_path / "missing" / "output.txt")


def test_a_full_disk_ends_the_program_too(program, tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(ProcessError, match="/dev/full"):
        run(program("print('x', flush=True); time.sleep(60)"), cwd=tmp_path, timeout_s=30, output_path="/dev/full")
    assert time.monotonic() - began < 10


@both_forms
def test_at_the_timeout_the_whole_tree_ends(program, tmp_path: Path, supervised: bool, pid_in, is_running) -> None:
    argv = program(
        """
        import subprocess
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"],
                                 start_new_session=True)
        open(sys.argv[1], "w").write(f"{child.pid}\\n")
        print("begun", flush=True)
        time.sleep(60)
        """,
        str(tmp_path / "grandchild"),
    )
    done = run(argv, cwd=tmp_path, timeout_s=1.0, stop_s=1.0, supervised=supervised)
    assert (done.ending, done.stdout) == ("wall", b"begun\n")
    assert done.returncode == -2
    assert not is_running(pid_in(tmp_path / "grandchild"))
    assert done.duration_s < 6


@both_forms
def test_a_program_may_tidy_up_when_it_is_interrupted(program, tmp_path: Path, supervised: bool) -> None:
    argv = program("""
        def tidy(*_):
            print("tidied", flush=True)
            sys.exit(3)
        signal.signal(signal.SIGINT, tidy)
        print("ready", flush=True)
        time.sleep(60)
    """)
    done = run(argv, cwd=tmp_path, timeout_s=1.0, supervised=supervised)
    assert (done.ending, done.returncode, done.stdout) == ("wall", 3, b"ready\ntidied\n")


@both_forms
def test_a_program_that_ignores_interrupt_and_terminate_is_killed(program, tmp_path: Path, supervised: bool) -> None:
    argv = program("""
        signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready", flush=True)
        while True: time.sleep(60)
    """)
    done = run(argv, cwd=tmp_path, timeout_s=1.0, stop_s=0.4, supervised=supervised)
    assert (done.ending, done.returncode, done.stdout) == ("wall", -9, b"ready\n")
    assert done.duration_s < 5


@both_forms
def test_a_daemon_that_keeps_the_pipes_does_not_keep_us(
    program, tmp_path: Path, supervised: bool, pid_in, is_running
) -> None:
    argv = program(
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open(sys.argv[1], "w").write(f"{os.getpid()}\\n")
                time.sleep(60)
            os._exit(0)
        time.sleep(0.3)
        print("done")
        """,
        str(tmp_path / "daemon"),
    )
    done = run(argv, cwd=tmp_path, timeout_s=30, supervised=supervised)
    assert (done.ending, done.returncode, done.stdout) == ("exited", 0, b"done\n")
    assert done.duration_s < 8
    assert not is_running(pid_in(tmp_path / "daemon"))


@both_forms
def test_a_background_process_of_the_group_ends_with_the_program(
    program, tmp_path: Path, supervised: bool, pid_in, is_running, eventually
) -> None:
    argv = program(
        """
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for number in range(3): os.dup2(null, number)
            open(sys.argv[1], "w").write(f"{os.getpid()}\\n")
            time.sleep(60)
        while not os.path.exists(sys.argv[1]): time.sleep(0.01)
        """,
        str(tmp_path / "background"),
    )
    done = run(argv, cwd=tmp_path, timeout_s=30, supervised=supervised)
    assert (done.ending, done.returncode) == ("exited", 0)
    pid = pid_in(tmp_path / "background")
    assert eventually(lambda: not is_running(pid), within_s=2)


@both_forms
def test_a_cancellation_ends_the_program(program, tmp_path: Path, supervised: bool) -> None:
    cancel = Cancellation()
    timer = threading.Timer(0.5, cancel.set)
    timer.start()
    done = run(program("time.sleep(60)"), cwd=tmp_path, timeout_s=30, cancel=cancel, supervised=supervised)
    timer.join()
    assert done.ending == "cancelled"
    assert done.returncode == -2
    assert done.duration_s < 5


@both_forms
def test_a_program_that_closes_its_outputs_and_lives_on_meets_the_timeout(
    program, tmp_path: Path, supervised: bool
) -> None:
    argv = program("os.close(1); os.close(2); time.sleep(60)")
    done = run(argv, cwd=tmp_path, timeout_s=1.0, supervised=supervised)
    assert done.ending == "wall"
    assert done.duration_s < 5


@both_forms
def test_a_program_may_have_an_idle_limit(program, tmp_path: Path, supervised: bool) -> None:
    done = run(program("time.sleep(60)"), cwd=tmp_path, timeout_s=30, idle_s=0.6, supervised=supervised)
    assert done.ending == "idle"


@both_forms
def test_a_program_starts_with_ordinary_signals_in_a_session_of_its_own(
    program, tmp_path: Path, supervised: bool
) -> None:
    argv = program("""
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print(os.getsid(0) == os.getpid() == os.getpgid(0), int(status["SigBlk"], 16))
        ignored = int(status["SigIgn"], 16)
        # Python itself ignores SIGPIPE and SIGXFSZ; SIGINT and SIGTERM must not be ignored.
        print(bool(ignored & 1 << signal.SIGINT - 1), bool(ignored & 1 << signal.SIGTERM - 1))
    """)
    done = run(argv, cwd=tmp_path, timeout_s=20, supervised=supervised)
    assert done.stdout == b"True 0\nFalse False\n"


@both_forms
def test_a_program_hears_interrupts_even_where_we_ignore_them(program, tmp_path: Path, supervised: bool) -> None:
    argv = program("time.sleep(60)")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = run(argv, cwd=tmp_path, timeout_s=0.5, stop_s=10, supervised=supervised)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (done.ending, done.returncode) == ("wall", -signal.SIGINT)


@both_forms
def test_a_child_holds_no_descriptor_of_ours(program, tmp_path: Path, supervised: bool) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        argv = program("""
            names = os.listdir("/proc/self/fd")  # the listing itself needs one more
            print(sorted(int(n) for n in names if os.path.exists(f"/proc/self/fd/{n}")))
        """)
        done = run(argv, cwd=tmp_path, timeout_s=20, supervised=supervised)
    finally:
        os.close(held)
    assert done.stdout == b"[0, 1, 2]\n"


@both_forms
def test_the_environment_is_the_cleaned_one_or_exactly_the_given_one(
    tmp_path: Path, supervised: bool, monkeypatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "secret")
    monkeypatch.setenv("ORDINARY", "kept")
    inherited = run(["env", "-0"], cwd=tmp_path, timeout_s=20, supervised=supervised, run_id="r1")
    seen = dict(entry.split("=", 1) for entry in inherited.stdout.decode().split("\0") if entry)
    assert "GH_TOKEN" not in seen
    assert (seen["ORDINARY"], seen["TOUCHLINE_RUN"]) == ("kept", "r1")
    mark = os.environ["PROCESS_TEST"]
    given = {"ONLY": "this", "PATH": os.environ["PATH"], "PROCESS_TEST": mark}
    exact = run(["env", "-0"], cwd=tmp_path, env=given, timeout_s=20, supervised=supervised)
    seen = dict(entry.split("=", 1) for entry in exact.stdout.decode().split("\0") if entry)
    del seen["TOUCHLINE_PROCESS"]
    assert seen == given


@both_forms
def test_arguments_arrive_as_they_are(program, tmp_path: Path, supervised: bool) -> None:
    argv = program(
        "print(ascii(sys.argv[1:]))", "", "--", "a b\n", "'\"$(x)", "Grüße", os.fsdecode(b"\xff"), isolated=False
    )
    done = run(argv, cwd=tmp_path, timeout_s=20, supervised=supervised)
    assert done.stdout.decode().strip() == ascii(["", "--", "a b\n", "'\"$(x)", "Grüße", os.fsdecode(b"\xff")])


@both_forms
@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (
            lambda f: ["no-such-program-here"],
            "no-such-program-here cannot be started: there is no such program on PATH",
        ),
        (lambda f: ["./missing"], "missing cannot be started: there is no such file"),
        (lambda f: [str(plain(f))], "plain.txt cannot be started: it is not executable"),
        (lambda f: [str(script(f, b"#!/no/such/interpreter\n"))], "the interpreter that it asks for is missing"),
        (lambda f: [str(script(f, b"\x00\x01garbage"))], "it is no program for this system"),
        (lambda f: [sys.executable, "x" * 3_000_000], "too long"),
        (lambda f: [sys.executable, "a\0b"], "NUL byte"),
        (lambda f: [], "no program was named"),
    ],
)
def test_what_cannot_be_started_is_an_error_that_says_why_and_what_to_do(
    tmp_path: Path, supervised: bool, prepare, message: str
) -> None:
    with pytest.raises(ProcessError) as caught:
        run(prepare(tmp_path), cwd=tmp_path, timeout_s=20, supervised=supervised)
    assert message in caught.value.what
    assert caught.value.fix


@both_forms
def test_a_missing_folder_is_named(tmp_path: Path, supervised: bool) -> None:
    with pytest.raises(ProcessError, match="gone: no such folder"):
        run(["true"], cwd=tmp_path / "gone", timeout_s=20, supervised=supervised)


@both_forms
def test_an_illegal_environment_is_an_error_that_shows_no_value(tmp_path: Path, supervised: bool) -> None:
    with pytest.raises(ProcessError, match="environment variable") as caught:
        run(["true"], cwd=tmp_path, env={"PATH": "/bin:/usr/bin", "A": "hush\0"}, timeout_s=20, supervised=supervised)
    assert "hush" not in str(caught.value)


@both_forms
def test_the_repository_that_we_stand_in_never_chooses_the_program(tmp_path: Path, supervised: bool) -> None:
    script(tmp_path, b"#!/bin/sh\necho hijacked\n").rename(tmp_path / "uname")
    env = {"PATH": f":.:{os.environ['PATH']}", "PROCESS_TEST": os.environ["PROCESS_TEST"]}
    done = run(["uname"], cwd=tmp_path, env=env, timeout_s=20, supervised=supervised)
    assert done.stdout == b"Linux\n"


def plain(folder: Path) -> Path:
    path = folder / "plain.txt"
    path.write_text("no program")
    return path


def script(folder: Path, content: bytes) -> Path:
    path = folder / "script"
    path.write_bytes(content)
    path.chmod(0o755)
    return path
