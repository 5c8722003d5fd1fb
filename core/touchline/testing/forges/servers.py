"""Transports of a bare repository without any installed server: smart http and ssh (spec page 6, "Tests").

`GitHttpServer` is git's own `http-backend` behind a small threaded server of this process, with Basic
authentication and refusals; `write_ssh_program` writes what `GIT_SSH_COMMAND` names: it runs the asked git program
here instead of elsewhere.
"""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

_SSH = """#!/bin/sh
if [ -e "{refusal}" ]; then
  echo "git@example.invalid: Permission denied (publickey)." >&2
  exit 255
fi
while [ $# -gt 0 ]; do
  case "$1" in
    -p|-o) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
shift
for name in $(env | sed -n 's/^\\(GIT_[A-Z0-9_]*\\)=.*/\\1/p'); do unset "$name"; done
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
eval "exec $*"
"""
CGI_TIMEOUT_S = 60.0


def write_ssh_program(folder: Path) -> tuple[Path, Path]:
    """The program for `GIT_SSH_COMMAND`, and the file that makes it refuse every login while it exists."""
    program, refusal = folder / "ssh-here", folder / "ssh-refuses"
    program.write_text(_SSH.format(refusal=refusal))
    program.chmod(0o755)
    return program, refusal


class GitHttpServer:
    """Serves the repositories below `root` on 127.0.0.1; a context manager. With a `token` every request needs it."""

    def __init__(self, root: Path, *, token: str = "") -> None:
        self.token = token
        self.program: Sequence[str] = ("git", "http-backend")
        self.requests: list[str] = []
        """Method and path of every request, for tests of what was asked how often."""
        self._root = root
        self._refusals: list[int] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def log_message(self, format: str, *args: object) -> None:
                """Tests read `requests` instead."""

            def do_GET(self) -> None:
                outer.answer(self)

            def do_POST(self) -> None:
                outer.answer(self)

        self._handler = Handler
        self._open(0)
        self._port = self._server.server_address[1]

    @property
    def url(self) -> str:
        """Address of `root`, without credentials."""
        return f"http://127.0.0.1:{self._port}"

    def close(self) -> None:
        """Listen no longer: who connects now is refused. Requests that are under way go on."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    def reopen(self) -> None:
        """Listen again at the same address."""
        self._open(self._port)
        self._thread.start()

    def refuse(self, status: int, *, times: int) -> None:
        """Answer the next `times` requests with that status."""
        self._refusals += [status] * times

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _open(self, port: int) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler)
        # Connections that git holds open must not hold up the end of a test.
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """One request: refused, asked for a credential, or handed to git."""
        body = _body(request)
        self.requests.append(f"{request.command} {request.path}")
        if self._refusals:
            self._send(request, self._refusals.pop(0), {"Retry-After": "7"}, b"")
        elif self.token and _password(request) != self.token:
            self._send(request, 401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        else:
            self._by_git(request, body)

    def _by_git(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        path, _, query = request.path.partition("?")
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_PROJECT_ROOT": str(self._root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": request.command,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_USER": "tester",
        }
        done = subprocess.run(
            self.program,
            input=body,
            env=environment,
            cwd=self._root,
            capture_output=True,
            timeout=CGI_TIMEOUT_S,
            check=False,
            restore_signals=False,  # a write beyond a limit of size fails, as on a full disk, and kills nobody
        )
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        if done.returncode != 0 or not head:
            # What a server does whose worker died: the connection ends without an answer.
            request.close_connection = True
            return
        status, headers = 200, {}
        for line in head.decode("latin-1").split("\r\n"):
            name, _, value = line.partition(":")
            if name.lower() == "status":
                status = int(value.split()[0])
            else:
                headers[name] = value.strip()
        self._send(request, status, headers, rest)

    def _send(self, request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    content = bytearray()
    while size := int(request.rfile.readline().split(b";")[0].strip() or b"0", 16):
        content += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return bytes(content)


def _password(request: BaseHTTPRequestHandler) -> str:
    kind, _, value = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "basic":
        return ""
    return base64.b64decode(value).decode("utf-8", "replace").partition(":")[2]
