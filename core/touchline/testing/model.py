"""A model without a model: a server on the loopback address that plays a script to a real CLI (spec page 2).

    with ScriptedModel() as model:
        model.play(Shell("git commit -qam x"), Say('{"ask": "which port?"}'))
        ...                      # run the CLI with its base URL set to model.url
        assert model.tool_results() == ["..."]

One step is played for each call that the agent makes. A fault (`HttpError` and its kin) at the end of the script
is repeated for ever; behind any other last step, further calls are told that the script is over. So
`play(HttpError(500), Say("ok"))` fails once and `play(HttpError(500))` always. Everything sent is in `requests`.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar

from touchline.documents.base import Usage
from touchline.testing.anthropic import AnthropicMessages
from touchline.testing.dialect import Dialect
from touchline.testing.steps import Cut, Fault, HttpError, Malformed, Refused, Say, Silent, Step

SCRIPT_OVER = "The script is over."
MAX_REQUEST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as it arrived; `body` is None where there was none, or where it was no JSON object."""

    method: str
    path: str
    body: dict[str, Any] | None
    main: bool
    """Whether the agent itself asked (a call that offers tools)."""


class ScriptedModel:
    """The server; a context manager. `url` stays the same from one script to the next.

    `dialects` are the APIs that it speaks, by request path; the default is Anthropic Messages alone.
    """

    def __init__(self, *dialects: Dialect) -> None:
        self._dialects: tuple[Dialect, ...] = dialects or (AnthropicMessages(),)
        self._dialect = self._dialects[0]
        self._lock = threading.Lock()
        self._steps: deque[Step] = deque()
        self._calls = 0
        self._stop = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self._placeholder: socket.socket | None = None
        self._port = 0
        self.requests: list[Request] = []

    def __enter__(self) -> ScriptedModel:
        self._listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._close()
        if self._placeholder is not None:
            self._placeholder.close()
            self._placeholder = None

    @property
    def url(self) -> str:
        """The base URL, for instance for ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self._port}"

    def play(self, *steps: Step) -> None:
        """Replace the script. With `Refused` first, nobody listens from now on."""
        with self._lock:
            self._steps = deque(steps)
        if steps and isinstance(steps[0], Refused):
            self._refuse()
        elif self._server is None:
            self._listen()

    def prompts(self) -> list[str]:
        """The user texts of the latest call of the agent, oldest first."""
        body = self._last_main_body()
        return self._dialect.prompts(body) if body is not None else []

    def tool_results(self) -> list[str]:
        """What the model was told about its tool calls, as the latest call of the agent holds it."""
        body = self._last_main_body()
        return self._dialect.tool_results(body) if body is not None else []

    def usage(self, calls: int) -> Usage:
        """What `calls` answers count for."""
        return self._dialect.usage(calls)

    def main_calls(self) -> int:
        """How many calls the agent made, retries included."""
        with self._lock:
            return sum(request.main for request in self.requests)

    def _last_main_body(self) -> dict[str, Any] | None:
        with self._lock:
            return next((r.body for r in reversed(self.requests) if r.main and r.body is not None), None)

    def _listen(self) -> None:
        if self._placeholder is not None:
            self._placeholder.close()
            self._placeholder = None
        handler = type("BoundHandler", (_Handler,), {"model": self})
        self._server = _Server(("127.0.0.1", self._port), handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def _close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _refuse(self) -> None:
        """Stop listening but keep the port bound, so that nobody else can answer on it."""
        if self._server is None:
            return
        self._close()
        self._placeholder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._placeholder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._placeholder.bind(("127.0.0.1", self._port))

    def speaks(self, path: str) -> Dialect | None:
        """The dialect of a request path (for the handler); it is the one whose requests are read from now on."""
        for dialect in self._dialects:
            if path.endswith(dialect.path):
                self._dialect = dialect
                return dialect
        return None

    def take(self, request: Request) -> tuple[Step, str]:
        """Record a request; the step to answer it with and the number of the call (for the handler)."""
        with self._lock:
            self.requests.append(request)
            self._calls += 1
            if not request.main:
                return Say("ok"), f"{self._calls:04d}"
            if not self._steps:
                return Say(SCRIPT_OVER), f"{self._calls:04d}"
            for_ever = len(self._steps) == 1 and isinstance(self._steps[0], Fault)
            return self._steps[0] if for_ever else self._steps.popleft(), f"{self._calls:04d}"

    def note(self, request: Request) -> None:
        """Record a request that is no model call."""
        with self._lock:
            self.requests.append(request)

    def wait(self, seconds: float) -> None:
        """Say nothing for so long, or until the server closes."""
        self._stop.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no error of ours; it is what killed CLIs do."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ClassVar[ScriptedModel]

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on stderr."""

    def do_HEAD(self) -> None:
        self.model.note(Request("HEAD", self.path, None, False))
        self._json(200, {})

    def do_GET(self) -> None:
        self.model.note(Request("GET", self.path, None, False))
        self._json(200, {"data": [], "has_more": False})

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if length > MAX_REQUEST_BYTES:
            self._json(413, {"error": {"message": "request too large"}})
            return
        body = _object(self.rfile.read(length))
        path = self.path.partition("?")[0]
        dialect = self.model.speaks(path)
        if path.endswith("/count_tokens"):
            self.model.note(Request("POST", self.path, body, False))
            self._json(200, {"input_tokens": 1})
        elif dialect is None or body is None:
            self.model.note(Request("POST", self.path, body, False))
            self._json(404, {"error": {"message": f"no such endpoint: {path}"}})
        else:
            step, call = self.model.take(Request("POST", self.path, body, dialect.is_main_call(body)))
            self._play(dialect, step, call, body)

    def _play(self, dialect: Dialect, step: Step, call: str, body: dict[str, Any]) -> None:
        if isinstance(step, HttpError):
            headers = dict(step.headers)
            if step.retry_after_s is not None:
                headers["retry-after"] = f"{step.retry_after_s:g}"
            self._json(step.status, dialect.error(step), headers)
        elif isinstance(step, Refused):
            self.close_connection = True
        elif isinstance(step, Cut | Malformed | Silent):
            self._break(dialect, step, call, body)
        elif dialect.wants_stream(body):
            self._begin_stream()
            for frame in dialect.stream(step, call=call, body=body):
                self._frame(frame)
        else:
            self._json(200, dialect.message(step, call=call, body=body))

    def _break(self, dialect: Dialect, step: Cut | Malformed | Silent, call: str, body: dict[str, Any]) -> None:
        self._begin_stream()
        self._frame(dialect.opening(call=call, body=body))
        if isinstance(step, Malformed):
            self._frame(dialect.malformed())
        elif isinstance(step, Silent):
            self.model.wait(step.seconds)

    def _begin_stream(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

    def _frame(self, content: bytes) -> None:
        self.wfile.write(content)
        self.wfile.flush()

    def _json(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw or b"{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
