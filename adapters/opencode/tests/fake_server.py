"""A stand-in for `opencode serve`, for tests of the bridge: `python fake_server.py PLAN serve ...`.

Standard library only. The plan is a JSON file: `deaf` is how many connections are accepted and never answered before
the server is ready; `events` are sent once the prompt came; `messages` is the list; `opened` overrides the answer to
a new session; `exit` ends the process once the prompt came. Everything asked for is appended to `log`.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PLAN: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
LOG = Path(PLAN["log"])
EVENTS: queue.SimpleQueue[Any] = queue.SimpleQueue()
WANTED = base64.b64encode(
    f"{os.environ['OPENCODE_SERVER_USERNAME']}:{os.environ['OPENCODE_SERVER_PASSWORD']}".encode()
).decode()
RULES: list[Any] = []
DEAF = [PLAN.get("deaf", 0)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        if DEAF[0] > 0:
            DEAF[0] -= 1
            time.sleep(30)
        super().handle_one_request()

    def answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.take("GET", None)

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        self.take("POST", json.loads(self.rfile.read(size) or b"null"))

    do_PATCH = do_POST

    def take(self, method: str, body: Any) -> None:
        with LOG.open("a") as log:
            log.write(json.dumps([self.command, self.path, body]) + "\n")
        if self.headers.get("authorization") != f"Basic {WANTED}":
            self.answer(401, {})
        elif self.path == "/event":
            self.events()
        elif self.path == "/agent":
            self.answer(200, [{"name": "build", "permission": [], "prompt": "long"}])
        elif self.path == "/config":
            self.answer(200, {"default_agent": "build"})
        elif self.path == "/session" or self.command == "PATCH":
            RULES[:] = body["permission"]
            self.answer(200, {"id": "ses_1", "permission": RULES, **PLAN.get("opened", {})})
        elif self.path == "/session/ses_1":
            self.answer(200, {"id": "ses_1", "permission": []})
        elif self.path.startswith("/session/ses_1/message"):
            messages = PLAN.get("messages", [])
            self.answer(200, PLAN.get("before", []) if "limit=1" in self.path else messages)
        elif self.path.endswith("/prompt_async"):
            self.answer(200, {})
            for event in PLAN.get("events", []):
                EVENTS.put(event)
            if PLAN.get("exit") is not None:
                os._exit(PLAN["exit"])
        elif self.path.endswith("/abort") or self.path.startswith("/permission/"):
            self.answer(200, True)
            EVENTS.put({"type": "session.idle", "properties": {"sessionID": "ses_1"}})
        elif self.path == "/global/health":
            self.answer(200, {})
        else:
            self.answer(404, {"name": "NotFoundError"})

    def events(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'data: {"type": "server.connected", "properties": {}}\n\n')
        while True:
            self.wfile.write(b"data: " + json.dumps(EVENTS.get()).encode() + b"\n\n")
            self.wfile.flush()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"opencode server listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
