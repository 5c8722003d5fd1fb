"""What ordinary programs do, as far as their command line shows (spec page 8, "ordinary build tools").

A program or subcommand that is not listed is a doubt, so the list may be incomplete but never too trusting. Build
and test tools run the project's own code, which may do anything: this policy judges requests, it is no sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from touchline.permissions.editors import describe_awk, describe_sed
from touchline.permissions.effects import READ, Effect, Kind, doubt
from touchline.permissions.git_commands import describe_git
from touchline.permissions.shell import SimpleCommand
from touchline.permissions.vocabulary import (
    BUILD_TOOLS,
    CHANGES_FILES,
    COPIES,
    DANGEROUS_NAME,
    HARMLESS_VALUES,
    PYTHON,
    PYTHON_FLAGS,
    PYTHON_MODULES,
    QUIET_FLAGS,
    RUNS_TEXT,
    SAFE_EXCEPT,
    SAFE_VALUES,
    SAFE_WITH_ANYTHING,
    SCRIPT_FLAGS,
    TRANSPARENT,
    VARIABLES,
    WHOLE,
)
from touchline.permissions.words import Word
from touchline.permissions.wrappers import SHELLS, basename


def describe(command: SimpleCommand, *, unwrapped: bool, functions: frozenset[str]) -> tuple[Effect, ...]:
    """What `command` does by itself. `unwrapped`: what it runs for its caller is judged separately."""
    effects = list(_variables(command))
    if not command.words:
        return tuple(effects) or (READ,)
    program = command.program
    if program is None:
        return (*effects, doubt("the program is not known before the line runs"))
    if not program.isascii() or not program.isprintable():
        return (*effects, doubt("the program's name holds unusual characters"))
    arguments = command.words[1:]
    name = basename(program)
    if program in functions:
        return tuple(effects) or (READ,)
    if name == "git":
        return (*effects, *describe_git(arguments))
    if name.startswith("git-"):
        return (*effects, *describe_git((Word(name[4:]), *arguments)))
    if "/" in program and not re.fullmatch(r"(?:/usr(?:/local)?)?/s?bin/[^/]+", program):
        effects.append(Effect(Kind.BUILD, "a program of the work tree", (command.words[0],)))
        return tuple(effects)
    effects.extend(_by_name(name, arguments, unwrapped))
    return tuple(effects)


def _by_name(name: str, arguments: Sequence[Word], unwrapped: bool) -> tuple[Effect, ...]:
    if name in ("sudo", "doas"):
        return (doubt(f"`{name}` takes other rights"),)
    if name == "alias" and arguments:
        return (doubt("`alias` changes what names mean"),)
    if unwrapped and (name in TRANSPARENT or name in SHELLS or name == "find"):
        return _find(arguments) if name == "find" else (READ,)
    if unwrapped:
        return (Effect(Kind.BUILD, f"`{name}` runs a program of the project"),)
    if name in SAFE_WITH_ANYTHING:
        return (READ,)
    if name in VARIABLES or name == "command":
        return (READ,)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(arguments)
    if name in SAFE_EXCEPT:
        return _except(name, arguments)
    if name in CHANGES_FILES:
        return _changes(name, arguments)
    if name in COPIES:
        return _copies(name, arguments)
    if name in BUILD_TOOLS:
        return _build(name, arguments)
    if PYTHON.fullmatch(name):
        return _python(arguments)
    if name in SCRIPT_FLAGS:
        return _script(name, arguments)
    if name in TRANSPARENT:
        return (READ,) if name in ("exec", "trap", "eval", "time") else (doubt(f"`{name}` without a command"),)
    return (doubt(f"`{name}` is no program that the policy knows"),)


def _variables(command: SimpleCommand) -> list[Effect]:
    assigned = list(command.assignments)
    program = command.program
    if program is not None and basename(program) in VARIABLES | {"printf"}:
        for argument in command.words[1:]:
            text = argument.text
            if basename(program) == "printf" and command.words[1].text != "-v":
                break
            if text.startswith("-") and argument.literal is not None:
                if program in ("export", "declare", "typeset", "local", "readonly", "unset") and set(text) & set("fn"):
                    return [doubt(f"`{program} {text}` changes what names mean")]
                continue
            if argument.literal is None and not re.match(r"\w+=", text):
                return [doubt(f"a variable name of `{program}` is not known before the line runs")]
            name, _, value = text.partition("=")
            assigned.append((name, Word(value, argument.glob, argument.splits)))
    found = []
    for name, word in assigned:
        if DANGEROUS_NAME.fullmatch(name) and (name, word.literal) not in HARMLESS_VALUES:
            kind = Kind.CONFIGURE if name.startswith("GIT_CONFIG") else Kind.DOUBT
            found.append(Effect(kind, f"the variable {name} changes what other programs do"))
    return found


def _hidden(arguments: Sequence[Word]) -> Word | None:
    """The first word that might turn out to be an option."""
    for word in arguments:
        if word.text == "--":
            return None
        if word.literal is None and word.text.startswith(("\0", "-")):
            return word
    return None


def _except(name: str, arguments: Sequence[Word]) -> tuple[Effect, ...]:
    if _hidden(arguments) is not None and name != "printf":
        return (doubt(f"an argument of `{name}` that may be an option is not known before the line runs"),)
    refused = SAFE_EXCEPT[name]
    for place, argument in enumerate(arguments):
        text = argument.text.partition("=")[0]
        following = arguments[place + 1].text if place + 1 < len(arguments) else ""
        short = [one for one in refused if len(one) == 2]
        clustered = text[:1] == "-" and text[:2] != "--" and any(one[1] in text[1:] for one in short)
        long = text[:2] == "--" and len(text) > 2 and any(one.startswith(text) for one in refused)
        exact = text in refused
        if (exact or long or (clustered and name != "find")) and (name, following) not in SAFE_VALUES:
            return (doubt(f"`{name} {text}` writes a file or runs a program"),)
    return (READ,)


def _find(arguments: Sequence[Word]) -> tuple[Effect, ...]:
    outside = []
    inside = False
    for word in arguments:
        if word.literal in ("-exec", "-execdir", "-ok", "-okdir"):
            inside = True
        elif inside and word.literal in (";", "+"):
            inside = False
        elif not inside:
            outside.append(word)
    return _except("find", outside)


def _operands(arguments: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """Words that are no options, and the values attached to options."""
    plain: list[Word] = []
    attached: list[Word] = []
    ended = False
    for word in arguments:
        text = word.text
        if ended or not text.startswith("-") or text == "-":
            plain.append(word)
        elif text == "--":
            ended = True
        elif "=" in text:
            attached.append(Word(text.partition("=")[2], word.glob, word.splits))
        elif not text.startswith("--") and len(text) > 2 and text[1] in "tS":
            attached.append(Word(text[2:], word.glob, word.splits))
    return plain, attached


def _changes(name: str, arguments: Sequence[Word]) -> tuple[Effect, ...]:
    plain, attached = _operands(arguments)
    if name == "chmod" and plain:
        plain = plain[1:]
    return (Effect(Kind.WRITE, f"`{name}`", (*plain, *attached), whole=name in WHOLE),)


def _copies(name: str, arguments: Sequence[Word]) -> tuple[Effect, ...]:
    if _hidden(arguments) is not None:
        return (doubt(f"an argument of `{name}` that may be an option is not known before the line runs"),)
    plain, attached = _operands(arguments)
    flags = [word.text for word in arguments if word.text.startswith("-")]
    if attached or any(flag.startswith("--") or "t" in flag for flag in flags) or name == "install":
        return (Effect(Kind.WRITE, f"`{name}`", (*plain, *attached)),)
    return (Effect(Kind.WRITE, f"`{name}`", tuple(plain[-1:])),)


def _build(name: str, arguments: Sequence[Word]) -> tuple[Effect, ...]:
    known = BUILD_TOOLS[name]
    if known:
        if all(word.literal in ("--version", "-v", "--help", "-h") for word in arguments):
            return (READ,) if arguments or name != "yarn" else (Effect(Kind.BUILD, "`yarn`"),)
        rest = list(arguments)
        while rest and (rest[0].literal in QUIET_FLAGS or re.fullmatch(r"\+[\w.-]+", rest[0].text)):
            rest.pop(0)
        if not rest or rest[0].literal not in known:
            return (doubt(f"`{name}` with this subcommand is not known to be a build step"),)
    for word in arguments:
        if name in ("make", "gmake") and word.literal is None and word.splits:
            return (doubt(f"`{name}` gets words that are not known before the line runs"),)
        for start in RUNS_TEXT.get(name, ()):
            if word.text == start or (start != "-" and word.text.startswith(start)):
                return (doubt(f"`{name} {start}` runs text or another program"),)
    texts = [word.text for word in arguments]
    if _formats(name, texts):
        return (Effect(Kind.WRITE, f"`{name}` rewrites files", (Word("."),)),)
    return (Effect(Kind.BUILD, f"`{name}`"),)


def _formats(name: str, texts: Sequence[str]) -> bool:
    """Whether a tool is asked to rewrite sources, which is a change of files and not only a build."""
    if any(text in ("--check", "--diff", "--check-only", "-c") for text in texts):
        return False
    if name in ("black", "isort", "rustfmt"):
        return True
    if any(text in ("--fix", "--write", "-w", "--fix-only", "--unsafe-fixes", "-i") for text in texts):
        return name in ("ruff", "eslint", "prettier", "gofmt", "goimports", "stylelint", "clang-format", "cargo")
    first = texts[0] if texts else ""
    return (name, first) in {("ruff", "format"), ("cargo", "fmt"), ("cargo", "fix"), ("go", "fmt"), ("mix", "format")}


def _python(arguments: Sequence[Word]) -> tuple[Effect, ...]:
    for place, word in enumerate(arguments):
        text = word.literal
        if text is None:
            return (doubt("what python runs is not known before the line runs"),)
        if text in ("-V", "-VV", "--version"):
            return (READ,)
        if text == "-m" or (text.startswith("-m") and not text.startswith("--")):
            module = text[2:] or (arguments[place + 1].text if place + 1 < len(arguments) else "")
            if module.split(".")[0] in PYTHON_MODULES or (module == "json.tool" and len(arguments) <= place + 3):
                return (Effect(Kind.BUILD, f"`python -m {module}`"),)
            return (doubt(f"`python -m {module}` is no module that the policy knows"),)
        if PYTHON_FLAGS.fullmatch(text) and text not in ("-W", "-X"):
            continue
        if text.startswith("-"):
            return (doubt("python gets its program as text, which the policy does not read"),)
        return (Effect(Kind.BUILD, "a script of the work tree", (word,)),)
    return (doubt("python reads its program from standard input"),)


def _script(name: str, arguments: Sequence[Word]) -> tuple[Effect, ...]:
    for word in arguments:
        text = word.literal
        if text is None:
            return (doubt(f"what `{name}` runs is not known before the line runs"),)
        if text in ("--version", "-v") and name not in SHELLS:
            return (READ,)
        if SCRIPT_FLAGS[name].fullmatch(text):
            if name == "node" and text.startswith("--test"):
                return (Effect(Kind.BUILD, "`node --test`"),)
            continue
        if basename(text) == "git" or basename(text).startswith("git-"):
            return (doubt(f"`{name}` would look for {text} on the search path"),)
        if text.startswith("-") or text == "inspect":
            return (doubt(f"`{name} {text}` runs text, which the policy does not read"),)
        return (Effect(Kind.BUILD, "a script of the work tree", (word,)),)
    return (doubt(f"`{name}` reads its program from standard input"),)


def _uniq(arguments: Sequence[Word]) -> tuple[Effect, ...]:
    operands = [word for word in arguments if not word.text.startswith(("-", "+"))]
    if len(operands) > 1 or any(word.splits for word in operands):
        return (Effect(Kind.WRITE, "`uniq` writes its second file", tuple(operands[1:] or operands)),)
    return (READ,)


def _shopt(arguments: Sequence[Word]) -> tuple[Effect, ...]:
    if all(word.literal in ("-s", "-u", "-q", "globstar", "nullglob", "failglob", "dotglob") for word in arguments):
        return (READ,)
    return (doubt("`shopt` changes how the line is read"),)


def _kill(arguments: Sequence[Word]) -> tuple[Effect, ...]:
    if arguments and all(re.fullmatch(r"%\d+|-(?:TERM|INT|KILL|0|9|15)", word.literal or "") for word in arguments):
        return (READ,)
    return (doubt("`kill` may reach a process that this line did not start"),)


_SPECIAL: Mapping[str, Callable[[Sequence[Word]], tuple[Effect, ...]]] = {
    "sed": describe_sed,
    "awk": describe_awk,
    "gawk": describe_awk,
    "mawk": describe_awk,
    "find": _find,
    "uniq": _uniq,
    "shopt": _shopt,
    "kill": _kill,
    "alias": lambda _arguments: (READ,),
}
