"""Owns what the generic forge keeps in a remote, as documents (spec page 6, "Generic forge"). Pure.

`refs/touchline/changes/<number>` is a commit with `change.json` and `comments/<number>.json`; each change of the
record is a commit on top of the one before. `refs/touchline/ci/<sha>/<anything>` is a result of CI: a commit with
`check.json`, or the JSON itself as a blob, which any job can write with two git commands.
`refs/touchline/policy/branch/<target>` says what CI must show for that target, `refs/touchline/policy/default` for
every other: a commit with `policy.json`, or the blob. Fields that a newer version wrote are kept.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from touchline.api import ChangeState, ForgeError

CHANGES = "refs/touchline/changes/"
CI = "refs/touchline/ci/"
POLICY = "refs/touchline/policy/"

CHANGE_FILE = "change.json"
CHECK_FILE = "check.json"
POLICY_FILE = "policy.json"
COMMENTS = "comments/"
MAX_CHECK_BYTES = 1024 * 1024

_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_COMMENT = re.compile(r"comments/([0-9]{4,9})\.json", re.ASCII)
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_STATES: tuple[ChangeState, ...] = ("draft", "ready", "queued", "merged", "closed")


class Record(BaseModel):
    """A frozen document with camelCase keys; unknown fields survive a read-modify-write."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="allow", frozen=True, strict=True, allow_inf_nan=False
    )

    def to_bytes(self) -> bytes:
        """UTF-8 JSON with a final newline. Raises ForgeError for text that is no Unicode (a lone surrogate)."""
        try:
            return (self.model_dump_json(by_alias=True, indent=2) + "\n").encode()
        except ValueError as error:  # pydantic's own serialisation error is one too
            raise ForgeError(
                "the text holds characters that are no valid Unicode", fix="Take them out of title and text."
            ) from error


class ChangeRecord(Record):
    """A change request. `head_repository` is "" where the source branch is in the same repository."""

    schema_version: Literal[1] = 1
    state: str
    title: str
    body: str
    source: str
    target: str
    head_sha: str
    head_repository: str = ""
    author: str = ""
    created_at: AwareDatetime
    updated_at: AwareDatetime
    merge_queue: str = ""

    @property
    def known_state(self) -> ChangeState:
        """The recorded state; a word that we do not know is unknown."""
        return next((state for state in _STATES if state == self.state), "unknown")


class CommentRecord(Record):
    """One comment; `key` is what a repeated attempt is recognised by."""

    schema_version: Literal[1] = 1
    body: str
    key: str = ""
    author: str = ""
    created_at: AwareDatetime
    head_sha: str = ""


class CheckRecord(Record):
    """One result of CI; `conclusion` only once `status` is completed."""

    schema_version: Literal[1] = 1
    name: str = Field(min_length=1)
    app: str | None = None
    status: str
    conclusion: str | None = None
    started_at: AwareDatetime | None = None
    completed_at: AwareDatetime | None = None
    run_attempt: int | None = Field(default=None, ge=1)
    url: str = ""


Parsed = TypeVar("Parsed", bound=BaseModel)


def parse_record(document: type[Parsed], content: bytes, where: str) -> Parsed:
    """The document in `content`. Raises ForgeError naming `where` when it is none; its text is not repeated."""
    try:
        return document.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the document"
        raise ForgeError(
            f"the record {where} cannot be read: {place}: {first['msg']}",
            fix="It was written by hand or by a newer touchline; repair it or use that version.",
        ) from error


def change_number(ref: str) -> int:
    """The number of a change's ref, 0 for a ref that is none."""
    name = ref.removeprefix(CHANGES)
    return int(name) if ref.startswith(CHANGES) and _NUMBER.fullmatch(name) else 0


def comment_number(path: str) -> int:
    """The number of a comment's file, 0 for a file that is none."""
    matched = _COMMENT.fullmatch(path)
    return int(matched[1]) if matched else 0


def comment_path(number: int) -> str:
    """The file of a comment."""
    return f"{COMMENTS}{number:04d}.json"


def check_ref(sha: str, name: str, app: str | None) -> str:
    """The ref of a check: the same for the same name and app, whatever characters they have."""
    digest = hashlib.sha256(f"{app or ''}\0{name}".encode()).hexdigest()[:12]
    words = _NOT_SLUG.sub("-", name.lower()).strip("-")[:40].strip("-")
    return f"{CI}{sha}/{words or 'check'}-{digest}"


def policy_refs(target: str) -> tuple[str, str]:
    """Where the policy of a target branch is looked for, the first that is there counting."""
    return f"{POLICY}branch/{target}", f"{POLICY}default"
