"""What a judge or an exerciser answers, and how its answer is read from a text (spec page 5, "Verification").

Untrusted: an answer is one JSON object at the end of the text, held to exact types and ranges. Nothing is
repaired and nothing half-valid is kept; the caller asks once again and then gives up honestly.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from touchline.documents.base import FindingClass

MAX_ANSWER = 4 * 1024 * 1024
"""Code points from the end of the text in which the answer is looked for."""
MAX_ISSUES = 500
"""Issues that one answer may hold."""
MAX_STARTS = 2000
"""Lines that may be tried as the beginning of an answer of several lines."""

GateStatus = Literal["PASS", "FAIL", "BLOCKED", "NOT CHECKED"]


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("expected text that is not empty")
    return text


Filled = Annotated[str, AfterValidator(_filled)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", alias_generator=to_camel, allow_inf_nan=False)


class AnswerIssue(_Part):
    """One defect, as a verifier reports it."""

    title: Filled
    severity: int = Field(ge=1, le=10)
    class_: FindingClass = Field(alias="class")
    description: Filled
    root_cause: Filled
    mechanism: Filled
    path: str | None = None
    line: int | None = Field(default=None, ge=1)
    end_line: int | None = Field(default=None, ge=1)
    symbol: str | None = None
    symptom: str | None = None
    first_order: bool = False
    evidence: str | None = None
    new_harm_evidence: str | None = None
    matches: str | None = None


class AnswerRecheck(_Part):
    """Whether a finding that was handed over is still there."""

    id: str
    status: Literal["fixed", "still-open"]
    evidence: Filled


class AnswerGate(_Part):
    """The verdict on one custom rule, by its number in the prompt."""

    gate: int = Field(ge=1)
    status: GateStatus
    evidence: str = ""


class AnswerNoticed(_Part):
    """Whether the plan asks for what the coach noticed, by its number in the prompt."""

    item: int = Field(ge=1)
    asked_for: bool
    evidence: Filled


class AnswerPlanPart(_Part):
    """What became of one part of the plan."""

    part: Filled
    status: Literal["done", "partial", "missing", "not-applicable"]
    evidence: str = ""


class AnswerVerification(_Part):
    """What an exerciser saw of one issue that the judges reported."""

    issue: str
    status: Literal["CONFIRMED", "NOT REPRODUCED", "NOT APPLICABLE", "BLOCKED"]
    evidence: str = ""


class JudgeAnswer(_Part):
    """A judge's whole answer."""

    issues: list[AnswerIssue] = Field(max_length=MAX_ISSUES)
    rechecks: list[AnswerRecheck] = []
    gates: list[AnswerGate] = []
    noticed: list[AnswerNoticed] = []
    plan: list[AnswerPlanPart] = []


class ExerciserAnswer(_Part):
    """An exerciser's whole answer."""

    status: Literal["PASSED", "FAILED", "BLOCKED"]
    notes: Filled
    issues: list[AnswerIssue] = Field(default=[], max_length=MAX_ISSUES)
    verification: list[AnswerVerification] = []
    gates: list[AnswerGate] = []


Answer = TypeVar("Answer", JudgeAnswer, ExerciserAnswer)


def read_answer(text: str, model: type[Answer]) -> Answer | str:
    """The answer at the end of `text`, or what is wrong with it; never raises."""
    raw = last_object(text)
    if raw is None:
        return "there is no JSON object at the end of the answer"
    try:
        return model.model_validate_json(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        # Without input values: what is malformed is not repeated.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"the answer is malformed at {where or 'its top'}: {first['msg']}"


def last_object(text: str) -> str | None:
    """The JSON object that ends `text`: the rest of its last line, or of several lines, a closing fence allowed."""
    body = text[-MAX_ANSWER:].encode("utf-8", "replace").decode().rstrip()
    if body.endswith("```"):
        body = body[:-3].rstrip()
    line = body[body.rfind("\n") + 1 :]
    found = _whole_object(line[line.find("{") :].strip()) if "{" in line else None
    if found is not None or not body.endswith("}"):
        return found
    end = len(body)
    for _ in range(MAX_STARTS):
        start = body.rfind("\n", 0, end) + 1
        if body[start : start + 1] == "{":
            # An object of several lines begins in the first column; inner ones are indented.
            return _whole_object(body[start:])
        if start == 0:
            return None
        end = start - 1
    return None


def _whole_object(text: str) -> str | None:
    try:
        value, end = _decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return text[:end] if isinstance(value, dict) and not text[end:].strip(" \t`.") else None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


_decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)
