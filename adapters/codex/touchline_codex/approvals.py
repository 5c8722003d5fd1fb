"""What Codex asks before it acts, and how it is answered (spec page 2, "codex"). Pure.

Under the approval policy `untrusted` every command and every patch is asked for (measured: `ls` too). A plain request
has no reason; one that has wants to leave the sandbox, in which git's folder is read-only unless the role commits. An
answer cannot hold a reason, so a denial's reason follows as the next input of the same turn.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from touchline.agent_cli.fields import items, mapping, text
from touchline.api import PermissionAnswer, PermissionAsked

COMMAND = "item/commandExecution/requestApproval"
PATCH = "item/fileChange/requestApproval"

SHOWN_TEXT = 2000
"""Code points of a request that are shown where it need not be whole."""

STAYS_INSIDE = "commands run inside the sandbox in this turn, where git's own folder is read-only"
UNREADABLE = "the request does not say what it is for"

_SHELLS = {
    *("bash", "sh", "zsh", "dash", "/bin/bash", "/bin/sh", "/bin/zsh", "/bin/dash"),
    *("/usr/bin/bash", "/usr/bin/sh", "/usr/bin/zsh", "/usr/bin/dash"),
}


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """Codex waits for our answer; `refusal` is set where the answer is no whatever the policy says."""

    request_id: int | str
    thread_id: str
    turn_id: str
    asked: PermissionAsked
    refusal: str = ""


def permission_request(
    request_id: int | str,
    method: str,
    params: Mapping[str, Any],
    *,
    cwd: Path,
    changes: Mapping[str, list[Mapping[str, Any]]],
    may_leave_sandbox: bool,
) -> PermissionRequest:
    """What an approval request of the server asks for; `changes` are the announced patches by item."""
    item = text(params, "itemId")
    if method == PATCH:
        asked, refusal = _patch(item, changes.get(item, [])), ""
        if not asked.paths or text(params, "grantRoot"):
            refusal = UNREADABLE
    else:
        asked, refusal = _command(item, params, cwd), ""
        if not asked.command or params.get("kind", "command") != "command" or params.get("networkApprovalContext"):
            refusal = UNREADABLE
        elif text(params, "reason") and not may_leave_sandbox:
            refusal = STAYS_INSIDE
    return PermissionRequest(request_id, text(params, "threadId"), text(params, "turnId"), asked, refusal)


def decision(request: PermissionRequest, answer: PermissionAnswer) -> dict[str, Any]:
    """The reply to the request: this once, or not at all."""
    return {"id": request.request_id, "result": {"decision": "accept" if answer.allowed else "decline"}}


def reason_as_input(request: PermissionRequest, answer: PermissionAnswer) -> dict[str, Any]:
    """The parameters of the call that gives the model a denial's reason."""
    what = request.asked.command or ", ".join(request.asked.paths) or request.asked.text
    words = f"touchline denied `{what[:SHOWN_TEXT]}`: {answer.reason or 'the policy of this run does not allow it'}"
    return {
        "threadId": request.thread_id,
        "expectedTurnId": request.turn_id,
        "input": [{"type": "text", "text": words}],
    }


def refusal(request_id: int | str) -> dict[str, Any]:
    """The reply to a request that is not offered; Codex takes it for a no (measured)."""
    return {"id": request_id, "error": {"code": -32601, "message": "not offered by this host"}}


def script_of(command: str) -> str:
    """The script inside `/bin/bash -lc SCRIPT`, or the command as it is.

    Only a well-known shell is taken off: one of the work's own would not run what it is given.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    known = len(words) == 3 and words[0] in _SHELLS and words[1] in ("-lc", "-c")
    return words[2] if known else command


def paths_of(changes: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """Every path that a patch touches, the targets of moves included."""
    named = [path for change in changes for path in (text(change, "path"), _moved(change)) if path]
    return tuple(dict.fromkeys(named))


def _command(item: str, params: Mapping[str, Any], cwd: Path) -> PermissionAsked:
    command = script_of(text(params, "command"))
    folder = text(params, "cwd")
    if command and folder and Path(folder) not in (cwd, cwd.resolve()):
        command = f"cd {shlex.quote(folder)} && {command}"
    reason = text(params, "reason")
    shown = f"{command}\n(outside the sandbox: {reason})" if reason else command
    return PermissionAsked(item, "bash", command=command, text=shown or _shown(params), raw_tool="exec_command")


def _patch(item: str, changes: list[Mapping[str, Any]]) -> PermissionAsked:
    paths = paths_of(changes)
    added = bool(changes) and all(text(mapping(change.get("kind")), "type") == "add" for change in changes)
    tool: Literal["write", "edit"] = "write" if added else "edit"
    return PermissionAsked(item, tool, paths=paths, text=f"apply_patch {', '.join(paths)}", raw_tool="apply_patch")


def _moved(change: Mapping[str, Any]) -> str:
    return text(mapping(change.get("kind")), "move_path")


def _shown(params: Mapping[str, Any]) -> str:
    return json.dumps(params, ensure_ascii=False, sort_keys=True)[:SHOWN_TEXT]


def announced(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The changes that a patch item announces."""
    return items(item.get("changes"))
