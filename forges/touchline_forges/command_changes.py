"""Change requests by configured commands (spec page 6, "Generic forge"): JSON in, JSON out, one for each operation.

A command gets one JSON object on standard input: `operation`, `repository` {host, path}, and the operation's own
fields. It prints one JSON object: a change (`ChangeAnswer`) for every operation but `comment` ({"id": ...}),
`request-review` ({"requested": [...], "refused": {...}}) and `read-ci` (the evidence document). A failure is a
non-zero status, best with {"error": {"kind": ..., "reason": ...}}. A `comment` must find the one of the same `key`
instead of making another. After every mutation `inspect` is called: what it tells counts, not what was answered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from touchline.api import (
    ByNumber,
    ByUrl,
    Change,
    ChangeState,
    CiEvidence,
    Comment,
    Completed,
    Draft,
    ForgeAmbiguousError,
    ForgeAuthError,
    ForgeBusy,
    ForgeConflict,
    ForgeError,
    ForgeForbiddenError,
    ForgeHost,
    ForgeNotFoundError,
    ForgeSettings,
    ForgeUnavailable,
    Mergeable,
    ProcessError,
    RepositoryId,
    Review,
    ReviewRequest,
    Selector,
)
from touchline_forges.git_words import own_words, shown
from touchline_forges.texts import check_text

_ERRORS: Mapping[str, type[ForgeError]] = {
    "auth": ForgeAuthError,
    "forbidden": ForgeForbiddenError,
    "not-found": ForgeNotFoundError,
    "ambiguous": ForgeAmbiguousError,
    "conflict": ForgeConflict,
    "busy": ForgeBusy,
    "unavailable": ForgeUnavailable,
}


class Answer(BaseModel):
    """What a command prints; fields that we do not know are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, strict=True, allow_inf_nan=False
    )


class RepositoryAnswer(Answer):
    """A repository."""

    host: str
    path: str


class MergeableAnswer(Answer):
    """Whether it could be merged."""

    answer: Literal["yes", "no", "unknown"]
    reason: str = ""


class ReviewAnswer(Answer):
    """What reviews are wanted."""

    state: Literal["satisfied", "pending", "not-required", "unknown"]
    reason: str = ""


class ChangeAnswer(Answer):
    """A change as a command tells it; `head` null is the same repository."""

    url: str
    number: int = Field(ge=1)
    source: str
    target: str
    state: ChangeState
    title: str
    body: str
    head_sha: str = Field(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$")
    head: RepositoryAnswer | None = None
    base: RepositoryAnswer | None = None
    mergeable: MergeableAnswer = MergeableAnswer(answer="unknown", reason="the command does not tell")
    review: ReviewAnswer = ReviewAnswer(state="unknown", reason="the command does not tell")
    source_exists: bool = True
    author: str = ""
    merge_queue: str = ""


class CommentAnswer(Answer):
    """The comment that stands at the host."""

    id: str = Field(min_length=1)
    created: bool = True
    url: str = ""


class ReviewRequestAnswer(Answer):
    """Who was asked, and who was not with the reason."""

    requested: list[str] = Field(default_factory=list)
    refused: dict[str, str] = Field(default_factory=dict)


class ErrorAnswer(Answer):
    """Why a command failed."""

    kind: str = "failed"
    reason: str = ""
    retry_after_s: float | None = Field(default=None, ge=0)


class Failed(Answer):
    """The whole answer of a command that failed."""

    error: ErrorAnswer


Parsed = TypeVar("Parsed", bound=BaseModel)


class CommandChanges:
    """The change requests of a host that is spoken to by configured commands."""

    def __init__(self, settings: ForgeSettings, commands: Mapping[str, tuple[str, ...]], host: ForgeHost) -> None:
        self._settings = settings
        self._commands = commands
        self._host = host

    def inspect(self, selector: Selector) -> Change:
        """The change that the command `inspect` tells; for an address alone it is asked without a repository."""
        asked: dict[str, Any]
        repo = None if isinstance(selector, ByUrl) else selector.repo
        if isinstance(selector, ByUrl):
            asked = {"url": selector.url}
        elif isinstance(selector, ByNumber):
            asked = {"number": selector.number}
        else:
            asked = {"branch": selector.branch, "head": _repository(selector.head or selector.repo)}
        answer = self._ask("inspect", repo, {"selector": asked}, ChangeAnswer, writes=False)
        change = _change(answer, repo)
        asked_number = selector.number if isinstance(selector, ByNumber) else change.number
        if change.number != asked_number:
            raise ForgeError(
                f"the command for inspect told of change {change.number}, not of {asked_number}",
                fix="Repair the command: it must answer for the `selector` that it was given.",
            )
        return change

    def create_draft(self, draft: Draft) -> None:
        """Have a draft opened; what became of it is to be inspected."""
        check_text(draft.title, draft.body)
        self._tell(
            "create-draft",
            draft.base,
            {
                "head": _repository(draft.head or draft.base),
                "source": draft.source,
                "target": draft.target,
                "title": draft.title,
                "body": draft.body,
                "headSha": draft.head_sha,
            },
        )

    def update(self, change: Change, *, body: str, title: str | None) -> None:
        """Have the text replaced, and the title when told."""
        check_text(change.title if title is None else title, body)
        told = {"number": change.number, "headSha": change.head_sha, "body": body}
        self._tell("update", change.base, told if title is None else {**told, "title": title})

    def mark_ready(self, change: Change, *, head_sha: str) -> None:
        """Have it taken out of draft."""
        self._tell("mark-ready", change.base, {"number": change.number, "headSha": head_sha})

    def comment(self, change: Change, body: str, *, key: str) -> Comment:
        """Have a comment added, once for each key."""
        check_text("comment", body)
        told = {"number": change.number, "headSha": change.head_sha, "body": body, "key": key}
        answer = self._ask("comment", change.base, told, CommentAnswer, writes=True)
        return Comment(answer.id, body, created=answer.created, url=answer.url)

    def request_review(self, change: Change, reviewers: Sequence[str]) -> ReviewRequest:
        """Have people asked for a review."""
        told = {"number": change.number, "reviewers": list(reviewers)}
        answer = self._ask("request-review", change.base, told, ReviewRequestAnswer, writes=True)
        requested = tuple(name for name in reviewers if name in answer.requested)
        untold = {name: "the command does not tell" for name in reviewers if name not in requested}
        return ReviewRequest(requested, untold | {name: why for name, why in answer.refused.items() if name in untold})

    def read_ci(self, repo: RepositoryId, sha: str, change: Change | None) -> CiEvidence:
        """The evidence that the command `read-ci` tells."""
        told = {"headSha": sha, "number": change.number if change else None}
        evidence = self._ask("read-ci", repo, told, CiEvidence, writes=False)
        if evidence.requested_head != sha:
            raise ForgeError(
                f"the command for read-ci told of {evidence.requested_head}, not of {sha}",
                fix="Repair the command: `requestedHead` must be the `headSha` that it was given.",
            )
        return evidence

    def _tell(self, operation: str, repo: RepositoryId, told: Mapping[str, Any]) -> None:
        self._ask(operation, repo, told, Answer, writes=True)

    def _ask(
        self, operation: str, repo: RepositoryId | None, told: Mapping[str, Any], wanted: type[Parsed], *, writes: bool
    ) -> Parsed:
        asked = {"operation": operation, "repository": _repository(repo) if repo else None, **told}
        name, token = self._settings.token_env, self._settings.token
        try:
            done = self._host.run(
                self._commands[operation],
                stdin=(json.dumps(asked, ensure_ascii=False) + "\n").encode(),
                timeout_s=self._settings.write_timeout_s if writes else self._settings.read_timeout_s,
                env={name: token.reveal()} if name and token else None,
            )
        except ProcessError as error:
            raise ForgeError(f"the command for {operation} cannot be run: {error.what}", fix=error.fix) from error
        if done.returncode != 0 or done.ending != "exited":
            raise self._failure(operation, done)
        try:
            return wanted.model_validate_json(done.stdout)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the answer"
            raise ForgeError(
                f"the command for {operation} gave no usable answer: {place}: {first['msg']}",
                fix=f"Let it print one JSON object; run it by hand: {' '.join(self._commands[operation])}",
            ) from error

    def _failure(self, operation: str, done: Completed) -> ForgeError:
        what = f"the command for {operation}"
        fix = f"Run it by hand: {' '.join(self._commands[operation])}"
        if done.ending != "exited":
            return ForgeUnavailable(f"{what} was stopped at its limit of time ({done.ending})", fix=fix)
        try:
            error = Failed.model_validate_json(done.stdout).error
        except ValidationError:
            words = self._hidden(own_words(done))
            return ForgeError(f"{what} ended with status {done.returncode}" + (f": {words}" if words else ""), fix=fix)
        said = f"{what} failed: {self._hidden(shown(error.reason)) or shown(error.kind)}"
        if error.kind == "busy":
            return ForgeBusy(said, fix="Wait, then start again.", retry_after_s=error.retry_after_s)
        return _ERRORS.get(error.kind, ForgeError)(said, fix=fix)

    def _hidden(self, text: str) -> str:
        token = self._settings.token.reveal()
        return text.replace(token, "***") if token else text


def _repository(repo: RepositoryId) -> dict[str, str]:
    return {"host": repo.host, "path": repo.path}


def _change(answer: ChangeAnswer, repo: RepositoryId | None) -> Change:
    base = RepositoryId(answer.base.host, answer.base.path) if answer.base else repo
    if base is None:
        raise ForgeError(
            "the command for inspect told no `base`, which it must for a change that is named by its address",
            fix="Let it print `base` as {host, path}, or name the change by its number.",
        )
    head = RepositoryId(answer.head.host, answer.head.path) if answer.head else base
    return Change(
        url=answer.url,
        number=answer.number,
        base=base,
        head=head,
        source=answer.source,
        target=answer.target,
        state=answer.state,
        title=answer.title,
        body=answer.body,
        head_sha=answer.head_sha,
        mergeable=Mergeable(answer.mergeable.answer, answer.mergeable.reason),
        review=Review(answer.review.state, answer.review.reason),
        source_exists=answer.source_exists,
        author=answer.author,
        merge_queue=answer.merge_queue,
    )
