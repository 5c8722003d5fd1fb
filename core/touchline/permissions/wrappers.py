"""Programs that run another program, and how to see through them (spec page 8, "`env X=1 prog` cannot slip").

`unwrap` gives the commands that a wrapper will run. What it cannot follow is an `Opaque` with the reason, never
a guess. Pure; shell text inside an argument is read by the caller's `read_line`.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from touchline.permissions.shell import Parsed, SimpleCommand, parse
from touchline.permissions.words import HOLE, UNKNOWN, Word

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})

MAX_LAYERS = 12
"""Wrappers inside wrappers that are followed; deeper is opaque."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """What runs cannot be told."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Options:
    """How a wrapper reads its own options: those with a value, those without, positionals before the command."""

    valued: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    positionals: int = 0
    numeric_flag: bool = False
    assignments: bool = False
    tail: bool = False
    """The command gets words of unknown text behind its own."""


def _options(
    valued: str = "", flags: str = "", *, positionals: int = 0, numeric_flag: bool = False, tail: bool = False
) -> _Options:
    return _Options(
        frozenset(valued.split()), frozenset(flags.split()), positionals, numeric_flag=numeric_flag, tail=tail
    )


_WRAPPERS: Mapping[str, _Options] = {
    "command": _options(flags="-p"),
    "builtin": _options(),
    "exec": _options("-a", "-c -l -cl"),
    "nohup": _options(),
    "setsid": _options(flags="-w -f -c --wait --fork --ctty"),
    "time": _options(flags="-p -v --verbose"),
    "coproc": _options(),
    "nice": _options("-n --adjustment", numeric_flag=True),
    "ionice": _options("-c -n --class --classdata", "-t --ignore"),
    "timeout": _options("-k -s --kill-after --signal", "--foreground --preserve-status -v --verbose", positionals=1),
    "stdbuf": _options("-i -o -e --input --output --error"),
    "xargs": _options(
        "-I -n -P -L -s -d -E --max-args --max-procs --max-lines --replace --delimiter --max-chars",
        "-0 -r -t -x --null --no-run-if-empty --verbose --exit -0r -r0",
        tail=True,
    ),
    "busybox": _options(),
    "toybox": _options(),
    "sudo": _options("-u -g -h -p -C -T -U --user --group", "-n -E -H -S -k -i -s -A -b --non-interactive"),
    "doas": _options("-u -C", "-n -s"),
    "npx": _options("-p --package", "-y --yes --no --no-install -q --quiet"),
    "bunx": _options(flags="--bun"),
    "winpty": _options(),
    "caffeinate": _options(flags="-i -d -s -m"),
}
_LAUNCHERS: Mapping[tuple[str, str], _Options] = {
    ("npm", "exec"): _options("-p --package -w --workspace", "-y --yes --no -q"),
    ("pnpm", "exec"): _options(flags="-r"),
    ("yarn", "exec"): _options(),
    ("uv", "run"): _options(
        "--with --extra --group --python -p --package --directory --project", "--frozen --locked -q --no-sync"
    ),
    ("poetry", "run"): _options(),
    ("pipenv", "run"): _options(),
    ("pdm", "run"): _options(),
    ("hatch", "run"): _options(),
    ("rye", "run"): _options(),
    ("bundle", "exec"): _options(),
    ("mise", "exec"): _options(),
}
_ENV_VALUED = frozenset({"-u", "--unset", "-C", "--chdir", "-a", "--argv0"})
_ENV_FLAGS = frozenset({"-i", "-0", "-v", "-", "--ignore-environment", "--null", "--debug", "-iv"})
_SHELL_FLAGS = frozenset("abefhiklmnprtuvxBCEHPT")
_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def basename(program: str) -> str:
    """The name that rules know a program by."""
    return posixpath.basename(program)


def unwrap(command: SimpleCommand) -> tuple[SimpleCommand, ...] | Opaque:
    """The commands that `command` runs as a wrapper; empty if it is no wrapper."""
    if not command.words:
        return ()
    program = command.program
    if program is None:
        return Opaque("the program is not known before the line runs")
    name = basename(program)
    first = command.words[1].literal if len(command.words) > 1 else None
    if name == "env":
        return _env(command, command.words[1:])
    if name in SHELLS:
        return _shell(command)
    if name == "eval":
        return _text(command, [word.literal for word in command.words[1:]], "eval")
    if name == "trap":
        return _trap(command)
    if name == "alias":
        return _alias(command)
    if name == "find":
        return _find_exec(command)
    if name == "command" and first in ("-v", "-V"):
        return ()
    if name == "npx" and any(word.literal in ("-c", "--call") for word in command.words):
        return Opaque("`npx -c` runs shell text")
    if name in _WRAPPERS:
        return _strip(command, command.words[1:], _WRAPPERS[name], name)
    if first is not None and (name, first) in _LAUNCHERS:
        return _strip(command, command.words[2:], _LAUNCHERS[name, first], f"{name} {first}")
    return ()


def _inner(outer: SimpleCommand, words: tuple[Word, ...], how: str) -> SimpleCommand:
    where = f"{outer.where}, {how}" if outer.where else how
    return replace(outer, words=words, redirects=(), where=where)


def _strip(
    outer: SimpleCommand, words: tuple[Word, ...], options: _Options, how: str
) -> tuple[SimpleCommand, ...] | Opaque:
    rest = list(words)
    replaced = ""
    while rest:
        word = rest[0].literal
        if word is None:
            return Opaque(f"an option of `{how}` is not known before the line runs")
        if word == "--":
            rest.pop(0)
            break
        if not word.startswith("-") or word == "-":
            break
        name, equals, value = word.partition("=")
        rest.pop(0)
        if word in options.valued:
            if not rest:
                return Opaque(f"`{how} {word}` has no value")
            value = rest.pop(0).literal or HOLE
        elif (equals and name in options.valued) or word in options.flags:
            pass
        elif word[:2] in options.valued and len(word) > 2 and not word.startswith("--"):
            value = word[2:]
        elif not (options.numeric_flag and word[1:].lstrip("-").isdigit()):
            return Opaque(f"`{how}` has the option {word}, which the policy does not know")
        if how == "xargs" and name[:2] in ("-I", "--"):
            replaced = value if name in ("--replace",) or name.startswith("-I") else replaced
    for _ in range(options.positionals):
        if not rest or rest[0].literal is None:
            return Opaque(f"`{how}` has no known command")
        rest.pop(0)
    if how in ("sudo", "doas"):
        while rest and rest[0].literal and "=" in (rest[0].literal or ""):
            rest.pop(0)
    if not rest:
        return ()
    if options.tail:
        rest = [_filled(word, replaced) for word in rest] + ([] if replaced else [UNKNOWN])
    return (_inner(outer, tuple(rest), how),)


def _filled(word: Word, mark: str) -> Word:
    return replace(word, text=word.text.replace(mark, HOLE)) if mark else word


def _env(outer: SimpleCommand, words: tuple[Word, ...]) -> tuple[SimpleCommand, ...] | Opaque:
    rest = list(words)
    assignments = list(outer.assignments)
    while rest:
        word = rest[0].literal
        if word is None:
            name, equals, value = rest[0].text.partition("=")
            if equals and HOLE not in name and not rest[0].splits and not name.startswith("-"):
                assignments.append((name, Word(value)))
                rest.pop(0)
                continue
            return Opaque("an argument of `env` is not known before the line runs")
        if word == "--":
            rest.pop(0)
            continue
        if word in ("-S", "--split-string") or word.startswith(("-S", "--split-string=", "-vS", "-iS")):
            text, used = (word.partition("=")[2], 1) if "=" in word[:16] and word.startswith("--") else (word[2:], 1)
            if not text and len(rest) > 1:
                text, used = rest[1].literal or HOLE, 2
            split = _split(text)
            if split is None or word.startswith(("-vS", "-iS")):
                return Opaque("the text of `env -S` is not plain")
            rest = [Word(one) for one in split] + rest[used:]
            continue
        if word in ("-C", "--chdir") or word.startswith(("--chdir=", "-C")):
            return Opaque("`env --chdir` changes the folder")
        if word in _ENV_VALUED:
            rest = rest[2:]
            continue
        if word in _ENV_FLAGS or (word.startswith(("--unset=", "-u")) and len(word) > 2):
            rest.pop(0)
            continue
        if word.startswith("-"):
            return Opaque(f"`env` has the option {word}, which the policy does not know")
        name, equals, value = word.partition("=")
        if not equals:
            break
        assignments.append((name, Word(value)))
        rest.pop(0)
    if not rest:
        return ()
    return (replace(_inner(outer, tuple(rest), "env"), assignments=tuple(assignments)),)


def _split(text: str) -> list[str] | None:
    if HOLE in text or "\\" in text or "$" in text:
        return None
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _shell(outer: SimpleCommand) -> tuple[SimpleCommand, ...] | Opaque:
    """`sh -c TEXT` and its spellings; a script file or standard input is judged by the caller."""
    words = outer.words[1:]
    place, takes_text = 0, False
    while place < len(words):
        word = words[place].literal
        if word is None:
            return Opaque("an argument of the shell is not known before the line runs")
        if word in ("-o", "+o", "-O", "+O"):
            place += 2
        elif word in ("--login", "--norc", "--noprofile", "--posix", "--"):
            place += 1
        elif len(word) > 1 and word[0] in "-+" and set(word[1:]) <= _SHELL_FLAGS | {"c", "o", "s"}:
            takes_text = takes_text or ("c" in word[1:] and word[0] == "-")
            place += 2 if "o" in word[1:] else 1
        elif word.startswith("-"):
            return Opaque(f"the shell has the option {word}, which the policy does not know")
        else:
            break
    if not takes_text:
        return ()
    return _text(outer, [words[place].literal] if place < len(words) else [None], f"{outer.program} -c")


def _trap(outer: SimpleCommand) -> tuple[SimpleCommand, ...] | Opaque:
    words = [word.literal for word in outer.words[1:]]
    if words[:1] == ["--"]:
        words = words[1:]
    if len(words) < 2 or words[0] in ("-", "", "-l", "-p"):
        return () if None not in words else Opaque("the text of `trap` is not known before the line runs")
    return _text(outer, words[:1], "trap")


def _alias(outer: SimpleCommand) -> tuple[SimpleCommand, ...] | Opaque:
    found: list[SimpleCommand] = []
    for word in outer.words[1:]:
        if word.literal is None:
            return Opaque("an alias is not known before the line runs")
        _, equals, value = word.literal.partition("=")
        if equals:
            inner = _text(outer, [value], "alias")
            if isinstance(inner, Opaque):
                return inner
            found.extend(inner)
    return tuple(found)


def _find_exec(outer: SimpleCommand) -> tuple[SimpleCommand, ...] | Opaque:
    found: list[SimpleCommand] = []
    words = list(outer.words)
    place = 0
    while place < len(words):
        if words[place].literal not in _FIND_EXEC:
            place += 1
            continue
        end = place + 1
        while end < len(words) and not (words[end].literal == ";" or words[end].literal == "+"):
            end += 1
        inner = tuple(_filled(word, "{}") for word in words[place + 1 : end])
        if not inner or end == len(words):
            return Opaque("`find -exec` without an end")
        found.append(_inner(outer, inner, "find -exec"))
        place = end
    return tuple(found)


def _text(outer: SimpleCommand, parts: list[str | None], how: str) -> tuple[SimpleCommand, ...] | Opaque:
    if None in parts:
        return Opaque(f"the text of `{how}` is not known before the line runs")
    read = parse(" ".join(part or "" for part in parts))
    if not isinstance(read, Parsed):
        return Opaque(f"the text of `{how}`: {read.reason}")
    where = f"{outer.where}, {how}" if outer.where else how
    return tuple(
        replace(
            inner,
            where=f"{where}, {inner.where}" if inner.where else where,
            repeated=inner.repeated or outer.repeated,
            assignments=(*outer.assignments, *inner.assignments),
        )
        for inner in read.commands
    )
