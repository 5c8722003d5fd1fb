"""The command line of `codex app-server` for one turn (spec page 2, "codex"). Pure.

What stands here are the run's rules: every command is asked for, typing into a running terminal is off (it would not
be asked for, measured), retries end, nothing is fetched. What the configuration gives as further arguments comes
after them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from touchline.agent_cli.fields import mapping

OFF = ("plugins", "apps", "unbounded_connection_retries", "unified_exec_tty")
FEATURES = tuple(argument for name in OFF for argument in ("--disable", name))
WORKSPACE = "sandbox_workspace_write"


def overrides(arguments: Sequence[str]) -> dict[str, Any]:
    """The configuration that `-c key=value` arguments give, as Codex reads them: TOML, or else a bare string."""
    found: dict[str, Any] = {}
    for at, argument in enumerate(arguments):
        if argument in ("-c", "--config"):
            given = arguments[at + 1] if at + 1 < len(arguments) else ""
        elif argument.startswith("--config="):
            given = argument.removeprefix("--config=")
        else:
            continue
        key, equals, value = given.partition("=")
        if equals:
            found = merged(found, _nested(key.strip().split("."), _value(value)))
    return found


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two configurations, the second on top, tables put together."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = merged(below, value) if isinstance(below, Mapping) and both else value
    return result


def turn_arguments(
    *,
    trust: Mapping[Path, bool],
    writable: Sequence[Path],
    config: Mapping[str, Any],
    without_tmp: bool,
    without_instructions: bool,
    ephemeral_login: bool,
    hooks: Mapping[str, str],
) -> list[str]:
    """The arguments before the configured ones; `config` is the user's own, whose writable folders are kept.

    `hooks` are the user's trusted hooks by key.

    A trust that is said for exactly this folder is the only thing that keeps Codex from writing one into the user's
    configuration (measured; a dotted key is not understood for it).
    """
    told = ", ".join(
        f'{_quoted(str(path))} = {{ trust_level = "{"trusted" if trusted else "untrusted"}" }}'
        for path, trusted in trust.items()
    )
    own = mapping(config.get(WORKSPACE)).get("writable_roots")
    roots = [one for one in own if isinstance(one, str)] if isinstance(own, list) else []
    roots += [str(path) for path in writable]
    settings = {
        "check_for_update_on_startup": "false",
        "projects": f"{{ {told} }}",
        f"{WORKSPACE}.writable_roots": f"[{', '.join(_quoted(root) for root in roots)}]",
    }
    if without_tmp:
        settings[f"{WORKSPACE}.exclude_slash_tmp"] = "true"
    if without_instructions:
        settings["project_doc_max_bytes"] = "0"
    if hooks:
        trusted = (f"{_quoted(key)} = {{ trusted_hash = {_quoted(known)} }}" for key, known in hooks.items())
        settings["hooks.state"] = f"{{ {', '.join(trusted)} }}"
    if ephemeral_login:
        settings["cli_auth_credentials_store"] = _quoted("ephemeral")
    return [*FEATURES, *(part for key, value in settings.items() for part in ("-c", f"{key}={value}"))]


def _value(words: str) -> Any:
    try:
        return tomllib.loads(f"value = {words}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return words


def _nested(keys: Sequence[str], value: Any) -> dict[str, Any]:
    for key in reversed(keys[1:]):
        value = {key: value}
    return {keys[0]: value}


def _quoted(words: str) -> str:
    """A TOML string; its escapes are JSON's, but for DEL."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")
