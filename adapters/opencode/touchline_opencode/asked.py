"""Permission requests of opencode in the words of the policy (spec page 8, "Permission policy"). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from touchline.agent_cli.fields import items, mapping, text, texts
from touchline.api import PermissionAsked
from touchline_opencode.rules import READING

Kind = Literal["bash", "write", "edit", "webfetch", "other"]

_TOOLS: Mapping[str, Kind] = {
    "bash": "bash",
    "shell": "bash",
    "write": "write",
    "edit": "edit",
    "multiedit": "edit",
    "patch": "edit",
    "apply_patch": "edit",
    "webfetch": "webfetch",
}
_SHOWN = ("command", "filePath", "path", "pattern", "url", "query", "name", "description")
_PATHS = ("filePath", "path")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the stream told it."""

    tool: str
    input: Mapping[str, Any]


def shown(call: Call) -> str:
    """What a person should see of a call's input: its most telling field, or all of it."""
    for key in _SHOWN:
        value = text(call.input, key)
        if value:
            return value
    return json.dumps(call.input, ensure_ascii=False, sort_keys=True)


def normalised(request: Mapping[str, Any], call: Call | None) -> tuple[PermissionAsked, bool]:
    """The request, and whether its tool only reads. A call is asked by what it is, whichever rule made it ask."""
    permission, metadata = text(request, "permission"), mapping(request.get("metadata"))
    name = call.tool if call is not None else permission
    given = call.input if call is not None else {}
    kind: Kind = _TOOLS.get(name, "other")
    command = text(metadata, "command") or text(given, "command") if kind == "bash" else ""
    asked = PermissionAsked(
        text(mapping(request.get("tool")), "callID") or text(request, "id"),
        kind,
        command=command,
        paths=() if kind == "bash" else _paths(permission, request, metadata, given),
        text=command or f"{name} {json.dumps(given or metadata, ensure_ascii=False, sort_keys=True)}",
        raw_tool=name,
    )
    return asked, name in READING


def _paths(
    permission: str, request: Mapping[str, Any], metadata: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[str, ...]:
    """Every file that the request names, each once; a pattern counts only where nothing better is told."""
    files = [text(file, key) for file in items(metadata.get("files")) for key in ("filePath", "movePath")]
    own = [text(given, key) for key in _PATHS]
    found = [path for path in (*files, *own) if path]
    if not found and text(metadata, "filepath"):
        found = [text(metadata, "filepath")]
    if not found and permission in ("edit", "external_directory", *READING):
        found = texts(request.get("patterns"))
    return tuple(dict.fromkeys(found))
