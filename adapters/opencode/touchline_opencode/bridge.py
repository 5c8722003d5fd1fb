"""The program between touchline and `opencode serve` (spec page 2, "opencode"): lines here, HTTP on loopback there.

Standard library only and started as a file under the process host, so that limits, records and clean-up are the same
as for every CLI: it starts the server as its own child, with a password that is made here and stands in no argument.
Standard input: one line that says what to do, then answers (`rules`, `permission`, `abort`), one a line. Standard
output: the server's events of this one session as they are, and lines of its own whose type begins with `bridge.`.
The message list, which is the truth about a turn, is fetched once the session is idle, and is always the last line.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import queue
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from typing import Any

HOST = "127.0.0.1"
USER = "touchline"
READY_S = 90.0
PROBE_S = 1.0
"""A request that comes before the server is ready is accepted and never answered, so each probe is short."""
CALL_S = 60.0
ABORT_S = 2.0
IDLE_AFTER_ABORT_S = 10.0
QUIET_STREAM_S = 60.0
"""The server sends a heartbeat every ten seconds; a stream without any for this long is lost."""
LAST_WORDS_S = 1.0
"""After its event stream ended the server's own exit is awaited this long, since it says more."""
STOP_S = 3.0
FORWARDED = frozenset(
    {
        "message.updated",
        "message.part.updated",
        "message.part.delta",
        "session.status",
        "session.idle",
        "session.error",
        "permission.asked",
        "permission.replied",
        "question.asked",
    }
)
"""A heartbeat and news about other things must not look like progress of the turn."""

Fields = dict[str, Any]
Word = tuple[str, Any]


class Failed(Exception):
    """The turn cannot go on; `fields` says where and why."""

    def __init__(self, stage: str, status: int = 0, detail: str = "") -> None:
        super().__init__(stage)
        self.fields = {"stage": stage, "status": status, "detail": detail[:2000]}


class Bridge:
    """One turn on one server."""

    def __init__(self, order: Fields) -> None:
        self.order = order
        self.words: queue.SimpleQueue[Word] = queue.SimpleQueue()
        self.server: subprocess.Popen[bytes] | None = None
        self.session = ""
        self.port = 0
        self.password = secrets.token_urlsafe(32)
        self.lost = ""
        self.give_up_at: float | None = None

    def run(self) -> int:
        """Play the turn to its end; the exit status."""
        threading.Thread(target=self.read_input, daemon=True).start()
        try:
            self.start_server()
            self.wait_until_ready()
            threading.Thread(target=self.read_events, daemon=True).start()
            self.expect("connected")
            before = self.open_session()
            emit("bridge.session", id=self.session)
            self.prompt()
            self.relay()
            emit("bridge.messages", messages=self.messages(before))
        except Failed as failed:
            emit("bridge.failed", **failed.fields)
            return 1
        finally:
            self.stop_server()
        return 0

    # The server.

    def start_server(self) -> None:
        environment = {**os.environ, "OPENCODE_SERVER_PASSWORD": self.password, "OPENCODE_SERVER_USERNAME": USER}
        argv = [*self.order["command"], "serve", f"--hostname={HOST}", "--port=0", *self.order["arguments"]]
        try:
            self.server = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=sys.stderr, env=environment
            )
        except OSError as error:
            raise Failed("start", detail=f"{argv[0]}: {error.strerror}") from error
        threading.Thread(target=self.watch_server, args=(self.server,), daemon=True).start()

    def watch_server(self, server: subprocess.Popen[bytes]) -> None:
        """Learn the port from what the server prints, drain the rest, then tell its end."""
        assert server.stdout is not None
        for line in server.stdout:
            found = re.search(rb"listening on http://[^:]+:(\d+)", line)
            if found:
                self.words.put(("listening", int(found[1])))
            else:
                sys.stderr.buffer.write(line)
                sys.stderr.flush()
        self.words.put(("exited", server.wait()))

    def wait_until_ready(self) -> None:
        self.port = self.expect("listening")
        end = time.monotonic() + READY_S
        while True:
            try:
                if self.call("GET", "/global/health", timeout_s=PROBE_S)[0] == 200:
                    return
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() > end:
                    raise Failed("ready", detail=f"no answer within {READY_S:.0f} s: {error}") from error
            if self.server is not None and self.server.poll() is not None:
                self.expect("exited")
            time.sleep(0.05)

    def stop_server(self) -> None:
        if self.server is None:
            return
        self.server.terminate()
        try:
            self.server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.server.kill()

    # What comes in.

    def read_input(self) -> None:
        for line in sys.stdin.buffer:
            try:
                self.words.put(("told", json.loads(line)))
            except ValueError:
                continue
        self.words.put(("closed", None))

    def read_events(self) -> None:
        """The server-sent events: each `data:` line is one whole JSON object."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=QUIET_STREAM_S)
        try:
            connection.request("GET", "/event", headers=self.headers())
            answer = connection.getresponse()
            if answer.status != 200:
                self.words.put(("lost", f"the event stream was refused with status {answer.status}"))
                return
            for line in answer:
                if line.startswith(b"data:"):
                    self.event(line[5:])
            self.words.put(("lost", "the event stream ended"))
        except (OSError, http.client.HTTPException) as error:
            self.words.put(("lost", f"the event stream broke: {error}"))
        finally:
            connection.close()

    def event(self, data: bytes) -> None:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return
        if isinstance(event, dict):
            connected = event.get("type") == "server.connected"
            self.words.put(("connected", None) if connected else ("event", event))

    def next_word(self) -> Word:
        """The next thing that happened; the end of the server, of our input or an interrupt ends the turn."""
        left = None if self.give_up_at is None else max(0.0, self.give_up_at - time.monotonic())
        try:
            kind, value = self.words.get(timeout=left)
        except queue.Empty:
            raise Failed("lost", detail=self.lost or "the session did not become idle") from None
        if kind == "exited":
            raise Failed("exited", value)
        if kind == "lost":
            self.lost = value
            self.give_up_at = time.monotonic() + LAST_WORDS_S
            return self.next_word()
        if kind == "interrupted":
            self.abort()
            raise Failed("interrupted")
        if kind == "closed":
            raise Failed("closed")
        return kind, value

    def expect(self, wanted: str) -> Any:
        """Wait for one kind of news; what else comes before the turn concerns nobody."""
        end = time.monotonic() + READY_S
        while time.monotonic() < end:
            self.give_up_at = end
            kind, value = self.next_word()
            if kind == wanted:
                self.give_up_at = None
                return value
            if kind == "told" and wanted == "rules" and isinstance(value.get("rules"), list):
                self.give_up_at = None
                return value["rules"]
        raise Failed("ready", detail=f"waited {READY_S:.0f} s for {wanted}")

    # The turn.

    def open_session(self) -> str:
        """Open or find the session with exactly our rules; gives the id of the last message before this turn."""
        agents = self.get("/agent")
        emit("bridge.agents", agents=named_rules(agents), default=self.get("/config").get("default_agent"))
        rules = self.expect("rules")
        wanted: str = self.order["session"]
        if not wanted:
            body = {"title": self.order["title"], "permission": rules}
            session = self.must("session", "POST", "/session", body)
        else:
            status, found = self.call("GET", f"/session/{wanted}")
            if status != 200 or not isinstance(found, dict):
                raise Failed("resume", status, json.dumps(found))
            session = found
            if not ends_with(session.get("permission"), rules):
                session = self.must("session", "PATCH", f"/session/{wanted}", {"permission": rules})
        if not ends_with(session.get("permission"), rules):
            raise Failed("rules", detail="the server did not take the session's permission rules")
        self.session = str(session["id"])
        last = self.get(f"/session/{self.session}/message?limit=1") if wanted else []
        return str(last[-1]["info"]["id"]) if last else ""

    def prompt(self) -> None:
        body: Fields = {"parts": [{"type": "text", "text": self.order["prompt"]}]}
        if self.order["model"]:
            provider, _, model = self.order["model"].partition("/")
            body["model"] = {"providerID": provider, "modelID": model}
        status, found = self.call("POST", f"/session/{self.session}/prompt_async", body)
        if status not in (200, 204):
            raise Failed("prompt", status, json.dumps(found))

    def relay(self) -> None:
        """Events out, answers in, until the session is idle."""
        while True:
            kind, value = self.next_word()
            if kind == "told":
                self.obey(value)
            elif kind == "event":
                fields = value.get("properties")
                if not isinstance(fields, dict) or fields.get("sessionID") != self.session:
                    continue
                if value.get("type") in FORWARDED:
                    write(self.annotated(value, fields))
                if value.get("type") == "session.idle":
                    return

    def annotated(self, event: Fields, fields: Fields) -> Fields:
        """What the reader of the stream cannot know by itself: the time now, and where a file lies."""
        if event["type"] == "session.status":
            return {**event, "bridgeTime": time.time()}
        if event["type"] == "permission.asked":
            return {**event, "bridgeInside": self.may_read(fields.get("metadata"))}
        return event

    def may_read(self, metadata: object) -> bool:
        """Whether a request names one file or folder that this turn may read."""
        named = metadata.get("filepath") if isinstance(metadata, dict) else None
        if not isinstance(named, str) or not named:
            return False
        real = os.path.realpath(named)
        places = [os.path.realpath(place) for place in self.order["readable"]]
        return any(real == place or real.startswith(place.rstrip("/") + "/") for place in places)

    def obey(self, told: Fields) -> None:
        if "permission" in told:
            body = {"reply": told["reply"]}
            if told.get("message"):
                body["message"] = told["message"]
            self.must("permission", "POST", f"/permission/{told['permission']}/reply", body)
        elif told.get("abort"):
            self.abort()
            self.give_up_at = time.monotonic() + IDLE_AFTER_ABORT_S

    def abort(self) -> None:
        try:
            self.call("POST", f"/session/{self.session}/abort", timeout_s=ABORT_S)
        except (OSError, http.client.HTTPException) as error:
            sys.stderr.write(f"the abort was not heard: {error}\n")

    def messages(self, before: str) -> list[Fields]:
        """The messages of this turn, without what the events told in full: tool output, and earlier texts."""
        found = self.get(f"/session/{self.session}/message")
        ids = [message["info"]["id"] for message in found]
        turn = found[ids.index(before) + 1 :] if before in ids else found
        answers = [message for message in turn if message["info"].get("role") == "assistant"]
        for message in answers:
            kept = {"step-finish", "text"} if message is answers[-1] else {"step-finish"}
            message["parts"] = [part for part in message["parts"] if part["type"] in kept]
        return answers

    # HTTP.

    def headers(self) -> dict[str, str]:
        token = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: Fields | None = None, *, timeout_s: float = CALL_S) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout_s)
        try:
            content = None if body is None else json.dumps(body).encode()
            connection.request(method, path, content, self.headers())
            answer = connection.getresponse()
            raw = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(raw) if raw else None
        except ValueError:
            return answer.status, raw[:500].decode("utf-8", "replace")

    def must(self, stage: str, method: str, path: str, body: Fields | None = None) -> Any:
        try:
            status, found = self.call(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            raise Failed(stage, detail=f"{method} {path}: {error}") from error
        if status not in (200, 204):
            raise Failed(stage, status, f"{method} {path}: {json.dumps(found)}")
        return found

    def get(self, path: str) -> Any:
        return self.must("read", "GET", path)


def named_rules(agents: list[Fields]) -> list[Fields]:
    """What of the agents matters here."""
    return [{"name": agent.get("name"), "permission": agent.get("permission")} for agent in agents]


def ends_with(found: object, rules: list[Fields]) -> bool:
    """Whether a session's rules end with ours: the last rule that fits decides."""
    return isinstance(found, list) and found[-len(rules) :] == rules


_writing = threading.Lock()


def write(value: Fields) -> None:
    """One line of output."""
    with _writing:
        sys.stdout.buffer.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()


def emit(kind: str, **fields: Any) -> None:
    """One line of our own."""
    write({"type": kind, **fields})


def main() -> int:
    """Play one turn."""
    bridge = Bridge(json.loads(sys.stdin.buffer.readline()))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: bridge.words.put(("interrupted", None)))
    return bridge.run()


if __name__ == "__main__":
    status = main()
    os._exit(status)  # threads that wait for the server or for input do not hold it up
