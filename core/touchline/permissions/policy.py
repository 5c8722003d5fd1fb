"""The decision on one permission request: deny beats ask beats allow (spec page 8, "Permission policy").

Pure. A request is allowed only if every simple command of its line, every redirection and every path is allowed.
What cannot be understood is asked of a person. The policy judges requests; the program code that an allowed
build or test runs is out of its reach, so it is no sandbox.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Literal

from touchline.executor import PermissionAsked
from touchline.permissions.effects import Effect, Kind
from touchline.permissions.paths import Place, Resolve, Zone, names_secret
from touchline.permissions.profiles import PROFILES, Profile
from touchline.permissions.programs import describe
from touchline.permissions.rules import (
    Match,
    Rule,
    allows_command,
    matches_path,
    matches_url,
    parse_rules,
    refuses_command,
)
from touchline.permissions.shell import Parsed, SimpleCommand, parse
from touchline.permissions.words import Word, names
from touchline.permissions.wrappers import MAX_LAYERS, Opaque, basename, unwrap
from touchline.turn.text import is_truncated

MAX_COMMANDS = 500
"""Simple commands in one line; more are not judged one by one but asked."""

MAX_BASES = 64
"""Folders that a relative path may start from; more count as unknown."""

_READING_TOOLS = names(
    "read grep glob ls list todowrite todoread notebookread bashoutput killbash killshell taskoutput toolsearch"
    " exitplanmode codesearch lsp view read_file list_dir grep_search file_search todo_write"
)


class Level(IntEnum):
    """How much stands against a request; the highest of its parts decides."""

    ALLOW = 0
    ASK = 1
    ASK_FIRMLY = 2
    """No allow rule is enough, only a person."""
    DENY = 3


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


@dataclass(frozen=True, slots=True)
class _Part:
    level: Level
    reason: str = ""
    rule: str = ""


_FINE = _Part(Level.ALLOW)


def decide(policy: Policy, request: PermissionAsked, *, cwd: str | tuple[str, ...], resolve: Resolve) -> Verdict:
    """The verdict on `request`, made by a tool call that starts in `cwd` (or in one of several folders, or
    nobody knows where: an empty tuple).

    Never raises, whatever the text. `resolve` gives the real path of an absolute one.
    """
    texts = (request.command, request.text, *request.paths)
    if any(is_truncated(text) for text in texts):
        return _verdict([_Part(Level.ASK_FIRMLY, "the request was cut, so a part of it is not visible")])
    work_tree = resolve(policy.work_tree)
    place = Place(
        work_tree,
        (f"{work_tree}/.git", *(resolve(one) for one in policy.git_dirs)),
        tuple(resolve(one) for one in policy.writable),
        resolve,
        (cwd,) if isinstance(cwd, str) else cwd or None,
    )
    judging = _Judging(policy, place)
    match request.tool:
        case "bash":
            verdict = _verdict(judging.line(request.command))
            return replace(verdict, folders=judging.place.bases or ())
        case "edit" | "write":
            if not request.paths:
                return _verdict([_Part(Level.ASK_FIRMLY, "the call names no file")])
            words = [Word(path) for path in request.paths]
            return _verdict([judging.path(word, f"`{request.tool}`", tool=request.tool) for word in words])
        case "webfetch":
            return _verdict([judging.url("\n".join(texts))])
        case _:
            return _verdict(judging.other(request))


def _verdict(parts: Sequence[_Part]) -> Verdict:
    worst = max(parts, key=lambda part: part.level, default=_Part(Level.ASK_FIRMLY, "the request is empty"))
    if worst.level is Level.ALLOW:
        return Verdict("allow", rule=worst.rule)
    reasons = dict.fromkeys(part.reason for part in parts if part.level is worst.level)
    kind: Literal["deny", "ask"] = "deny" if worst.level is Level.DENY else "ask"
    return Verdict(kind, "; ".join(list(reasons)[:3]), worst.rule)


@dataclass(slots=True)
class _Judging:
    policy: Policy
    place: Place
    functions: frozenset[str] = field(default_factory=frozenset)

    def line(self, line: str) -> list[_Part]:
        read = parse(line)
        if not isinstance(read, Parsed):
            self._stand(None)
            return [_Part(Level.ASK_FIRMLY, read.reason)]
        self.functions = read.functions
        everything: list[tuple[SimpleCommand, bool]] = []
        parts: list[_Part] = []
        for command in read.commands:
            for one, unwrapped in _layers(command):
                if isinstance(one, Opaque):
                    parts.append(_Part(Level.ASK_FIRMLY, one.reason))
                else:
                    everything.append((one, unwrapped))
        if len(everything) > MAX_COMMANDS:
            self._stand(None)
            return [_Part(Level.ASK_FIRMLY, f"the line runs more than {MAX_COMMANDS} commands")]
        if not everything:
            parts.append(_Part(Level.ASK_FIRMLY, "the command line is empty"))
        if any(command.repeated and _moves(command) for command, _ in everything):
            self._stand(None)
        for command, unwrapped in everything:
            parts.append(self._command(command, unwrapped))
            parts.extend(self._redirects(command))
            if _moves(command):
                parts.append(self._move(command))
        return parts

    def _move(self, command: SimpleCommand) -> _Part:
        """Later relative paths may start from the old folders or the new one, since a `cd` may not happen."""
        targets = [word for word in command.words[1:] if word.literal not in ("--", "-L", "-P", "-e")]
        target = targets[0].literal if len(targets) == 1 else None
        if basename(command.program or "") == "popd" and not targets:
            return _FINE
        if not target or target.startswith(("~", "-", "+")):
            self._stand(None)
            return _Part(Level.ASK_FIRMLY, "the folder that `cd` goes to is not known before the line runs")
        old = self.place.bases
        if old is None:
            old = (self.place.work_tree,) if posixpath.isabs(target) else ()
        new = [self.place.resolve(posixpath.join(base, target)) for base in old]
        worst = {self.place.zone_of(folder) for folder in new} - {Zone.TREE, Zone.WRITABLE}
        if self.place.bases is not None:
            bases = tuple(dict.fromkeys((*self.place.bases, *new)))
            if len(bases) > MAX_BASES:
                self._stand(None)
                return _Part(Level.ASK_FIRMLY, "too many changes of folder to follow")
            self._stand(bases)
        if worst:
            return _Part(Level.ASK, f"`cd {_short(target)}` goes to {min(worst).value}")
        return _FINE

    def _stand(self, bases: tuple[str, ...] | None) -> None:
        self.place = replace(self.place, bases=bases)

    def _command(self, command: SimpleCommand, unwrapped: bool) -> _Part:
        words = command.words
        place = self.place
        denied = [(rule, refuses_command(rule, words, place)) for rule in self.policy.deny]
        for rule, match in denied:
            if match is Match.YES:
                return _Part(Level.DENY, f"the rule {rule} forbids it", str(rule))
        effects = describe(command, unwrapped=unwrapped, functions=self.functions)
        built_in = max((self._effect(effect, command) for effect in effects), key=lambda part: part.level)
        if built_in.level is Level.DENY:
            return built_in
        for rule, match in denied:
            if match is Match.MAYBE:
                return _Part(Level.ASK_FIRMLY, f"the rule {rule} may forbid it", str(rule))
        if built_in.level is Level.ASK_FIRMLY:
            return built_in
        for rule in self.policy.ask:
            if refuses_command(rule, words, place) is not Match.NO:
                return _Part(Level.ASK_FIRMLY, f"the rule {rule} asks first", str(rule))
        for rule in self.policy.allow:
            if allows_command(rule, words, place):
                return _Part(Level.ALLOW, rule=str(rule))
        secret = next((word for word in words[1:] if names_secret(word, place)), None)
        if secret is not None:
            return _Part(Level.ASK, f"{secret.text!r} may hold credentials")
        return built_in

    def _effect(self, effect: Effect, command: SimpleCommand) -> _Part:
        refusal = self.policy.profile.refused.get(effect.kind)
        if effect.kind is Kind.WRITE:
            if not effect.paths:
                return _Part(Level.ASK, f"{effect.reason} names no file")
            parts = [self.path(word, effect.reason, whole=effect.whole) for word in effect.paths]
            return max(parts, key=lambda part: part.level)
        if refusal is not None:
            return _Part(Level.DENY, f"{effect.reason or effect.kind.value}: {refusal}")
        if effect.kind not in self.policy.profile.allowed:
            return _Part(Level.ASK, effect.reason or effect.kind.value)
        if effect.kind is Kind.BUILD:
            return self._build(effect, command)
        return _FINE

    def _build(self, effect: Effect, command: SimpleCommand) -> _Part:
        for word in command.words[1:]:
            text = word.text.partition("=")[2] if word.text.startswith("-") and "=" in word.text else word.text
            if "/" in text and self.place.zone(Word(text, word.glob)) is Zone.GIT:
                return _Part(Level.DENY, f"{effect.reason} reaches git's own folder: {_short(text)}")
        for word in effect.paths:
            zone = self.place.zone(word)
            if zone is not Zone.TREE:
                return _Part(Level.ASK, f"{effect.reason}: {_short(word.text)} is {zone.value}")
        zones = {self.place.zone_of(base) for base in self.place.bases or ()}
        if not zones <= {Zone.TREE, Zone.WRITABLE} or not zones:
            return _Part(Level.ASK, f"{effect.reason} would run outside the work tree")
        return _FINE

    def _redirects(self, command: SimpleCommand) -> Iterator[_Part]:
        for redirect in command.redirects:
            if redirect.writes:
                if redirect.target.glob:
                    yield _Part(Level.ASK_FIRMLY, "a redirection to a pattern")
                else:
                    yield self.path(redirect.target, "a redirection")
            elif names_secret(redirect.target, self.place):
                yield _Part(Level.ASK, f"{redirect.target.text!r} may hold credentials")

    def path(self, word: Word, what: str, *, whole: bool = False, tool: Literal["edit", "write"] = "write") -> _Part:
        """Whether the file that `word` names may be changed."""
        zone = self.place.zone(word)
        shown = _short(word.text)
        if zone is Zone.DEVICE:
            return _FINE
        if zone is Zone.GIT:
            return _Part(Level.DENY, f"{what} would change git's own folder: {shown}")
        if zone is Zone.UNKNOWN:
            return _Part(Level.ASK_FIRMLY, f"{what}: the file is not known before the line runs")
        if whole and not word.glob and self._holds_git(word):
            return _Part(Level.DENY, f"{what} would change the whole work tree with its git folder: {shown}")
        files = self._files(word)
        for rule in self.policy.deny:
            if rule.tool in ("edit", "write") and self._covered(rule, files, word, whole=whole) is not Match.NO:
                return _Part(Level.DENY, f"the rule {rule} protects {shown}", str(rule))
        if zone is Zone.TREE and not self.policy.profile.writes_tree:
            return _Part(Level.DENY, f"{what} on {shown}: {self.policy.profile.refused[Kind.WRITE]}")
        for rule in self.policy.ask:
            if rule.tool in ("edit", "write") and self._covered(rule, files, word, whole=whole) is not Match.NO:
                return _Part(Level.ASK_FIRMLY, f"the rule {rule} asks first", str(rule))
        for rule in self.policy.allow:
            covers = (matches_path(rule, one, self.place) is Match.YES for one in files)
            if rule.tool == tool and not word.glob and all(covers):
                return _Part(Level.ALLOW, rule=str(rule))
        if zone in (Zone.TREE, Zone.WRITABLE):
            return _FINE
        return _Part(Level.ASK, f"{what}: {shown} is {zone.value}")

    def _files(self, word: Word) -> list[str]:
        return [self.place.resolve(posixpath.join(base, word.text)) for base in self.place.bases or ("/",)]

    def _covered(self, rule: Rule, files: Sequence[str], word: Word, *, whole: bool) -> Match:
        found = max(matches_path(rule, one, self.place, whole=whole) for one in files)
        if found is Match.NO and word.glob:
            head = word.text.split("*")[0].split("?")[0].split("[")[0].rpartition("/")[0]
            parents = [self.place.resolve(posixpath.join(base, head)) for base in self.place.bases or ("/",)]
            return max(matches_path(rule, one, self.place, whole=True) for one in parents)
        return found

    def _holds_git(self, word: Word) -> bool:
        return any(
            folder == one or folder.startswith(one.rstrip("/") + "/")
            for one in self._files(word)
            for folder in (self.place.work_tree, *self.place.git_dirs)
        )

    def url(self, text: str) -> _Part:
        rules = (("deny", self.policy.deny), ("ask", self.policy.ask), ("allow", self.policy.allow))
        for kind, some in rules:
            for rule in some:
                match = matches_url(rule, text) if rule.tool == "webfetch" else Match.NO
                if kind == "deny" and match is Match.YES:
                    return _Part(Level.DENY, f"the rule {rule} forbids it", str(rule))
                if kind != "allow" and match is not Match.NO:
                    return _Part(Level.ASK_FIRMLY, f"the rule {rule} asks first", str(rule))
                if kind == "allow" and match is Match.YES:
                    return _Part(Level.ALLOW, rule=str(rule))
        return _Part(Level.ASK, "fetching from the web needs a rule or a person")

    def other(self, request: PermissionAsked) -> list[_Part]:
        name = request.raw_tool
        for level, some in ((Level.DENY, self.policy.deny), (Level.ASK_FIRMLY, self.policy.ask)):
            for rule in some:
                if rule.tool == "other" and _tool_matches(rule, name):
                    verb = "forbids it" if level is Level.DENY else "asks first"
                    return [_Part(level, f"the rule {rule} {verb}", str(rule))]
        for rule in self.policy.allow:
            if rule.tool == "other" and _tool_matches(rule, name):
                return [_Part(Level.ALLOW, rule=str(rule))]
        if name.casefold() not in _READING_TOOLS:
            return [_Part(Level.ASK, f"the tool {_short(name)!r} is not one that the policy knows")]
        secrets = [path for path in request.paths if names_secret(Word(path), self.place)]
        return [_Part(Level.ASK, f"{_short(path)!r} may hold credentials") for path in secrets] or [_FINE]


def _tool_matches(rule: Rule, name: str) -> bool:
    return fnmatch.fnmatchcase(name.casefold(), rule.pattern.casefold())


def _moves(command: SimpleCommand) -> bool:
    return command.program is not None and basename(command.program) in ("cd", "pushd", "popd", "chdir")


def _layers(command: SimpleCommand, depth: int = 0) -> Iterator[tuple[SimpleCommand | Opaque, bool]]:
    """`command` and all that it runs, wrapper by wrapper."""
    inner = unwrap(command)
    if isinstance(inner, Opaque):
        yield command, False
        yield inner, False
        return
    yield command, bool(inner)
    for one in inner:
        if depth >= MAX_LAYERS:
            yield Opaque("wrappers are nested too deeply"), False
            return
        yield from _layers(one, depth + 1)


def _short(text: str) -> str:
    shown = text.replace("\0", "…")
    return shown if len(shown) <= 80 else shown[:79] + "…"
