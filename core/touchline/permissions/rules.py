"""The rule language of the configuration, `tool(pattern)`, and what a rule matches (spec page 8).

`bash(git push *)` is matched word by word on the parsed command: the program by its base name, then its words.
A rule that refuses or asks matches generously: options of the command may stand anywhere, `-fr` is `-rf`, the
rule is a beginning, and a word that is not known before the line runs may match. A rule that allows matches
exactly: word for word, and only a last `*` stands for the rest. `edit(GLOB)` and `write(GLOB)` name files (`**` any
depth), relative to the work tree or absolute; refusing, they stand for every way to change the file, shell
redirects included. `webfetch(GLOB)` names a URL or a host, `other(NAME)` a tool by the CLI's own name.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from touchline.errors import ConfigError
from touchline.permissions.paths import Place
from touchline.permissions.words import HOLE, Word
from touchline.permissions.wrappers import basename

Tool = Literal["bash", "edit", "write", "webfetch", "other"]

_RULE = re.compile(r"(?P<tool>bash|edit|write|webfetch|other)\((?P<pattern>.+)\)", re.DOTALL)
_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_SAME_OPTION = {"--force": "f", "--recursive": "r", "-R": "r", "--all": "a", "--delete": "d"}
_URL = re.compile(r"https?://[^\s\"'<>]+", re.IGNORECASE)


class Match(IntEnum):
    """How surely a rule matches."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as written, and its parts."""

    tool: Tool
    pattern: str

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})"

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a `bash` rule."""
        return tuple(shlex.split(self.pattern))


def parse_rule(text: str, *, where: str = "permissions") -> Rule:
    """The rule that `text` writes. Raises `ConfigError` naming `where` for anything else."""
    example = "write it as tool(pattern), for example bash(git push *), edit(.github/**) or webfetch(*)"
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{where}: {text!r} is no permission rule", fix=example)
    tool: Tool = match["tool"]  # type: ignore[assignment]
    pattern = match["pattern"].strip()
    if tool == "bash":
        try:
            words = shlex.split(pattern)
        except ValueError as problem:
            raise ConfigError(f"{where}: {text!r} has unbalanced quotes ({problem})", fix=example) from problem
        if not words or pattern.endswith(":*"):
            raise ConfigError(f"{where}: {text!r} is no permission rule", fix="for a prefix write bash(git push *)")
    elif pattern.startswith("~"):
        raise ConfigError(f"{where}: {text!r} begins with ~", fix="write the absolute path")
    return Rule(tool, pattern)


def parse_rules(texts: Iterable[str], *, where: str = "permissions") -> tuple[Rule, ...]:
    """All rules of a list, in order."""
    return tuple(parse_rule(text, where=where) for text in texts)


def refuses_command(rule: Rule, words: Sequence[Word], place: Place) -> Match:
    """How surely a deny or ask rule for `bash` matches the command."""
    if rule.tool != "bash" or not words:
        return Match.NO
    program_pattern, *rest = rule.words
    if rule.words == ("*",):
        return Match.YES
    program = words[0]
    if program.literal is not None:
        name = basename(program.literal)
        found = _best(_word(Word(one), program_pattern, place) for one in (name, program.literal))
    else:
        found = Match.MAYBE
    options = [one for one in rest if one.startswith("-") and len(one) > 1]
    plain = [one for one in rest if not (one.startswith("-") and len(one) > 1)]
    while plain and plain[-1] == "*":
        plain.pop()
    is_git = program.literal is not None and basename(program.literal) == "git"
    return min(
        found,
        _sequence(plain, words[1:], place, is_git=is_git),
        *(_has_option(option, words[1:]) for option in options),
    )


def allows_command(rule: Rule, words: Sequence[Word], place: Place) -> bool:
    """Whether an allow rule for `bash` matches the command exactly."""
    if rule.tool != "bash" or not words or words[0].literal is None:
        return False
    pattern = list(rule.words)
    program = words[0].literal
    standard = re.fullmatch(r"(?:(?:/usr(?:/local)?)?/s?bin/)?[^/]+", program)
    name = basename(program) if standard and "/" not in pattern[0] else program
    open_end = pattern[-1] == "*"
    fixed = pattern[:-1] if open_end else pattern
    if len(words) < len(fixed) or (len(words) > len(fixed) and not open_end):
        return False
    head = (Word(name), *words[1:])
    return all(_word(word, one, place) is Match.YES for word, one in zip(head, fixed, strict=False))


def matches_path(rule: Rule, path: str, place: Place, *, whole: bool = False) -> Match:
    """How surely a file rule covers the real absolute `path`; `whole`: all that lies below counts too."""
    absolute = rule.pattern if posixpath.isabs(rule.pattern) else posixpath.join(place.work_tree, rule.pattern)
    if _glob_regex(absolute).fullmatch(path):
        return Match.YES
    fixed = re.split(r"[*?\[]", absolute, maxsplit=1)[0].rstrip("/")
    if whole and (fixed == path or fixed.startswith(path.rstrip("/") + "/")):
        return Match.YES
    return Match.NO


def matches_url(rule: Rule, text: str) -> Match:
    """How surely a `webfetch` rule covers all the URLs of a request's text."""
    if rule.pattern == "*":
        return Match.YES
    urls = _URL.findall(text)
    if not urls:
        return Match.MAYBE
    hits = [_url(rule.pattern, url) for url in urls]
    return Match.YES if all(hits) else Match.MAYBE if any(hits) else Match.NO


def _url(pattern: str, url: str) -> bool:
    host = re.sub(r"^https?://(?:[^/?#@]*@)?", "", url, flags=re.IGNORECASE)
    host = re.split(r"[/?#\\]", host, maxsplit=1)[0].rpartition(":")[0] or re.split(r"[/?#\\]", host, maxsplit=1)[0]
    subject = url if "/" in pattern else host.casefold()
    return fnmatch.fnmatchcase(subject, pattern)


def _sequence(pattern: Sequence[str], words: Sequence[Word], place: Place, *, is_git: bool) -> Match:
    """Whether the plain words of a rule stand first among the plain words of a command, options left out."""
    width = len(words)
    following = [Match.YES] * (width + 3)
    for one in reversed(pattern):
        current = [Match.NO] * (width + 3)
        for at in range(width - 1, -1, -1):
            word = words[at]
            text = word.text
            best = min(_word(word, one, place), following[at + 1])
            if text.startswith("-"):
                skip = [at + 1, at + 2]
                if is_git:
                    skip = [at + 2] if text in _GIT_VALUED else [at + 1]
                best = _best([Match.NO if is_git else best, *(current[to] for to in skip)])
            elif word.literal is None and (word.splits or text.startswith(HOLE)):
                best = _best([best, min(Match.MAYBE, current[at + 1]), min(Match.MAYBE, following[at])])
            current[at] = best
        following = current
    return following[0]


def _has_option(option: str, words: Sequence[Word]) -> Match:
    short = not option.startswith("--")
    letters = set(option[1:]) if short else {_SAME_OPTION.get(option, "")} - {""}
    seen: set[str] = set()
    unknown = False
    for word in words:
        text = word.text
        unknown = unknown or (word.literal is None and (word.splits or text.startswith((HOLE, "-"))))
        name = text.partition("=")[0]
        if text == option or (not short and name == option):
            return Match.YES
        if not short and len(name) > 3 and name.startswith("--") and option.startswith(name):
            return Match.YES
        if name in _SAME_OPTION:
            seen.add(_SAME_OPTION[name])
        elif text.startswith("-") and not text.startswith("--"):
            seen.update(text[1:].replace("R", "r"), text[1:])
    if letters and letters <= seen:
        return Match.YES
    return Match.MAYBE if unknown else Match.NO


def _word(word: Word, pattern: str, place: Place) -> Match:
    if pattern == "*":
        return Match.YES
    if word.literal is not None or (word.glob and not word.splits and HOLE not in word.text):
        forms = {word.text}
        if "/" in pattern:
            forms.update(_path_forms(word.text, place))
        if any(fnmatch.fnmatchcase(form, pattern) for form in forms):
            return Match.YES
        if word.literal is not None:
            return Match.NO
    known = re.split(r"[\0*?\[]", word.text, maxsplit=1)[0]
    fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    if word.splits or known.startswith(fixed) or fixed.startswith(known):
        return Match.MAYBE
    return Match.NO


def _path_forms(text: str, place: Place) -> set[str]:
    if not text or text.startswith("-"):
        return set()
    forms = {posixpath.normpath(text)}
    for base in place.bases or ():
        joined = posixpath.normpath(posixpath.join(base, text))
        forms.update((re.sub(r"^/+", "/", joined), place.resolve(joined)))
    return forms


def _glob_regex(pattern: str) -> re.Pattern[str]:
    """`**` any depth, `*` and `?` inside one part; a pattern ending in `/**` covers the folder itself."""
    pieces: list[str] = []
    place = 0
    while place < len(pattern):
        if pattern.startswith("/**", place) and place + 3 == len(pattern):
            pieces.append("(?:/.*)?")
            place += 3
        elif pattern.startswith("**/", place):
            pieces.append("(?:.*/)?")
            place += 3
        elif pattern.startswith("**", place):
            pieces.append(".*")
            place += 2
        elif pattern[place] == "*":
            pieces.append("[^/]*")
            place += 1
        elif pattern[place] == "?":
            pieces.append("[^/]")
            place += 1
        else:
            pieces.append(re.escape(pattern[place]))
            place += 1
    return re.compile("".join(pieces), re.DOTALL)


def _best(found: Iterable[Match]) -> Match:
    return max(found, default=Match.NO)
