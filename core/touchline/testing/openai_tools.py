"""Which shell tool an OpenAI-style request offers, and how it is called (spec page 2). Pure.

The CLIs name it differently and, with some models, take a program instead of a command line; a scripted step only
says the command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from touchline.testing.dialect import Payload
from touchline.testing.steps import HttpError, Shell, ToolCall

_SHELL_NAMES = (r"^bash$", r"^exec_command$", r"^shell_command$", r"^shell$", r"terminal", r"bash|shell|exec")
_ERROR_TYPES = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


def offered(tools: Iterable[Any]) -> list[Payload]:
    """The tools of a request, those inside a namespace included."""
    found: list[Payload] = []
    for tool in tools:
        if isinstance(tool, dict):
            found += offered(tool.get("tools", [])) if tool.get("type") == "namespace" else [tool]
    return found


def tool_name(tool: Payload) -> str:
    """The name of one offered tool."""
    function = tool.get("function")
    named = function if isinstance(function, dict) else tool
    return str(named.get("name") or named.get("type") or "")


def call_of(step: Shell | ToolCall, tools: list[Payload]) -> tuple[str, Payload]:
    """The name and the arguments of the tool call that a step makes."""
    if isinstance(step, ToolCall):
        return step.tool, dict(step.input)
    names = [tool_name(tool) for tool in tools]
    for pattern in _SHELL_NAMES:
        for name in names:
            if re.search(pattern, name):
                return name, _arguments(name, step.command)
    return "shell", _arguments("shell", step.command)


def _arguments(name: str, command: str) -> Payload:
    if name == "exec_command":
        return {"cmd": command}
    if name == "shell":
        return {"command": ["bash", "-lc", command]}
    return {"command": command, "description": "scripted"}


def error_body(step: HttpError) -> Payload:
    """The body of an HTTP error."""
    kind = _ERROR_TYPES.get(step.status, "server_error")
    return {"error": {"type": kind, "code": kind, "message": step.message}}


def flat_text(content: Any) -> str:
    """The text in whatever shape a message or a tool result has."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return flat_text(content.get("text") or content.get("content") or content.get("output"))
    return "\n".join(flat_text(part) for part in content) if isinstance(content, list) else ""


def dumped(value: Payload) -> str:
    """JSON as it stands in an argument string."""
    return json.dumps(value, ensure_ascii=False)
