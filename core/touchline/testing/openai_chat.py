"""The OpenAI chat-completions API as a scripted model speaks it (spec page 2). Pure: steps in, frames out."""

from __future__ import annotations

import json
from collections.abc import Iterator

from touchline.documents.base import Usage
from touchline.testing.dialect import Payload
from touchline.testing.openai_tools import call_of, dumped, error_body, flat_text, offered
from touchline.testing.steps import Answer, HttpError, Say

INPUT_TOKENS = 130
CACHED_TOKENS = 30
"""The part of INPUT_TOKENS that is reported as read from the cache."""
OUTPUT_TOKENS = 20
CHUNK = 40_000
"""Code points of text in one delta."""

_USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    "completion_tokens_details": {"reasoning_tokens": 0},
}


class OpenAIChat:
    """One dialect."""

    path = "/chat/completions"

    def is_main_call(self, body: Payload) -> bool:
        """Whether this is the agent itself: a call that offers tools. A title is asked for as one forced call."""
        return bool(body.get("tools")) and not isinstance(body.get("tool_choice"), dict)

    def wants_stream(self, body: Payload) -> bool:
        """Whether the client asked for server-sent events."""
        return body.get("stream") is True

    def stream(self, step: Answer, *, call: str, body: Payload) -> Iterator[bytes]:
        """The chunks of one completion, usage last."""
        yield self.opening(call=call, body=body)
        if isinstance(step, Say):
            for start in range(0, len(step.text), CHUNK):
                yield _chunk(call, body, {"content": step.text[start : start + CHUNK]})
            yield _chunk(call, body, {}, finish="stop")
        else:
            (tool_call,) = _message(step, call, body)["tool_calls"]
            yield _chunk(call, body, {"tool_calls": [{"index": 0, **tool_call}]})
            yield _chunk(call, body, {}, finish="tool_calls")
        yield _data({**_head(call, body, "chat.completion.chunk"), "choices": [], "usage": _USAGE})
        yield b"data: [DONE]\n\n"

    def opening(self, *, call: str, body: Payload) -> bytes:
        """The first chunk of a completion that a fault then breaks off."""
        return _chunk(call, body, {"role": "assistant", "content": ""})

    def malformed(self) -> bytes:
        """A frame whose data is no JSON."""
        return b'data: {"object": "chat.completion.chunk", \n\n'

    def message(self, step: Answer, *, call: str, body: Payload) -> Payload:
        """The same completion as one JSON body."""
        finish = "stop" if isinstance(step, Say) else "tool_calls"
        choice = {"index": 0, "message": _message(step, call, body), "finish_reason": finish}
        return {**_head(call, body, "chat.completion"), "choices": [choice], "usage": _USAGE}

    def error(self, step: HttpError) -> Payload:
        """The body of an HTTP error."""
        return error_body(step)

    def prompts(self, body: Payload) -> list[str]:
        """Every text of the user side of a request, oldest first."""
        return [flat_text(message.get("content")) for message in _messages(body, "user")]

    def tool_results(self, body: Payload) -> list[str]:
        """What the model was told about its tool calls, oldest first."""
        return [flat_text(message.get("content")) for message in _messages(body, "tool")]

    def usage(self, calls: int) -> Usage:
        """What `calls` answers count for."""
        return Usage(input=calls * INPUT_TOKENS, output=calls * OUTPUT_TOKENS, cached=calls * CACHED_TOKENS)


def _messages(body: Payload, role: str) -> list[Payload]:
    given = body.get("messages")
    messages = given if isinstance(given, list) else []
    return [message for message in messages if isinstance(message, dict) and message.get("role") == role]


def _message(step: Answer, call: str, body: Payload) -> Payload:
    if isinstance(step, Say):
        return {"role": "assistant", "content": step.text}
    name, arguments = call_of(step, offered(body.get("tools") or []))
    function = {"name": name, "arguments": dumped(arguments)}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": f"call_{call}", "type": "function", "function": function}],
    }


def _head(call: str, body: Payload, kind: str) -> Payload:
    return {"id": f"chatcmpl-{call}", "object": kind, "created": 1, "model": body.get("model", "scripted")}


def _chunk(call: str, body: Payload, delta: Payload, *, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data({**_head(call, body, "chat.completion.chunk"), "choices": [choice]})


def _data(payload: Payload) -> bytes:
    return f"data: {json.dumps(payload)}\n\n".encode()
