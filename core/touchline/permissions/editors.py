"""What the small languages of sed and awk do on a command line: read, write files, or run programs (spec page 8).

Only a plain subset counts as known; a script outside of it is a doubt, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from touchline.permissions.effects import READ, Effect, Kind, doubt
from touchline.permissions.words import Word

_ADDRESS = re.compile(r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)")
_PLAIN_COMMAND = re.compile(r"[pdqQ=nNgGhHxDlz](?:\s*\d+)?")
_SED_FLAGS = frozenset(
    {"-n", "-E", "-r", "-s", "-u", "-z", "--quiet", "--silent", "--regexp-extended", "--posix", "--debug"}
)
_AWK_RUNS = re.compile(r"system\s*\(|getline|@|\bload|\bprintf?\b[^;}\n]*>|(?<!\|)\|(?!\|)|close\s*\(|fflush")
_AWK_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def describe_sed(words: Sequence[Word]) -> tuple[Effect, ...]:
    """The effects of `sed` with `words` behind it."""
    scripts: list[Word] = []
    operands: list[Word] = []
    in_place = explicit = False
    waiting: Word | None = None
    rest = list(words)
    while rest:
        waiting = rest.pop(0)
        text = waiting.literal
        if text is None and waiting.text.startswith(("-", "\0")):
            return (doubt("an option of `sed` is not known before the line runs"),)
        text = waiting.text
        if text == "--":
            operands.extend(rest)
            break
        if text in ("-e", "--expression") and rest:
            explicit = True
            scripts.append(rest.pop(0))
        elif text.startswith("--expression="):
            explicit = True
            scripts.append(Word(text.partition("=")[2], waiting.glob, waiting.splits))
        elif text.startswith(("-i", "--in-place")) or re.fullmatch(r"-[nErsuz]+i", text):
            in_place = True
        elif text in _SED_FLAGS or re.fullmatch(r"-[nErsuz]+", text):
            continue
        elif re.fullmatch(r"-[nErsuz]+e", text) and rest:
            explicit = True
            scripts.append(rest.pop(0))
        elif text.startswith("-") and len(text) > 1:
            return (doubt(f"`sed` has the option {text}, which the policy does not know"),)
        else:
            operands.append(waiting)
    if not explicit and operands:
        scripts.append(operands.pop(0))
    for script in scripts:
        if script.splits or "\0" in script.text or not sed_script_is_plain(script.text):
            return (doubt("the sed script is not plain enough to be sure that it runs and writes nothing else"),)
    return (Effect(Kind.WRITE, "`sed -i`", tuple(operands)),) if in_place else (READ,)


def sed_script_is_plain(script: str) -> bool:
    """Whether every command of `script` is one of those that neither write files nor run programs."""
    position = 0
    while position < len(script):
        if script[position] in " \t\n;{}":
            position += 1
            continue
        position = _after_addresses(script, position)
        if position >= len(script):
            return False
        if script[position] == "{":
            continue
        if script[position] in "sy":
            after = _after_substitution(script, position)
        elif script[position] in "aic":
            after = _after_text(script, position)
        else:
            match = _PLAIN_COMMAND.match(script, position)
            after = match.end() if match else None
        if after is None or (after < len(script) and script[after] not in " \t\n;}"):
            return False
        position = after
    return True


def _after_addresses(script: str, position: int) -> int:
    match = _ADDRESS.match(script, position)
    if match:
        position = match.end()
        if script[position : position + 1] == ",":
            offset = 2 if script[position + 1 : position + 2] in ("+", "~") else 1
            second = _ADDRESS.match(script, position + offset)
            position = second.end() if second else position + 1
    while script[position : position + 1] in (" ", "\t", "!"):
        position += 1
    return position


def _after_substitution(script: str, position: int) -> int | None:
    command, delimiter = script[position], script[position + 1 : position + 2]
    if not delimiter or delimiter.isalnum() or delimiter in "\\\n ;":
        return None
    place, seen = position + 2, 0
    while place < len(script) and seen < 2:
        if script[place] == "\\":
            place += 1
        elif script[place] == "[" and seen == 0:
            return (
                None if delimiter in script[place : script.find("]", place + 2) + 1] else _skip(script, place, position)
            )
        elif script[place] == delimiter:
            seen += 1
        place += 1
    if seen < 2:
        return None
    flags = re.compile(r"[gpiIM0-9]*" if command == "s" else "").match(script, place)
    return flags.end() if flags else None


def _skip(script: str, bracket: int, position: int) -> int | None:
    """Go on behind a bracket expression that does not hold the delimiter: blank it and read again."""
    end = script.find("]", bracket + 2)
    if end < 0:
        return None
    blanked = script[:bracket] + "x" * (end + 1 - bracket) + script[end + 1 :]
    return _after_substitution(blanked, position)


def _after_text(script: str, position: int) -> int | None:
    """`a`, `i` and `c` take the rest of the line as text; a continued line is not followed."""
    end = script.find("\n", position)
    line = script[position:] if end < 0 else script[position:end]
    if line.endswith("\\"):
        return None
    return len(script) if end < 0 else end


def describe_awk(words: Sequence[Word]) -> tuple[Effect, ...]:
    """The effects of `awk` with `words` behind it."""
    place = 0
    while place < len(words):
        text = words[place].literal
        if text is None:
            return (doubt("an argument of `awk` is not known before the line runs"),)
        if text in ("-F", "-v"):
            place += 2
        elif re.fullmatch(r"-F.+|-v\w+=.*", text, re.DOTALL):
            place += 1
        elif text.startswith("-") and text != "--":
            return (doubt(f"`awk` has the option {text}, which the policy does not know"),)
        else:
            place += text == "--"
            break
    program = words[place].literal if place < len(words) else None
    if program is None or _AWK_RUNS.search(_AWK_QUOTED.sub('""', program)):
        return (doubt("the awk program may write files or run programs"),)
    return (READ,)
