"""What a scripted model needs to speak one model API (spec page 2, "Contract kit and real CLIs"). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from touchline.documents.base import Usage
from touchline.testing.steps import Answer, HttpError

Payload = dict[str, Any]


class Dialect(Protocol):
    """One API: which requests are its own and how an answer looks on the wire."""

    path: str
    """The end of the request path, for instance `/v1/messages`."""

    def is_main_call(self, body: Payload) -> bool:
        """Whether this is the agent itself, not a side call (a title, a token count) that offers no tools."""
        ...

    def wants_stream(self, body: Payload) -> bool:
        """Whether the client asked for server-sent events."""
        ...

    def stream(self, step: Answer, *, call: str, body: Payload) -> Iterator[bytes]:
        """The frames of one answer; `call` is a number that makes its ids unique."""
        ...

    def opening(self, *, call: str, body: Payload) -> bytes:
        """The first frame of an answer that a fault then breaks off."""
        ...

    def malformed(self) -> bytes:
        """A frame whose data is no JSON."""
        ...

    def message(self, step: Answer, *, call: str, body: Payload) -> Payload:
        """The same answer as one JSON body."""
        ...

    def error(self, step: HttpError) -> Payload:
        """The body of an HTTP error."""
        ...

    def prompts(self, body: Payload) -> list[str]:
        """Every text of the user side of a request, oldest first, without tool results."""
        ...

    def tool_results(self, body: Payload) -> list[str]:
        """What the model was told about its tool calls, oldest first."""
        ...

    def usage(self, calls: int) -> Usage:
        """What `calls` answers count for: input includes what came from the cache."""
        ...
