"""What Codex's own answers say about login and sandbox (spec page 2, "codex"). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchline.agent_cli.fields import flag, mapping, text
from touchline.api import Completed
from touchline_codex.outcome import LOGIN

KEYRING = 'log in with `codex -c cli_auth_credentials_store="file" login`, or set CODEX_API_KEY'
SANDBOX = (
    "allow unprivileged user namespaces, or do without the sandbox: "
    "set executors.codex.extra_args to [-c, sandbox_mode=danger-full-access]"
)


def login(
    status: Completed, config: Mapping[str, Any], environment: Mapping[str, str], *, key_variable: str
) -> tuple[bool | None, str, str]:
    """Whether somebody is logged in (None: not known), the problem and what to do, from `codex login status`.

    A model provider of the user's own has its key in a variable, or needs none.
    """
    name, provider = _provider(config)
    if provider and not flag(provider, "requires_openai_auth"):
        variable = text(provider, "env_key")
        if variable and not environment.get(variable):
            return False, f"the model provider {name} has no key", f"set {variable}"
        return (True if variable else None), "", ""
    if environment.get(key_variable):
        return True, "", ""
    if status.ending == "exited" and status.returncode == 0:
        return True, "", ""
    said = status.stderr.decode("utf-8", "replace").strip()
    if "not logged in" not in said.lower():
        return None, f"`codex login status` failed: {said[-200:]!r}", "update touchline or codex"
    if text(config, "cli_auth_credentials_store") in ("keyring", "auto"):
        return False, "not logged in, or with a login in the keyring, which is bound to the user's CODEX_HOME", KEYRING
    return False, "not logged in", LOGIN


def own_key_variable(config: Mapping[str, Any]) -> str:
    """The variable from which the user's own model provider reads its key, if there is one."""
    return text(_provider(config)[1], "env_key")


def _provider(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    name = text(config, "model_provider")
    return name, mapping(mapping(config.get("model_providers")).get(name))


def sandbox_problem(probe: Completed) -> tuple[str, str]:
    """The problem and what to do, from a harmless command run in Codex's sandbox; two empty texts if it works."""
    if probe.ending == "exited" and probe.returncode == 0:
        return "", ""
    said = probe.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"its sandbox does not work on this machine: {said[-1][:200] if said else 'no reason given'}", SANDBOX
