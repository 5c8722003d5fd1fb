"""What stands against one request, part by part: its commands, redirections, paths, addresses (spec page 8).

Pure. `policy.decide` takes the worst part as the verdict.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

from touchline.executor import PermissionAsked
from touchline.permissions.effects import Effect, Kind
from touchline.permissions.paths import Place, Zone, names_secret
from touchline.permissions.programs import describe
from touchline.permissions.rules import (
    Match,
    Rule,
    allows_command,
    matches_path,
    matches_url,
    refuses_command,
)
from touchline.permissions.shell import Parsed, SimpleCommand, parse
from touchline.permissions.words import Word, names
from touchline.permissions.wrappers import MAX_LAYERS, Opaque, basename, unwrap

if TYPE_CHECKING:
    from touchline.permissions.policy import Policy

MAX_COMMANDS = 500
"""Simple commands in one line; more are not judged one by one but asked."""

MAX_HANDED = 40
MAX_HANDED_TEXT = 2_000
"""Arguments of a build tool, and code points of one, that are looked at as possible commands."""

MAX_BASES = 64
"""Folders that a relative path may start from; more count as unknown."""

_READING_TOOLS = names(
    "read grep glob ls list todowrite todoread notebookread bashoutput killbash killshell taskoutput toolsearch"
    " exitplanmode codesearch lsp view read_file list_dir grep_search file_search todo_write"
)


_NAME = re.compile(r"[\w./+-]*[\w+-]", re.ASCII)


class Level(IntEnum):
    """How much stands against a request; the highest of its parts decides."""

    ALLOW = 0
    ASK = 1
    ASK_FIRMLY = 2
    """No allow rule is enough, only a person."""
    DENY = 3


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a request with what stands against it, and the rule that says so."""

    level: Level
    reason: str = ""
    rule: str = ""


_FINE = Part(Level.ALLOW)


@dataclass(slots=True)
class Judging:
    """Judges the parts of one request; `place` follows every change of folder in a line."""

    policy: Policy
    place: Place
    functions: frozenset[str] = field(default_factory=frozenset)
    inside: bool = False
    """Whether this judges a text that was handed to another program."""

    def line(self, line: str) -> list[Part]:
        """The parts of a shell line."""
        read = parse(line)
        if not isinstance(read, Parsed):
            self._stand(None)
            return [Part(Level.ASK_FIRMLY, read.reason)]
        self.functions = read.functions
        everything: list[tuple[SimpleCommand, bool]] = []
        parts: list[Part] = []
        for command in read.commands:
            for one, unwrapped in _layers(command):
                if isinstance(one, Opaque):
                    parts.append(Part(Level.ASK_FIRMLY, one.reason))
                else:
                    everything.append((one, unwrapped))
        if len(everything) > MAX_COMMANDS:
            self._stand(None)
            return [Part(Level.ASK_FIRMLY, f"the line runs more than {MAX_COMMANDS} commands")]
        if not everything:
            parts.append(Part(Level.ASK_FIRMLY, "the command line is empty"))
        if any(command.repeated and _moves(command) for command, _ in everything):
            self._stand(None)
        for command, unwrapped in everything:
            parts.append(self._command(command, unwrapped))
            parts.extend(self._redirects(command))
            if _moves(command):
                parts.append(self._move(command))
        return parts

    def _move(self, command: SimpleCommand) -> Part:
        """Later relative paths may start from the old folders or the new one, since a `cd` may not happen."""
        targets = [word for word in command.words[1:] if word.literal not in ("--", "-L", "-P", "-e")]
        target = targets[0].literal if len(targets) == 1 else None
        if basename(command.program or "") == "popd" and not targets:
            return _FINE
        if not target or target.startswith(("~", "-", "+")):
            self._stand(None)
            return Part(Level.ASK_FIRMLY, "the folder that `cd` goes to is not known before the line runs")
        old = self.place.bases
        if old is None:
            old = (self.place.work_tree,) if posixpath.isabs(target) else ()
        new = [self.place.resolve(posixpath.join(base, target)) for base in old]
        worst = {self.place.zone_of(folder) for folder in new} - {Zone.TREE, Zone.WRITABLE}
        if self.place.bases is not None:
            bases = tuple(dict.fromkeys((*self.place.bases, *new)))
            if len(bases) > MAX_BASES:
                self._stand(None)
                return Part(Level.ASK_FIRMLY, "too many changes of folder to follow")
            self._stand(bases)
        if worst:
            return Part(Level.ASK, f"`cd {_short(target)}` goes to {min(worst).value}")
        return _FINE

    def _stand(self, bases: tuple[str, ...] | None) -> None:
        self.place = replace(self.place, bases=bases)

    def _command(self, command: SimpleCommand, unwrapped: bool) -> Part:
        words = command.words
        place = self.place
        denied = [(rule, refuses_command(rule, words, place)) for rule in self.policy.deny]
        for rule, match in denied:
            if match is Match.YES:
                return Part(Level.DENY, f"the rule {rule} forbids it", str(rule))
        effects = describe(command, unwrapped=unwrapped, functions=self.functions)
        built_in = max((self._effect(effect, command) for effect in effects), key=lambda part: part.level)
        if built_in.level is Level.DENY:
            return built_in
        for rule, match in denied:
            if match is Match.MAYBE:
                return Part(Level.ASK_FIRMLY, f"the rule {rule} may forbid it", str(rule))
        if built_in.level is Level.ASK_FIRMLY:
            return built_in
        for rule in self.policy.ask:
            if refuses_command(rule, words, place) is not Match.NO:
                return Part(Level.ASK_FIRMLY, f"the rule {rule} asks first", str(rule))
        for rule in self.policy.allow:
            if allows_command(rule, words, place):
                return Part(Level.ALLOW, rule=str(rule))
        secret = next((word for word in words[1:] if names_secret(word, place)), None)
        if secret is not None:
            return Part(Level.ASK, f"{secret.text!r} may hold credentials")
        handed = next(self._handed_on(command, effects), None)
        if handed is not None:
            return Part(Level.ASK, f"{_short(handed)!r} may be run as a command")
        return built_in

    def _handed_on(self, command: SimpleCommand, effects: Sequence[Effect]) -> Iterator[str]:
        """Texts that a build tool or a variable's reader may run, and that would be denied as a command."""
        if self.inside:
            return
        candidates = [value.literal or "" for _, value in command.assignments]
        if any(effect.kind is Kind.BUILD for effect in effects) and command.program is not None:
            words = [word.literal or "" for word in command.words[1 : MAX_HANDED + 1]]
            candidates.extend(part for word in words for part in (word, word.partition("=")[2]) if " " in part)
            candidates.extend(shlex.join(words[place:]) for place, word in enumerate(words) if _NAME.fullmatch(word))
        for text in candidates:
            if text and len(text) <= MAX_HANDED_TEXT:
                judging = Judging(self.policy, self.place, inside=True)
                if any(part.level is Level.DENY for part in judging.line(text)):
                    yield text

    def _effect(self, effect: Effect, command: SimpleCommand) -> Part:
        refusal = self.policy.profile.refused.get(effect.kind)
        if effect.kind is Kind.WRITE:
            if not effect.paths:
                return Part(Level.ASK, f"{effect.reason} names no file")
            parts = [self.path(word, effect.reason, whole=effect.whole) for word in effect.paths]
            return max(parts, key=lambda part: part.level)
        if refusal is not None:
            return Part(Level.DENY, f"{effect.reason or effect.kind.value}: {refusal}")
        if effect.kind not in self.policy.profile.allowed:
            return Part(Level.ASK, effect.reason or effect.kind.value)
        if effect.kind is Kind.BUILD:
            return self._build(effect, command)
        return _FINE

    def _build(self, effect: Effect, command: SimpleCommand) -> Part:
        for word in command.words[1:]:
            text = word.text.partition("=")[2] if word.text.startswith("-") and "=" in word.text else word.text
            if "/" in text and self.place.zone(Word(text, word.glob)) is Zone.GIT:
                return Part(Level.DENY, f"{effect.reason} reaches git's own folder: {_short(text)}")
        for word in effect.paths:
            zone = self.place.zone(word)
            if zone is not Zone.TREE:
                return Part(Level.ASK, f"{effect.reason}: {_short(word.text)} is {zone.value}")
        zones = {self.place.zone_of(base) for base in self.place.bases or ()}
        if not zones <= {Zone.TREE, Zone.WRITABLE} or not zones:
            return Part(Level.ASK, f"{effect.reason} would run outside the work tree")
        return _FINE

    def _redirects(self, command: SimpleCommand) -> Iterator[Part]:
        for redirect in command.redirects:
            if redirect.writes:
                if redirect.target.glob:
                    yield Part(Level.ASK_FIRMLY, "a redirection to a pattern")
                else:
                    yield self.path(redirect.target, "a redirection")
            elif names_secret(redirect.target, self.place):
                yield Part(Level.ASK, f"{redirect.target.text!r} may hold credentials")

    def path(self, word: Word, what: str, *, whole: bool = False, tool: Literal["edit", "write"] = "write") -> Part:
        """Whether the file that `word` names may be changed."""
        zone = self.place.zone(word)
        shown = _short(word.text)
        if zone is Zone.DEVICE:
            return _FINE
        if zone is Zone.GIT:
            return Part(Level.DENY, f"{what} would change git's own folder: {shown}")
        if zone is Zone.UNKNOWN:
            return Part(Level.ASK_FIRMLY, f"{what}: the file is not known before the line runs")
        if whole and not word.glob and self._holds_git(word):
            return Part(Level.DENY, f"{what} would change the whole work tree with its git folder: {shown}")
        files = self._files(word)
        for rule in self.policy.deny:
            if rule.tool in ("edit", "write") and self._covered(rule, files, word, whole=whole) is not Match.NO:
                return Part(Level.DENY, f"the rule {rule} protects {shown}", str(rule))
        if zone is Zone.TREE and not self.policy.profile.writes_tree:
            return Part(Level.DENY, f"{what} on {shown}: {self.policy.profile.refused[Kind.WRITE]}")
        for rule in self.policy.ask:
            if rule.tool in ("edit", "write") and self._covered(rule, files, word, whole=whole) is not Match.NO:
                return Part(Level.ASK_FIRMLY, f"the rule {rule} asks first", str(rule))
        for rule in self.policy.allow:
            covers = (matches_path(rule, one, self.place) is Match.YES for one in files)
            if rule.tool == tool and not word.glob and all(covers):
                return Part(Level.ALLOW, rule=str(rule))
        if zone in (Zone.TREE, Zone.WRITABLE):
            return _FINE
        return Part(Level.ASK, f"{what}: {shown} is {zone.value}")

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

    def url(self, text: str) -> Part:
        """Whether every address in `text` may be fetched."""
        rules = (("deny", self.policy.deny), ("ask", self.policy.ask), ("allow", self.policy.allow))
        for kind, some in rules:
            for rule in some:
                match = matches_url(rule, text) if rule.tool == "webfetch" else Match.NO
                if kind == "deny" and match is Match.YES:
                    return Part(Level.DENY, f"the rule {rule} forbids it", str(rule))
                if kind != "allow" and match is not Match.NO:
                    return Part(Level.ASK_FIRMLY, f"the rule {rule} asks first", str(rule))
                if kind == "allow" and match is Match.YES:
                    return Part(Level.ALLOW, rule=str(rule))
        return Part(Level.ASK, "fetching from the web needs a rule or a person")

    def other(self, request: PermissionAsked) -> list[Part]:
        """A tool that is known by its name alone."""
        name = request.raw_tool
        for level, some in ((Level.DENY, self.policy.deny), (Level.ASK_FIRMLY, self.policy.ask)):
            for rule in some:
                if rule.tool == "other" and _tool_matches(rule, name):
                    verb = "forbids it" if level is Level.DENY else "asks first"
                    return [Part(level, f"the rule {rule} {verb}", str(rule))]
        for rule in self.policy.allow:
            if rule.tool == "other" and _tool_matches(rule, name):
                return [Part(Level.ALLOW, rule=str(rule))]
        if name.casefold() not in _READING_TOOLS:
            return [Part(Level.ASK, f"the tool {_short(name)!r} is not one that the policy knows")]
        secrets = [path for path in request.paths if names_secret(Word(path), self.place)]
        return [Part(Level.ASK, f"{_short(path)!r} may hold credentials") for path in secrets] or [_FINE]


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
