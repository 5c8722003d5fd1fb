"""Reading and checking a script of the scripted executor (spec page 2, "scripted").

A script is YAML (or JSON, which large ones should be): for each part (`executor`, `player`, `judge`, `exerciser`, or
`any`) a list of turns, the last one repeated for ever. A turn is a list of steps, or `{steps: [...], resumed: [[...],
...]}`: what happens when the same session is continued (without it: the same steps again). A step is a mapping with one
key, its name; a missing part falls back to `any`.
"""

from __future__ import annotations

import difflib
import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from touchline.api import ConfigError, FailureKind

SHIPPED = ("oracle", "nop", "liar", "demo")
PARTS = ("executor", "player", "judge", "exerciser", "any")
FOR_EVER_S = 86_400.0

Steps = list[dict[str, Any]]

_TEXT = {"say", "think", "ask", "question", "end", "delete", "print", "print_bytes", "notice"}
_MAPPINGS: Mapping[str, tuple[set[str], set[str]]] = {
    # step: keys that it needs, keys that it may have
    "write": ({"path", "content"}, set()),
    "edit": ({"path", "old", "new"}, set()),
    "solve": ({"path", "content"}, set()),
    "finish": (set(), {"summary", "report"}),
    "lie": (set(), {"branch", "commit", "summary", "report", "ask"}),
    "fail": ({"kind"}, {"reason", "resets_at"}),
    "crash": (set(), {"signal", "status", "stderr"}),
    "usage": ({"input", "output"}, {"cached", "cost"}),
    "retry": ({"reason", "attempt"}, {"next_in_s"}),
}
_BRANCHES = ("on_ok", "on_failed", "on_denied")
_RUN = {"command", "background", "expect", *_BRANCHES}
_OUTCOMES = ("ok", "failed", "denied")
_NAMES = sorted({*_TEXT, *_MAPPINGS, "run", "answer", "hang", "hang_after", "long_line"})


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One turn: its steps, and the steps of each continuation of its session."""

    steps: Steps
    resumed: list[Steps]


@dataclass(frozen=True, slots=True)
class Script:
    """A checked script."""

    name: str
    model: str
    parts: Mapping[str, list[ScriptedTurn]]

    def steps(self, part: str, *, turn: int, resumes: int) -> Steps:
        """The steps of turn `turn` (from 1) of a part, or of the `resumes`-th continuation of its session."""
        turns = self.parts.get(part) or self.parts.get("any")
        if not turns:
            raise ConfigError(
                f"the script {self.name} has nothing for the part {part!r}", fix=f"add `{part}:` or `any:`"
            )
        chosen = turns[min(max(turn, 1), len(turns)) - 1]
        if resumes and chosen.resumed:
            return chosen.resumed[min(resumes, len(chosen.resumed)) - 1]
        return chosen.steps


def load(name_or_path: str) -> Script:
    """The script of a shipped name or in a file; raises ConfigError, which says what is wrong and where."""
    if name_or_path in SHIPPED:
        source = files("touchline_scripted") / "scripts" / f"{name_or_path}.yaml"
        return parse(source.read_text(encoding="utf-8"), name=name_or_path)
    path = Path(name_or_path)
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        near = difflib.get_close_matches(name_or_path, SHIPPED, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"the script {name_or_path!r} cannot be read ({error})",
            fix=f"{hint}shipped are {', '.join(SHIPPED)}; or give the path of a YAML file",
        ) from error
    return parse(content, name=str(path))


def parse(content: str, *, name: str) -> Script:
    """Check a script's text: JSON by its name, otherwise YAML."""
    try:
        document = json.loads(content) if name.endswith(".json") else YAML(typ="safe", pure=True).load(content)
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"the script {name} cannot be parsed: {error}", fix="mend the file") from error
    check = _Check(name)
    root = check.mapping(document, "the script", {"version"}, {"model", *PARTS})
    if root["version"] != 1:
        check.wrong("version", "1")
    parts = {
        part: [check.turn(turn, f"{part}[{n}]") for n, turn in enumerate(check.list(root[part], part))]
        for part in PARTS
        if part in root
    }
    return Script(name, check.text(root.get("model", "scripted"), "model"), parts)


class _Check:
    """Says what is wrong, by the path of keys."""

    def __init__(self, name: str) -> None:
        self._name = name

    def wrong(self, where: str, expected: str) -> ConfigError:
        raise ConfigError(f"the script {self._name}: {where}: expected {expected}", fix="mend the script")

    def text(self, value: object, where: str) -> str:
        if not isinstance(value, str):
            self.wrong(where, "a text")
        return str(value)

    def list(self, value: object, where: str) -> list[Any]:
        if not isinstance(value, list) or not value:
            raise self.wrong(where, "a list that is not empty")
        return value

    def mapping(self, value: object, where: str, needed: set[str], allowed: set[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(where, "a mapping")
        for key in value:
            if key not in needed | allowed:
                near = difflib.get_close_matches(str(key), sorted(needed | allowed), n=1)
                self.wrong(f"{where}: unknown key {key!r}", near[0] if near else ", ".join(sorted(needed | allowed)))
        for key in sorted(needed - set(value)):
            self.wrong(where, f"the key {key!r}")
        return value

    def turn(self, value: object, where: str) -> ScriptedTurn:
        if isinstance(value, list):
            return ScriptedTurn(self.steps(value, where), [])
        fields = self.mapping(value, where, {"steps"}, {"resumed"})
        resumed = [
            self.steps(steps, f"{where}.resumed[{n}]")
            for n, steps in enumerate(self.list(fields["resumed"], f"{where}.resumed") if "resumed" in fields else [])
        ]
        return ScriptedTurn(self.steps(fields["steps"], f"{where}.steps"), resumed)

    def steps(self, value: object, where: str) -> Steps:
        if not isinstance(value, list):
            raise self.wrong(where, "a list of steps")
        return [self.step(step, f"{where}[{n}]") for n, step in enumerate(value)]

    def step(self, value: object, where: str) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) != 1:
            raise self.wrong(where, "one step, for instance `say: hello`")
        ((name, given),) = value.items()
        where = f"{where}.{name}"
        if name in _TEXT:
            self.text(given, where)
            if name == "print_bytes" and not _is_hex(given):
                self.wrong(where, "hexadecimal digits")
        elif name in _MAPPINGS:
            given = self.mapping({} if given is None else given, where, *_MAPPINGS[name])
            if name == "fail" and given["kind"] not in {kind.value for kind in FailureKind}:
                self.wrong(f"{where}.kind", ", ".join(kind.value for kind in FailureKind))
            if name == "fail":
                given = {"reason": "scripted", **given}
            if name == "crash" and "signal" in given:
                given = {**given, "signal": self.signal(given["signal"], where)}
        elif name == "run":
            given = self.run(given, where)
        elif name == "answer":
            if not isinstance(given, dict):
                self.wrong(where, "a mapping, the JSON object to answer")
        elif name in ("hang", "hang_after"):
            given = FOR_EVER_S if given is True else given
            if isinstance(given, bool) or not isinstance(given, int | float) or given < 0:
                self.wrong(where, "seconds, or true for ever")
        elif name == "long_line":
            if isinstance(given, bool) or not isinstance(given, int) or given < 0:
                self.wrong(where, "a number of bytes")
        else:
            near = difflib.get_close_matches(str(name), _NAMES, n=1)
            self.wrong(f"{where}: no such step", near[0] if near else ", ".join(_NAMES))
        return {name: given}

    def run(self, given: object, where: str) -> dict[str, Any]:
        if isinstance(given, str):
            return {"command": given}
        fields = self.mapping(given, where, {"command"}, _RUN)
        self.text(fields["command"], f"{where}.command")
        if fields.get("expect", "ok") not in _OUTCOMES:
            self.wrong(f"{where}.expect", ", ".join(_OUTCOMES))
        branches = {key: self.steps(fields[key], f"{where}.{key}") for key in _BRANCHES if key in fields}
        return {**fields, **branches}

    def signal(self, value: object, where: str) -> int:
        try:
            return signal.Signals[f"SIG{value}"].value
        except KeyError as error:
            raise ConfigError(
                f"the script {self._name}: {where}.signal: no such signal: {value!r}", fix="for instance KILL or TERM"
            ) from error


def _is_hex(text: str) -> bool:
    try:
        bytes.fromhex(text)
    except ValueError:
        return False
    return True
