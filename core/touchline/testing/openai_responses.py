"""The OpenAI Responses API as a scripted model speaks it (spec page 2). Pure: steps in, frames out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from touchline.documents.base import Usage
from touchline.testing.dialect import Payload
from touchline.testing.openai_tools import call_of, dumped, error_body, flat_text, offered, tool_name
from touchline.testing.steps import Answer, HttpError, Say, Shell

INPUT_TOKENS = 130
CACHED_TOKENS = 30
"""The part of INPUT_TOKENS that is reported as read from the cache."""
OUTPUT_TOKENS = 20
CHUNK = 40_000
"""Code points of text in one delta."""


class OpenAIResponses:
    """One dialect; the shell tool is called as the request offers it, also where it takes a small program."""

    path = "/responses"

    def is_main_call(self, body: Payload) -> bool:
        """Whether this is the agent itself: a call that offers tools. A title is asked for as one forced call."""
        return bool(_tools(body)) and not isinstance(body.get("tool_choice"), dict)

    def wants_stream(self, body: Payload) -> bool:
        """Whether the client asked for server-sent events."""
        return body.get("stream") is True

    def stream(self, step: Answer, *, call: str, body: Payload) -> Iterator[bytes]:
        """The frames of one response."""
        item = _item(step, call, body)
        begun = {**item, "status": "in_progress", **({"content": []} if isinstance(step, Say) else {})}
        number = count(1)
        yield self.opening(call=call, body=body)
        yield _frame("response.output_item.added", next(number), output_index=0, item=begun)
        if isinstance(step, Say):
            for start in range(0, len(step.text), CHUNK):
                yield _frame(
                    "response.output_text.delta",
                    next(number),
                    item_id=item["id"],
                    output_index=0,
                    content_index=0,
                    delta=step.text[start : start + CHUNK],
                )
        yield _frame("response.output_item.done", next(number), output_index=0, item=item)
        yield _frame("response.completed", next(number), response=self.message(step, call=call, body=body))

    def opening(self, *, call: str, body: Payload) -> bytes:
        """The first frame of a response that a fault then breaks off."""
        return _frame("response.created", 0, response=_response(call, body, "in_progress", []))

    def malformed(self) -> bytes:
        """A frame whose data is no JSON."""
        return b'event: response.output_item.added\ndata: {"type": "response.output_item.added", \n\n'

    def message(self, step: Answer, *, call: str, body: Payload) -> Payload:
        """The same response as one JSON body."""
        usage = {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        }
        return {**_response(call, body, "completed", [_item(step, call, body)]), "usage": usage}

    def error(self, step: HttpError) -> Payload:
        """The body of an HTTP error."""
        return error_body(step)

    def prompts(self, body: Payload) -> list[str]:
        """Every text of the user side of a request, oldest first."""
        return [
            flat_text(item.get("content"))
            for item in _input(body)
            if item.get("type", "message") == "message" and item.get("role") == "user"
        ]

    def tool_results(self, body: Payload) -> list[str]:
        """What the model was told about its tool calls, oldest first."""
        kinds = ("function_call_output", "custom_tool_call_output")
        return [flat_text(item.get("output")) for item in _input(body) if item.get("type") in kinds]

    def usage(self, calls: int) -> Usage:
        """What `calls` answers count for."""
        return Usage(input=calls * INPUT_TOKENS, output=calls * OUTPUT_TOKENS, cached=calls * CACHED_TOKENS)


def _input(body: Payload) -> list[Payload]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []


def _tools(body: Payload) -> list[Payload]:
    """Some models get their tools as an item of the input instead of a field of the request."""
    found = offered(body.get("tools") or [])
    for item in _input(body):
        if item.get("type") == "additional_tools":
            found += offered(item.get("tools") or [])
    return found


def _item(step: Answer, call: str, body: Payload) -> Payload:
    if isinstance(step, Say):
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        return {"type": "message", "id": f"msg_{call}", "role": "assistant", "status": "completed", "content": content}
    tools = _tools(body)
    takes_programs = any(tool.get("type") == "custom" and tool_name(tool) == "exec" for tool in tools)
    shared: Payload = {"call_id": f"call_{call}", "status": "completed"}
    if isinstance(step, Shell) and takes_programs:
        program = f"const r = await tools.exec_command({dumped({'cmd': step.command})}); text(r.output);"
        named = {"name": "exec", "namespace": "functions", "input": program}
        return {"type": "custom_tool_call", "id": f"ctc_{call}", **shared, **named}
    name, arguments = call_of(step, tools)
    return {"type": "function_call", "id": f"fc_{call}", **shared, "name": name, "arguments": dumped(arguments)}


def _response(call: str, body: Payload, status: str, output: list[Payload]) -> Payload:
    model = body.get("model", "scripted")
    named = {"id": f"resp_{call}", "object": "response", "created_at": 1, "model": model}
    return {**named, "status": status, "output": output}


def _frame(kind: str, number: int, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': number, **fields})}\n\n".encode()
