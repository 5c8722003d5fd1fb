"""The program between touchline and `grok` (spec page 2, "grok"): it runs the CLI and answers its hook.

Standard library only and started as a file under the process host. Standard input: one line that says what to run,
then answers to hook events, one a line. Standard output: what the CLI prints, line by line and as it is, and lines of
its own whose type begins with `bridge.`: each hook event, and at last the CLI's exit status.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PIECE = 1 << 16
LONGEST_EVENT = 16 * 2**20
"""Bytes of one hook event; more is denied unread."""
WAITING = 64
SOCKET = "hook.sock"
NO_ANSWER = {"decision": "deny", "reason": "touchline: nobody decides about permissions any more"}

Fields = dict[str, Any]


class Bridge:
    """One turn of the CLI."""

    def __init__(self, order: Fields) -> None:
        self.order = order
        self.writing = threading.Lock()
        self.answers: dict[int, queue.SimpleQueue[Fields]] = {}
        self.listening = threading.Lock()
        self.deaf = False

    def run(self) -> int:
        """Run the CLI to its end; gives its exit status, 1 for a signal."""
        server = self.open_socket()
        threading.Thread(target=self.serve, args=(server,), daemon=True).start()
        threading.Thread(target=self.read_input, daemon=True).start()
        argv = self.order["argv"]
        try:
            program = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=sys.stderr)
        except OSError as error:
            self.emit("bridge.failed", detail=f"{argv[0]}: {error.strerror}")
            return 1
        # An interrupt reaches the CLI too, which ends by itself; its last words are still to be passed on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert program.stdout is not None
        self.copy(program.stdout)
        status = program.wait()
        self.emit("bridge.exited", status=status)
        return status if status >= 0 else 1

    def copy(self, stream: Any) -> None:
        """Pass lines on, whole; a long one in pieces, but with nothing in between."""
        while piece := stream.readline(PIECE):
            with self.writing:
                sys.stdout.buffer.write(piece)
                while not piece.endswith(b"\n"):
                    piece = stream.readline(PIECE) or b"\n"
                    sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()

    def emit(self, kind: str, **fields: Any) -> None:
        with self.writing:
            sys.stdout.buffer.write(json.dumps({"type": kind, **fields}).encode() + b"\n")
            sys.stdout.buffer.flush()

    # The hook.

    def open_socket(self) -> socket.socket:
        folder, here = self.order["folder"], Path.cwd()
        os.chdir(folder)  # the name of a socket must be short
        try:
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.bind(SOCKET)
            server.listen(WAITING)
        finally:
            os.chdir(here)
        return server

    def serve(self, server: socket.socket) -> None:
        number = 0
        while True:
            connection, _ = server.accept()
            number += 1
            threading.Thread(target=self.answer, args=(connection, number), daemon=True).start()

    def answer(self, connection: socket.socket, number: int) -> None:
        """One hook event: told to touchline, whose answer goes back."""
        with connection:
            content = b""
            while len(content) <= LONGEST_EVENT and (piece := connection.recv(PIECE)):
                content += piece
            connection.sendall(json.dumps(self.decide(content, number)).encode())

    def decide(self, content: bytes, number: int) -> Fields:
        try:
            event = json.loads(content)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict) or len(content) > LONGEST_EVENT:
            return {"decision": "deny", "reason": "touchline: the call could not be read"}
        waiting: queue.SimpleQueue[Fields] = queue.SimpleQueue()
        with self.listening:
            if self.deaf:
                return NO_ANSWER
            self.answers[number] = waiting
        self.emit("bridge.hook", id=number, event=event, inside=self.inside(event.get("toolInput")))
        return waiting.get()

    def inside(self, given: object) -> bool:
        """Whether every file that a call names lies where this turn may read."""
        fields = given if isinstance(given, dict) else {}
        named = [fields[key] for key in self.order["path_fields"] if isinstance(fields.get(key), str)]
        places = [os.path.realpath(place) for place in self.order["readable"]]
        return all(
            any(real == place or real.startswith(place.rstrip("/") + "/") for place in places)
            for real in (os.path.realpath(Path.cwd() / name) for name in named)
        )

    def read_input(self) -> None:
        for line in sys.stdin.buffer:
            try:
                told = json.loads(line)
                number = told.pop("id")
            except (ValueError, KeyError, AttributeError):
                continue
            with self.listening:
                waiting = self.answers.pop(number, None)
            if waiting is not None:
                waiting.put(told)
        with self.listening:
            self.deaf = True
            for waiting in self.answers.values():
                waiting.put(NO_ANSWER)


def main() -> int:
    """Run one turn."""
    return Bridge(json.loads(sys.stdin.buffer.readline())).run()


if __name__ == "__main__":
    status = main()
    os._exit(status)  # threads that wait for a hook do not hold it up
