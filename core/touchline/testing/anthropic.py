"""The Anthropic Messages API as a scripted model speaks it (spec page 2). Pure: steps in, payloads out.

Streaming is a sequence of server-sent events; a client whose stream broke asks again without streaming and gets
the same message as one JSON body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from touchline.documents.base import Usage
from touchline.testing.dialect import Payload
from touchline.testing.steps import Answer, HttpError, Say, Shell

INPUT_TOKENS = 100
CACHED_TOKENS = 30
"""Of each call's input, what is reported as read from the cache (on top of INPUT_TOKENS)."""
OUTPUT_TOKENS = 20
CHUNK = 40_000
"""Code points of text in one delta."""

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class AnthropicMessages:
    """One dialect: which requests it answers and how an answer looks."""

    path = "/v1/messages"

    def is_main_call(self, body: Payload) -> bool:
        """Whether this is the agent itself, not a side call (a title, a token count) that offers no tools."""
        return bool(body.get("tools"))

    def wants_stream(self, body: Payload) -> bool:
        """Whether the client asked for server-sent events."""
        return body.get("stream") is True

    def stream(self, step: Answer, *, call: str, body: Payload) -> Iterator[bytes]:
        """The frames of one message."""
        yield from (_frame(name, json.dumps(data)) for name, data in self._events(step, call, body))

    def _events(self, step: Answer, call: str, body: Payload) -> Iterator[tuple[str, Payload]]:
        yield self._start(call, body)
        block, deltas, stop = _block(step, call)
        yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": 0}
        yield (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": OUTPUT_TOKENS},
            },
        )
        yield "message_stop", {"type": "message_stop"}

    def opening(self, *, call: str, body: Payload) -> bytes:
        """The first frame of a message that a fault then breaks off."""
        name, data = self._start(call, body)
        return _frame(name, json.dumps(data))

    def malformed(self) -> bytes:
        """A frame whose data is no JSON."""
        return _frame("content_block_start", '{"type": "content_block_start", ')

    def message(self, step: Answer, *, call: str, body: Payload) -> Payload:
        """The same message as one JSON body."""
        block, _, stop = _block(step, call)
        if isinstance(step, Say):
            block["text"] = step.text
        else:
            block["input"] = _tool(step)[1]
        message: Payload = self._start(call, body)[1]["message"]
        usage = {**message["usage"], "output_tokens": OUTPUT_TOKENS}
        return {**message, "content": [block], "stop_reason": stop, "usage": usage}

    def error(self, step: HttpError) -> Payload:
        """The body of an HTTP error."""
        kind = _ERROR_TYPES.get(step.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": step.message}}

    def prompts(self, body: Payload) -> list[str]:
        """Every text that the user side of this request holds, oldest first, without tool results."""
        return [block["text"] for block in _user_blocks(body) if block.get("type") == "text"]

    def tool_results(self, body: Payload) -> list[str]:
        """What the model was told about its tool calls, oldest first."""
        return [_text(block.get("content")) for block in _user_blocks(body) if block.get("type") == "tool_result"]

    def usage(self, calls: int) -> Usage:
        """What `calls` answers count for: input includes what came from the cache."""
        return Usage(
            input=calls * (INPUT_TOKENS + CACHED_TOKENS), output=calls * OUTPUT_TOKENS, cached=calls * CACHED_TOKENS
        )

    def _start(self, call: str, body: Payload) -> tuple[str, Payload]:
        usage = {
            "input_tokens": INPUT_TOKENS,
            "output_tokens": 1,
            "cache_read_input_tokens": CACHED_TOKENS,
            "cache_creation_input_tokens": 0,
        }
        message = {
            "id": f"msg_{call}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return "message_start", {"type": "message_start", "message": message}


def _frame(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()


def _tool(step: Answer) -> tuple[str, Payload]:
    if isinstance(step, Say):
        raise TypeError("a message is no tool call")
    if isinstance(step, Shell):
        return "Bash", {"command": step.command, "description": "scripted"}
    return step.tool, dict(step.input)


def _block(step: Answer, call: str) -> tuple[Payload, list[Payload], str]:
    if isinstance(step, Say):
        pieces = [step.text[i : i + CHUNK] for i in range(0, len(step.text), CHUNK)]
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces], "end_turn"
    name, arguments = _tool(step)
    block = {"type": "tool_use", "id": f"toolu_{call}", "name": name, "input": {}}
    return block, [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}], "tool_use"


def _user_blocks(body: Payload) -> Iterator[Payload]:
    for message in body.get("messages", []):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        else:
            yield from (block for block in content or [] if isinstance(block, dict))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content or [] if isinstance(part, dict))
