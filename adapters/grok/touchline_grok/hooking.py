"""The agent definition that carries our hook into grok (spec page 2, "grok"). Pure.

grok reads hooks from an agent definition that `--agent` names, so that nothing of the user's has to be written or
copied: their own home, login, models and hooks stay in place. An empty definition is grok's default agent.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

HOOK_TIMEOUT_S = 86_400
"""Longer than any turn: a hook that times out would let the call through."""


def agent_definition(*, python: str, hook: Path, folder: Path, refused: Sequence[str] = ()) -> str:
    """The file's text. Where the hook cannot even be started, the shell denies in its place (status 2)."""
    words = (python, "-I", "-S", str(hook), str(folder))
    # The runner expands $NAME in the line before any shell sees it.
    line = " ".join(shlex.quote(word) for word in words) + " || exit 2"
    handler = {"type": "command", "command": line, "timeout": HOOK_TIMEOUT_S}
    hooks = {name: [{"hooks": [handler]}] for name in ("UserPromptSubmit", "PreToolUse")}
    fields = {
        "name": "touchline",
        "description": "grok's default agent, with its tool calls asked for",
        "disallowedTools": list(refused),
        "hooks": hooks,
    }
    return "---\n" + "".join(f"{key}: {json.dumps(value)}\n" for key, value in fields.items()) + "---\n"
