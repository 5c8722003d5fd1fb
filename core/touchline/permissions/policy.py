"""The decision on one permission request: deny beats ask beats allow (spec page 8, "Permission policy").

Pure. A request is allowed only if every simple command of its line, every redirection and every path is allowed.
What cannot be understood is asked of a person. The policy judges requests; the program code that an allowed
build or test runs is out of its reach, so it is no sandbox.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from touchline.executor import PermissionAsked
from touchline.permissions.judging import Judging, Level, Part
from touchline.permissions.paths import Place, Resolve
from touchline.permissions.profiles import PROFILES, Profile
from touchline.permissions.rules import Rule, parse_rules
from touchline.permissions.words import Word
from touchline.turn.text import is_truncated


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision, the reason in words that the model may read, and the rule that decided ("" or its text).

    `folders` are those that a shell may stand in after an allowed line; a CLI may keep one shell for all calls.
    """

    kind: Literal["allow", "deny", "ask"]
    reason: str = ""
    rule: str = ""
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one run and profile. `writable` are folders outside the work tree that may be written."""

    profile: Profile
    work_tree: str
    git_dirs: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()


def make_policy(
    profile: Literal["player", "executor", "verifier"],
    work_tree: str,
    *,
    rules: Sequence[Mapping[str, Sequence[str]]] = (),
    git_dirs: Sequence[str] = (),
    writable: Sequence[str] = (),
) -> Policy:
    """The policy of `profile` with configured `rules` (mappings with deny, ask, allow), lowest level first.

    Rules of all levels add up: deny beats ask beats allow wherever they come from. Raises `ConfigError` for a
    malformed rule.
    """
    found: dict[str, list[Rule]] = {"deny": [], "ask": [], "allow": []}
    for level in rules:
        for key, into in found.items():
            into.extend(parse_rules(level.get(key, ()), where=f"permissions.{key}"))
    return Policy(
        PROFILES[profile],
        posixpath.normpath(work_tree),
        git_dirs=tuple(git_dirs),
        writable=tuple(writable),
        deny=tuple(found["deny"]),
        ask=tuple(found["ask"]),
        allow=tuple(found["allow"]),
    )


def decide(policy: Policy, request: PermissionAsked, *, cwd: str | tuple[str, ...], resolve: Resolve) -> Verdict:
    """The verdict on `request`, made by a tool call that starts in `cwd` (or in one of several folders, or
    nobody knows where: an empty tuple).

    Never raises, whatever the text. `resolve` gives the real path of an absolute one.
    """
    texts = (request.command, request.text, *request.paths)
    if any(is_truncated(text) for text in texts):
        return _verdict([Part(Level.ASK_FIRMLY, "the request was cut, so a part of it is not visible")])
    work_tree = resolve(policy.work_tree)
    place = Place(
        work_tree,
        (f"{work_tree}/.git", *(resolve(one) for one in policy.git_dirs)),
        tuple(resolve(one) for one in policy.writable),
        resolve,
        (cwd,) if isinstance(cwd, str) else cwd or None,
    )
    judging = Judging(policy, place)
    match request.tool:
        case "bash":
            verdict = _verdict(judging.line(request.command))
            return replace(verdict, folders=judging.place.bases or ())
        case "edit" | "write":
            if not request.paths:
                return _verdict([Part(Level.ASK_FIRMLY, "the call names no file")])
            words = [Word(path) for path in request.paths]
            return _verdict([judging.path(word, f"`{request.tool}`", tool=request.tool) for word in words])
        case "webfetch":
            return _verdict([judging.url("\n".join(texts))])
        case _:
            return _verdict(judging.other(request))


def _verdict(parts: Sequence[Part]) -> Verdict:
    worst = max(parts, key=lambda part: part.level, default=Part(Level.ASK_FIRMLY, "the request is empty"))
    if worst.level is Level.ALLOW:
        return Verdict("allow", rule=worst.rule)
    reasons = dict.fromkeys(part.reason for part in parts if part.level is worst.level)
    kind: Literal["deny", "ask"] = "deny" if worst.level is Level.DENY else "ask"
    return Verdict(kind, "; ".join(list(reasons)[:3]), worst.rule)
