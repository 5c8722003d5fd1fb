"""What every document on disk shares: camelCase keys, frozen values, unknown fields kept."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticSerializationError


class Document(BaseModel):
    """A frozen document; keys are camelCase on disk and snake_case in code.

    Fields that a newer version wrote are kept through a read-modify-write (spec page 3). Change a value with
    `model_copy(update={...})`.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="allow",
        frozen=True,
        strict=True,
        ser_json_inf_nan="null",
        allow_inf_nan=False,
    )

    def to_bytes(self) -> bytes:
        """The document as UTF-8 JSON with a final newline; same value, same bytes.

        A lone surrogate, which a model's answer or an undecodable file name can hold, becomes U+FFFD.
        """
        try:
            text = self.model_dump_json(by_alias=True, indent=2)
        except PydanticSerializationError:
            text = json.dumps(_encodable(self.model_dump(mode="json", by_alias=True)), ensure_ascii=False, indent=2)
        return (text + "\n").encode()


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value


FindingClass = Literal[
    "correctness",
    "security",
    "coverage",
    "comment",
    "ux",
    "visual",
    "test-failure",
    "environment",
    "style",
    "plan-completeness",
]
"""The kinds of finding (spec page 3)."""

Disposition = Literal["open", "fixed", "accepted-below-threshold", "deferred-out-of-scope", "quarantined"]
"""What became of a finding (spec page 3)."""

Depth = Literal["light", "deep"]
"""How broad a verification is: one judge, or every configured one (spec page 5)."""


class Location(Document):
    """Where a finding is: a path relative to the work tree, `/`-separated, and 1-based lines."""

    path: str
    line: int | None = None
    end_line: int | None = None


class Usage(Document):
    """Tokens of one turn, normalised per turn whatever the executor reports; `cost` in US dollars."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float | None = None
