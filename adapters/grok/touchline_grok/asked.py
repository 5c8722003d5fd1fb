"""Tool calls of grok in the words of the policy (spec page 8, "Permission policy"). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from touchline.agent_cli.fields import text
from touchline.api import PermissionAsked

Kind = Literal["bash", "write", "edit", "webfetch", "other"]

_TOOLS: Mapping[str, Kind] = {
    "run_terminal_command": "bash",
    "run_terminal_cmd": "bash",
    "monitor": "bash",
    "write": "write",
    "search_replace": "edit",
    "web_fetch": "webfetch",
}
READING = frozenset({"read_file", "list_dir", "grep"})
"""Tools that read files: free in the turn's own folders, asked for elsewhere."""
HARMLESS = frozenset(
    {
        *("todo_write", "web_search", "search_tool"),
        *("get_command_or_subagent_output", "wait_commands_or_subagents", "kill_command_or_subagent"),
    }
)
"""Tools that touch no file and start nothing: they are not asked for."""
REFUSED = (
    *("ask_user_question", "enter_plan_mode", "exit_plan_mode", "spawn_subagent", "workflow"),
    *("scheduler_create", "scheduler_delete", "scheduler_list", "send_feedback"),
)
"""Questions go through the trailer; nobody approves a plan; subagents and workflows run tools of their own; nothing
happens after the turn, and nothing is sent to the vendor."""

_SHOWN = ("command", "file_path", "target_file", "target_directory", "pattern", "url", "query", "tool_name")
PATH_FIELDS = ("file_path", "target_file", "target_directory", "path")


def shown(given: Mapping[str, Any]) -> str:
    """What a person should see of a call's input: its most telling field, or all of it."""
    for key in _SHOWN:
        value = text(given, key)
        if value:
            return value
    return json.dumps(given, ensure_ascii=False, sort_keys=True)


def normalised(tool: str, given: Mapping[str, Any], call_id: str) -> PermissionAsked:
    """One call as a permission request."""
    kind = _TOOLS.get(tool, "other")
    command = text(given, "command") if kind == "bash" else ""
    return PermissionAsked(
        call_id,
        kind,
        command=command,
        paths=() if kind == "bash" else tuple(path for key in PATH_FIELDS if (path := text(given, key))),
        text=command or f"{tool} {json.dumps(given, ensure_ascii=False, sort_keys=True)}",
        raw_tool=tool,
    )
