"""Which tool calls the server asks us about (spec page 2, "opencode"; page 8, "Permission policy"). Pure.

A session's own rules come after those of the configuration, and the last rule that fits decides. So the user's rules
are taken over here with one change: what they allow is asked, except for tools that only read. Their denials stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from touchline.agent_cli.fields import items, text

Rule = dict[str, str]

READING = ("read", "glob", "grep", "list", "lsp", "todoread", "todowrite", "skill")
"""Tools that change nothing; what they may read is left to the user's rules, and other folders are asked for."""

REFUSED = ("task", "question", "plan_enter", "plan_exit")
"""Subagents run under rules of their own, past the policy; questions go through the trailer; nobody approves a plan."""

DEFAULT_AGENT = "build"


def session_rules(agents: object, default: object) -> list[Rule]:
    """The rules of our session, from what the server tells of its agents."""
    rules = [_rule("*", "ask")]
    for given in _own_rules(agents, default if isinstance(default, str) and default else DEFAULT_AGENT):
        permission, pattern, action = text(given, "permission"), text(given, "pattern"), text(given, "action")
        if not permission or not pattern:
            continue
        if action == "allow" and permission == "*":
            rules += [_rule("*", "ask", pattern), *[_rule(name, "allow", pattern) for name in READING]]
        elif action == "allow" and permission not in (*READING, "external_directory"):
            rules.append(_rule(permission, "ask", pattern))
        elif action in ("allow", "deny"):
            rules.append(_rule(permission, action, pattern))
        else:
            rules.append(_rule(permission, "ask", pattern))
    return [*rules, *[_rule(name, "deny") for name in REFUSED]]


def _own_rules(agents: object, name: str) -> Sequence[Mapping[str, Any]]:
    for agent in items(agents):
        if text(agent, "name") == name:
            return items(agent.get("permission"))
    return ()


def _rule(permission: str, action: str, pattern: str = "*") -> Rule:
    return {"permission": permission, "pattern": pattern, "action": action}
