"""The small program between us and every supervised child: it ends the whole tree when told or when we die.

Spec page 2, "The process host". `command` runs it in a bare interpreter, so it uses nothing but the
standard library and its neighbour `tree`, and imports as little as it can: every program waits for its start. It is
a sub-reaper: whatever the child starts, in whatever session, stays below it, so "the tree" is simply everything
below this process. The control socket is its tie to the host: end of file there means that the host is dead,
however it died.

Words on the socket. Host to supervisor, once: eight hex digits of length, then the fields of `launch_frame`;
later the single bytes STOP and KILL. Supervisor to host, one a line: `started PID`, `failed ERRNO`, `wall` (the
time is over), `exited WAITSTATUS` (the child itself). Its own exit status is 0 when nothing of the tree is left.

Without prctl (macOS) an orphan of the tree is handed to the system's first process. Then only those are found
here that were seen below us before, and the exit status tells the host to look for the rest by its mark.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence

    from touchline.process.tree import Process, descendants, freeze_and_kill, process_table, send
elif __package__:
    import signal

    from touchline.process.tree import Process, descendants, freeze_and_kill, process_table, send
else:
    from tree import Process, descendants, freeze_and_kill, process_table, send, signal

STOP = b"s"
KILL = b"k"
KILL_PATIENCE_S = 3.0
"""How long killed processes are waited for; one that hangs in the kernel is reported as left."""

_PR_SET_CHILD_SUBREAPER = 36
_RESTORED = ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD")


def launch_frame(argv: Sequence[str], *, program: str, stop_s: float, wall_s: float, locale: str | None) -> bytes:
    """The host's first message. `locale` is LC_CTYPE as the child shall see it; None: not set."""
    texts = [program, repr(stop_s), repr(wall_s), "" if locale is None else f"={locale}", *argv]
    payload = b"\0".join(os.fsencode(text) for text in texts)
    return b"%08x" % len(payload) + payload


class Supervisor:
    """One child, everything below it, and the socket to the host."""

    def __init__(self, control: int, *, holds_orphans: bool) -> None:
        self.control = control
        self.holds_orphans = holds_orphans
        self.child = 0
        self.child_ended = False
        self.host_lost = False
        self.kill_now = False
        self.terminated = False
        self.stop_s = 0.0
        self.seen: dict[int, Process] = {}
        self.wake, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)
        os.set_blocking(self.wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_terminate)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)

    def _on_terminate(self, *_: object) -> None:
        self.terminated = True

    def run(self) -> bool:
        """Start the child and stay until nothing of its tree is left; False if something may have outlived it."""
        program, stop_s, wall_s, locale, *argv = self._read_launch()
        self.stop_s = float(stop_s)
        deadline = time.monotonic() + float(wall_s)
        if locale:
            os.environ["LC_CTYPE"] = os.fsdecode(locale[1:])
        else:  # the interpreter sets it for itself in a C locale
            os.environ.pop("LC_CTYPE", None)
        pid, problem = start_child(program, argv)
        _let_go_of_standard_streams()
        if problem:
            self._tell(f"failed {problem}")
            return True
        self.child = pid
        self._tell(f"started {pid}")
        while not self._everything_ended():
            if time.monotonic() >= deadline:  # the host may be busy elsewhere; the wall clock is kept all the same
                self._tell("wall")
                self._stop_tree()
                break
            if self.host_lost or self.kill_now or self.terminated:
                self._stop_tree()
                break
            if self._listen(deadline - time.monotonic()) == STOP:
                self._stop_tree()
                break
        return self._everything_ended() and self.holds_orphans

    def _read_launch(self) -> list[bytes]:
        size = int(self._read_exactly(8), 16)
        return self._read_exactly(size).split(b"\0")

    def _read_exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = os.read(self.control, min(size - len(parts), 1 << 16))
            if not part:
                raise SystemExit(0)  # the host died before there was anything to supervise
            parts += part
        return bytes(parts)

    def _tell(self, text: str) -> None:
        try:
            os.write(self.control, text.encode("ascii") + b"\n")
        except OSError:  # nobody listens any more; the tree is ended all the same
            self.host_lost = True

    def _listen(self, seconds: float) -> bytes:
        """Wait for a word of the host or the end of a child; remembers KILL and a lost host."""
        ears = [self.wake] if self.host_lost else [self.control, self.wake]
        ready, _, _ = select.select(ears, [], [], max(0.0, min(seconds, 3600.0)))
        if self.wake in ready:
            os.read(self.wake, 4096)
        if self.control not in ready:
            return b""
        try:
            words = os.read(self.control, 64)
        except OSError:
            words = b""
        if not words:
            self.host_lost = True
        if KILL in words:
            self.kill_now = True
        return STOP if STOP in words else words

    def _everything_ended(self) -> bool:
        """Reap what ended, tell the host of the child itself; True when no child of ours is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self.holds_orphans or not self._tree()
            if pid == 0:
                return False
            if pid == self.child:
                self.child_ended = True
                self._tell(f"exited {status}")

    def _tree(self) -> list[Process]:
        table = process_table()
        found = descendants(os.getpid(), table)
        if not self.holds_orphans:  # orphans leave our tree there: remember what was once seen in it
            found = [process for process in found if process.state != "Z"]
            self.seen.update((process.pid, process) for process in found)
            known = {process.pid for process in found}
            for process in self.seen.values():
                now = table.get(process.pid)
                if now is not None and now.start == process.start and process.pid not in known:
                    found.append(now)
        return found

    def _stop_tree(self) -> None:
        """Interrupt, terminate, kill; each step only as long as something is left."""
        # After the child's own end only leftovers remain: nothing to interrupt that could still answer.
        steps = (signal.SIGTERM,) if self.child_ended else (signal.SIGINT, signal.SIGTERM)
        for number in steps:
            if self.kill_now:
                break
            for process in self._tree():
                send(process, number)
            if self._wait_for_end(self.stop_s / len(steps)):
                return
        end = time.monotonic() + KILL_PATIENCE_S
        while time.monotonic() < end:
            freeze_and_kill(self._tree)
            if self._wait_for_end(0.2, hurry=False):
                return

    def _wait_for_end(self, seconds: float, *, hurry: bool = True) -> bool:
        end = time.monotonic() + seconds
        while not self._everything_ended():
            left = end - time.monotonic()
            if left <= 0 or (hurry and self.kill_now):
                return False
            self._listen(left if self.holds_orphans else min(left, 0.1))
        return True


def start_child(program: bytes, argv: list[bytes]) -> tuple[int, int]:
    """Start `program` in a session of its own on our standard streams; gives its number and the errno, or 0."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for name in _RESTORED:
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.execv(program, argv)
        except OSError as problem:
            os.write(writer, b"%d" % (problem.errno or 1))
        finally:
            os._exit(127)
    os.close(writer)
    told = os.read(reader, 16)  # end of file as soon as the program runs
    os.close(reader)
    if told:
        os.waitpid(pid, 0)
    return pid, int(told or b"0")


def _let_go_of_standard_streams() -> None:
    # Holding them would keep the host from ever seeing their end.
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)


def _become_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def _prctl(*arguments: int) -> int:
    try:  # what `ctypes` itself calls, without the three milliseconds that it takes to import
        from _ctypes import call_function, dlopen, dlsym

        return int(call_function(dlsym(dlopen(None, 0), "prctl"), arguments))  # type: ignore[arg-type]
    except (ImportError, AttributeError):
        import ctypes

        return int(ctypes.CDLL(None).prctl(*arguments))


def command(python: str, control: int) -> list[str]:
    """The command that runs this module with the control socket of that number.

    Imported there, not run by path: a module that is imported has been compiled before.
    """
    start = "import sys; sys.path.append(sys.argv[1]); import supervisor; supervisor.main()"
    return [python, "-I", "-S", "-c", start, os.path.dirname(os.path.abspath(__file__)), str(control)]  # noqa: PTH100, PTH120


def main() -> None:
    """Run as a program; the last argument is the number of the control socket."""
    descriptor = int(sys.argv[-1])
    os.set_inheritable(descriptor, False)
    nothing_left = Supervisor(descriptor, holds_orphans=_become_subreaper()).run()
    os._exit(0 if nothing_left else 1)  # nothing to tidy up, and the host waits
