"""The turn protocol, both halves: the text that teaches it and the code that reads the answer (spec page 1).

Change one half only together with the other; the tests parse every example that the text shows. The reading
half answers for every text, in time linear in its length, and looks only at the end of it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Role = Literal["executor", "player", "verifier"]
"""executor: dispatched work, the model commits. player: the coach commits. verifier: writes nothing."""

MAX_DEPTH = 100
"""Deepest nesting of a trailer; fixed, so that the answer does not depend on the caller's stack."""

FOLLOWING_LINES = 3
"""Most non-blank lines that may follow a trailer which is not on the last one."""

_INT_DIGITS = 4000
"""Longer integers are refused by Python's `int`; they are kept as digits."""

_ASK = """\
1. If you need a decision from a person, print one line of JSON in this form and end the turn. Do not guess,
   and do not ask in any other form:
{"ask": "your question, with the choices you see"}
"""
_ASK_NOBODY = """\
1. Ask nothing: nobody can answer. What you cannot find out, say in your answer.
"""
_FINISH_EXECUTOR = """\
2. When the work is done, commit it first. Never push. The last line of the turn is then one line of JSON in
   this form, with nothing after it:
{"branch": "the current branch", "commit": "full hash of your last commit", "summary": "at most 50 words"}
"""
_FINISH_PLAYER = """\
2. When the work is done, do not commit: the coach does. The last line of the turn is then one line of JSON in
   this form, with nothing after it:
{"summary": "at most 50 words", "report": {"changed": [{"path": "a/file", "why": "the reason"}], \
"build": "result", "tests": "result", "app": "result", "concerns": ["what a reviewer should know"], \
"receipts": [{"item": "1", "status": "addressed", "note": "what was done"}]}}
   `build`, `tests` and `app` say what you ran and what came out, or "not run". One receipt for each numbered
   item (1, 2, ...), failed gate (G-1, ...) and CI item (C-1, ...) of the feedback; `status` is addressed,
   partial or not-addressed. Empty lists where there is nothing to say.
"""
_FINISH_VERIFIER = """\
2. Change no file, commit nothing, push nothing. The last line of the turn is the one line of JSON that the
   task asks for, with nothing after it.
"""
_STAY = "3. Stay on the current branch. Change no git configuration.\n"

_FINISH: dict[Role, str] = {
    "executor": _FINISH_EXECUTOR,
    "player": _FINISH_PLAYER,
    "verifier": _FINISH_VERIFIER,
}


@dataclass(frozen=True, slots=True)
class Trailer:
    """What the model declared at the end of a turn; "" and None stand for fields that it did not give.

    Values are kept as decoded (only lone surrogates become U+FFFD): they are claims, checked by nobody yet.
    """

    kind: Literal["ask", "finish", "none"]
    question: str = ""
    branch: str = ""
    commit: str = ""
    summary: str = ""
    report: dict[str, object] | None = None


NO_TRAILER = Trailer("none")


def protocol_rules(role: Role) -> str:
    """The discipline of a turn for `role`, as taught to the model; the same text wherever it is taught."""
    return (_ASK_NOBODY if role == "verifier" else _ASK) + _FINISH[role] + _STAY


def render_prompt(task_id: str, plan: str, *, role: Role, discipline: str = "") -> str:
    """The prompt that starts a task: title, rules, `discipline` if there is any, then `plan` verbatim.

    The plan is data: nothing in it is interpreted.
    """
    extra = f"## Discipline\n\n{discipline.strip()}\n\n" if discipline.strip() else ""
    title = " ".join(task_id.split())
    return f"# Task {title}\n\n## Rules of the turn\n\n{protocol_rules(role)}\n{extra}## Plan\n\n{plan}"


def parse_trailer(text: str) -> Trailer:
    """The trailer at the end of `text`, or the kind "none"; never raises.

    The last non-blank line is read from its first `{`, prose around the JSON value tolerated. If that gives
    no protocol object, the last line that starts with `{` is read, which must be one JSON value and nothing
    else and may have at most `FOLLOWING_LINES` non-blank lines after it.
    """
    end = len(text.rstrip())
    following = 0
    while end >= 0 and following <= FOLLOWING_LINES:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        end = start - 1
        if not line:
            continue
        brace = line.find("{")
        if brace == 0 or (brace > 0 and following == 0):
            found = _read(line[brace:], whole=following > 0)
            if found.kind != "none" or brace == 0:
                return found
        following += 1
    return NO_TRAILER


class _HugeNumber(str):
    """The digits of a number that Python's own types cannot hold; a number, never a protocol string."""

    __slots__ = ()


def _integer(digits: str) -> int | _HugeNumber:
    return int(digits) if len(digits) <= _INT_DIGITS else _HugeNumber(digits)


def _float(digits: str) -> float | _HugeNumber:
    value = float(digits)
    return value if math.isfinite(value) else _HugeNumber(digits)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


_decode: Callable[[str], tuple[object, int]] = json.JSONDecoder(
    parse_int=_integer, parse_float=_float, parse_constant=_no_constant
).raw_decode


def _read(line: str, *, whole: bool) -> Trailer:
    """The trailer in the JSON value that `line` starts with (and, if `whole`, ends with)."""
    try:
        value, end = _decode(line)
        if not isinstance(value, dict) or (whole and end != len(line)) or not _is_shallow(value):
            return NO_TRAILER
        return _trailer(value)
    except (ValueError, RecursionError):  # wider than JSONDecodeError on purpose
        return NO_TRAILER


def _trailer(value: dict[str, object]) -> Trailer:
    fields: dict[str, str] = {}
    for name in ("ask", "branch", "commit", "summary"):
        field = value.get(name)
        if field is None:
            field = ""
        if type(field) is not str:  # not isinstance: a `_HugeNumber` is a number
            return NO_TRAILER
        fields[name] = _encodable(field)
    if fields["ask"]:
        return Trailer("ask", question=fields["ask"])
    if not (fields["branch"] or fields["commit"] or fields["summary"]):
        return NO_TRAILER
    report = value.get("report")
    return Trailer(
        "finish",
        branch=fields["branch"],
        commit=fields["commit"],
        summary=fields["summary"],
        report=_clean_object(report) if isinstance(report, dict) else None,
    )


def _is_shallow(value: dict[str, object]) -> bool:
    """Whether `value` nests at most `MAX_DEPTH` deep; level by level, so without recursion."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for parent in level:
            if isinstance(parent, dict):
                below.extend(item for item in parent.values() if isinstance(item, (dict, list)))
            elif isinstance(parent, list):
                below.extend(item for item in parent if isinstance(item, (dict, list)))
        if not below:
            return True
        level = below
    return False


_SURROGATE = re.compile("[\ud800-\udfff]")


def _encodable(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _clean_object(value: dict[str, object]) -> dict[str, object]:
    return {_encodable(key): _clean(item) for key, item in value.items()}


def _clean(value: object) -> object:
    """`value` with every string encodable as UTF-8 and huge numbers as digits; its depth is bounded."""
    if isinstance(value, str):
        return _encodable(str(value))
    if isinstance(value, dict):
        return _clean_object(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
