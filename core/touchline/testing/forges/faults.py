"""A smart-http host that fails in a chosen way from, or at, its n-th request (spec page 6, "Network").

Every failure is a real one, as git meets it: a closed port, a reset connection, a hook that says no, a disk that takes
nothing. What happens at the host before a request is answered can be chosen too.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Literal, get_args

from touchline.testing.forges.servers import GitHttpServer

Fault = Literal["refused", "hang", "reset", "lost", "halfway", "401", "403", "503", "declined", "full"]
"""refused: nobody listens any more. hang: no answer comes. reset: the connection breaks before anything is done.
lost: it is done and the connection breaks before the answer. halfway: the answer breaks off in its middle. A number:
every request from then on gets that status. declined: a hook takes no push from then on. full: from then on nothing
can be written."""
FAULTS: tuple[Fault, ...] = get_args(Fault)

_DECLINES = "#!/bin/sh\necho 'pushes are closed' >&2\nexit 1\n"
_FULL = ("sh", "-c", "ulimit -f 0; exec git http-backend")
HANG_MAX_S = 120.0


class FaultyServer(GitHttpServer):
    """Serves `hosted`, a repository below `root`; `count` tells how many requests there were."""

    def __init__(self, root: Path, hosted: Path, *, token: str = "") -> None:
        super().__init__(root, token=token)
        self.count = 0
        self.before: Callable[[int], object] = lambda number: None
        """Called with its number before a request is answered, one request at a time."""
        self._hosted = hosted
        self._kind: Fault | None = None
        self._at = 0
        self._failing: dict[int, Fault] = {}
        self._turn = threading.Lock()
        self._healed = threading.Event()

    def fail(self, kind: Fault, at: int) -> None:
        """Fail in that way at request number `at`, counted from the first one ever."""
        self._healed.clear()
        self._kind, self._at = kind, at
        if kind == "refused" and at == self.count + 1:
            self.close()

    def heal(self) -> None:
        """Everything works again."""
        if self._kind == "refused" and self.count + 1 >= self._at:
            self.reopen()
        self._kind = None
        self._healed.set()
        self.program = ("git", "http-backend")
        (self._hosted / "hooks" / "pre-receive").unlink(missing_ok=True)

    def __exit__(self, *exc: object) -> None:
        self.heal()
        super().__exit__(*exc)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """One request, failed if its time has come."""
        with self._turn:
            self.count += 1
            number, kind = self.count, self._kind
            self.before(number)
            due = kind is not None and number >= self._at
            first = due and number == self._at
            if due and kind == "declined":
                hook = self._hosted / "hooks" / "pre-receive"
                hook.write_text(_DECLINES)
                hook.chmod(0o755)
            elif due and kind == "full":
                self.program = _FULL
            elif due and kind in ("401", "403", "503"):
                self.refuse(int(kind), times=1)
            elif first and kind in ("lost", "halfway"):
                self._failing[id(request)] = kind
            if kind == "refused" and number + 1 == self._at:
                request.close_connection = True
                self.close()
        if first and kind in ("reset", "hang"):
            if kind == "hang":
                self._healed.wait(HANG_MAX_S)
            _break(request)
            return
        try:
            super().answer(request)
        finally:
            self._failing.pop(id(request), None)

    def _send(self, request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
        match self._failing.get(id(request)):
            case None:
                if self._server.socket.fileno() < 0:  # nobody listens any more: the connection is not kept either
                    headers = {**headers, "Connection": "close"}
                super()._send(request, status, headers, body)
            case "halfway":
                super()._send(request, status, {**headers, "Content-Length": str(len(body))}, body[: len(body) // 2])
                _break(request)
            case _:
                _break(request)


def _break(request: BaseHTTPRequestHandler) -> None:
    """End the connection with a reset, nothing more being sent."""
    request.close_connection = True
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.connection.close()
