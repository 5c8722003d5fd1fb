"""Turns as Claude Code prints them in stream-json, of any length; as a program, one turn of so many bytes.

Run by path with only the standard library. The shapes are those of the recorded streams that the driver is tested
with; the share of large tool results is that of a turn that reads files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import count

SESSION = "00000000-0000-4000-8000-000000000000"
_WORDS = "The function reads the file and gives its lines; a test shows what happens at the end of it. "
_USAGE = {"input_tokens": 12, "cache_read_input_tokens": 4000, "cache_creation_input_tokens": 0, "output_tokens": 40}


def turn_lines(number: int) -> list[str]:
    """The lines of one turn with a few messages and tool calls."""
    steps = [line for step in range(4) for line in step_lines(f"{number}-{step}")]
    return [_opening(), *steps, _result()]


@lru_cache(maxsize=4)
def step_lines(name: str) -> tuple[str, ...]:
    """One message of the model: text in pieces, the whole text, a tool call, and the tool's result."""
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": "claude", "usage": _USAGE}
    pieces = [_WORDS[start : start + 24] for start in range(0, len(_WORDS), 24)] * 3
    text = {"type": "text", "text": "".join(pieces)}
    call = {"type": "tool_use", "id": f"toolu_{name}", "name": "Read", "input": {"file_path": "/repo/src/lines.py"}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": _WORDS * 40, "is_error": False}
    events: list[dict[str, object]] = [
        _event({"type": "message_start", "message": {**message, "content": []}}),
        _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        *(_event(_delta(piece)) for piece in pieces),
        _event({"type": "content_block_stop", "index": 0}),
        _whole({"type": "assistant", "message": {**message, "content": [text]}}),
        _whole({"type": "assistant", "message": {**message, "content": [call]}}),
        _event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": _USAGE}),
        _event({"type": "message_stop"}),
        _whole({"type": "user", "message": {"role": "user", "content": [result]}}),
    ]
    return tuple(json.dumps(event) for event in events)


def write_turn(size: int) -> None:
    """Print one turn of about `size` bytes."""
    out = sys.stdout.buffer
    out.write(_opening().encode() + b"\n")
    written = 0
    for number in count():
        # A message has its own id, so that none is taken for a repetition of another.
        step = "\n".join(step_lines("0")).replace("msg_0", f"msg_{number}").replace("toolu_0", f"toolu_{number}")
        written += out.write(step.encode() + b"\n")
        if written >= size:
            break
    out.write(_result().encode() + b"\n")
    out.flush()


def _opening() -> str:
    return json.dumps(_whole({"type": "system", "subtype": "init", "model": "claude", "tools": ["Bash", "Read"]}))


def _result() -> str:
    answer = json.dumps({"summary": "read it all"})
    return json.dumps(
        _whole({"type": "result", "subtype": "success", "is_error": False, "result": answer, "usage": _USAGE})
    )


def _delta(text: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def _event(inner: dict[str, object]) -> dict[str, object]:
    return _whole({"type": "stream_event", "event": inner})


def _whole(event: dict[str, object]) -> dict[str, object]:
    return {**event, "session_id": SESSION, "parent_tool_use_id": None, "uuid": SESSION}


def pieces() -> Iterator[str]:
    """The texts of the deltas of a turn, over and over."""
    while True:
        for start in range(0, len(_WORDS), 24):
            yield _WORDS[start : start + 24]


if __name__ == "__main__":
    write_turn(int(sys.argv[1]))
