"""The generic forge (spec page 6): git alone, or configured commands, for a host without an API of ours.

Without commands the remote itself keeps change requests and CI results below `refs/touchline/`. With commands the
host keeps them, and each operation on a change is the command of that name; one that has no command is a missing
capability. Branches are pushed and fetched by git, and CI results are read from refs, either way. Never declared: the
state of people's reviews, which no ref can tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from touchline.api import (
    API_VERSION,
    ByNumber,
    Change,
    Check,
    CiEvidence,
    Comment,
    ConfigError,
    Draft,
    ForgeCapability,
    ForgeConflict,
    ForgeError,
    ForgeForbiddenError,
    ForgeHost,
    ForgeNotFoundError,
    ForgeSettings,
    ForgeUnavailable,
    Observed,
    Pushed,
    RepositoryId,
    ReviewRequest,
    Selector,
    require_capabilities,
)
from touchline_forges.command_changes import CommandChanges
from touchline_forges.command_flow import CommandedChanges
from touchline_forges.git_objects import GitObjects
from touchline_forges.git_remote import GitRemotes, Swap
from touchline_forges.git_words import Refusal
from touchline_forges.record_changes import RecordedChanges
from touchline_forges.record_checks import RecordedChecks, with_change

NAME = "generic"

_BY_GIT = frozenset(
    {
        ForgeCapability.DEFAULT_TARGET,
        ForgeCapability.FETCH,
        ForgeCapability.PUSH,
        ForgeCapability.READ_CI,
        ForgeCapability.REPORT_CHECK,
        ForgeCapability.FORKS,
    }
)
_BY_RECORD = frozenset(
    {
        ForgeCapability.INSPECT,
        ForgeCapability.CREATE_DRAFT,
        ForgeCapability.UPDATE,
        ForgeCapability.MARK_READY,
        ForgeCapability.COMMENT,
    }
)
_BY_COMMAND = _BY_RECORD | {ForgeCapability.REQUEST_REVIEW, ForgeCapability.READ_CI}
_WRITES = frozenset(
    {
        ForgeCapability.PUSH,
        ForgeCapability.CREATE_DRAFT,
        ForgeCapability.UPDATE,
        ForgeCapability.MARK_READY,
        ForgeCapability.COMMENT,
        ForgeCapability.REPORT_CHECK,
    }
)
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class GenericForge:
    """Driver `generic`."""

    name: ClassVar[str] = NAME
    api_version: ClassVar[int] = API_VERSION
    capabilities: frozenset[ForgeCapability] = _BY_GIT | _BY_COMMAND

    def __init__(self, settings: ForgeSettings, host: ForgeHost) -> None:
        commands = _known_commands(settings)
        self._remotes = GitRemotes(NAME, settings, host)
        self._objects = GitObjects(host, timeout_s=settings.read_timeout_s)
        self._checks = RecordedChecks(self._remotes, self._objects, host)
        self._commands = CommandChanges(settings, commands, host)
        self._commanded = frozenset(ForgeCapability(name) for name in commands)
        self._changes: RecordedChanges | CommandedChanges
        if commands:
            self._changes = CommandedChanges(self._commands, self._remotes)
            # Without `inspect` no mutation could be seen to have succeeded.
            usable = self._commanded if ForgeCapability.INSPECT in self._commanded else self._commanded - _BY_RECORD
            self.capabilities = _BY_GIT | usable
        else:
            self._changes = RecordedChanges(self._remotes, self._objects, host)
            self.capabilities = _BY_GIT | _BY_RECORD

    def identify(self, remote_url: str) -> RepositoryId | None:
        """The repository that a remote URL names; contacts nobody."""
        return self._remotes.identify(remote_url)

    def preflight(
        self, needed: Collection[ForgeCapability], *, repo: RepositoryId, head: RepositoryId | None = None
    ) -> None:
        """Raise unless everything needed can be done; changes nothing."""
        with _operation("preflight"):
            require_capabilities(NAME, self.capabilities, needed)
            writes = bool(_WRITES & set(needed))
            source = head or repo
            records = writes and not self._commanded
            self._remotes.bind(repo, writing=writes and (records or source == repo))
            self._remotes.refs(repo, "refs/heads/*")
            if source != repo:
                self._remotes.bind(source, writing=writes)
            for target in dict.fromkeys([source, *([repo] if records else [])] if writes else []):
                self._remotes.try_writing(target)

    def base_repository(self, repo: RepositoryId) -> RepositoryId:
        """`repo` itself: git knows no forks."""
        return repo

    def default_target(self, repo: RepositoryId) -> str:
        """The branch that HEAD of the remote names."""
        with _operation("default-target"):
            refs = self._remotes.refs(repo)
            branch = refs.head.removeprefix("refs/heads/")
            if not branch or branch == refs.head:
                raise ForgeNotFoundError(
                    f"{repo} names no default branch", fix="Name the target with --target, or set HEAD at the host."
                )
            return branch

    def inspect(self, selector: Selector) -> Change:
        """The change as it is now."""
        with _operation("inspect"):
            self._need(ForgeCapability.INSPECT)
            return self._changes.inspect(selector)

    def fetch_head(self, change: Change) -> str:
        """Bring the head commit here; its SHA, proved to be the inspected one."""
        with _operation("fetch-head", change):
            if change.head is None or not change.source_exists:
                raise ForgeNotFoundError(
                    f"the branch {change.source} of {change.url} is gone from the host", fix="Push it again."
                )
            tip = self._remotes.refs(change.head, f"refs/heads/{change.source}").branch(change.source)
            if tip != change.head_sha:
                raise ForgeConflict(
                    f"the branch {change.source} is at {tip or 'nothing'}, not at the inspected {change.head_sha}",
                    fix="Inspect the change again.",
                )
            self._remotes.bring(change.head, [tip])
            return tip

    def fetch_branch(self, repo: RepositoryId, branch: str) -> str:
        """Bring the tip of a branch here; its SHA. Moves no local ref."""
        with _operation("fetch-branch"):
            tip = self._remotes.refs(repo, f"refs/heads/{branch}").branch(branch)
            if not tip:
                raise ForgeNotFoundError(f"{repo} has no branch {branch}", fix="Name a branch that exists.")
            self._remotes.bring(repo, [tip])
            return tip

    def push(self, repo: RepositoryId, sha: str, branch: str, *, expected: str | None = None) -> Pushed:
        """Move a branch at the host to `sha`, never by force."""
        with _operation("push"):
            if not _SHA.fullmatch(sha):
                raise ForgeError(f"{sha!r} is no full commit id", fix="Push an exact commit.")
            before = self._tip(repo, branch)
            if before == sha:
                return Pushed(branch, sha, moved=False)
            if expected is not None and before != expected:
                raise _foreign(repo, branch, before, f"not at {expected or 'nothing'} as it was left")
            if before and self._objects.contains(sha, before) is not True:
                raise _foreign(repo, branch, before, "with commits that this push does not have")
            ref = f"refs/heads/{branch}"
            pushed = self._remotes.swap(repo, Swap(ref, before, sha))
            after = self._remotes.refs_after(repo, pushed, ref).branch(branch)
            if after == sha:
                return Pushed(branch, sha, moved=True)
            if pushed.refusal is Refusal.UNTOLD and after == before:
                raise ForgeUnavailable(
                    f"{pushed.words}; {branch} was not moved", fix="Start again.", observed=Observed(head_sha=after)
                )
            if pushed.refusal is Refusal.DECLINED:
                raise ForgeForbiddenError(
                    f"{repo} does not take the push to {branch}: {pushed.words}",
                    fix="Look at the host's rules for that branch.",
                    observed=Observed(head_sha=after),
                )
            if after == before:
                raise ForgeUnavailable(
                    f"{repo} did not move {branch}: {pushed.words}",
                    fix="Start again.",
                    observed=Observed(head_sha=after),
                )
            raise _foreign(repo, branch, after, f"not at {before or 'nothing'} any more")

    def create_draft(self, draft: Draft) -> Change:
        """Open a draft, or find the one that is open already."""
        with _operation("create-draft"):
            self._need(ForgeCapability.CREATE_DRAFT)
            return self._changes.create_draft(draft)

    def update(self, change: Change, *, body: str, title: str | None = None) -> Change:
        """Replace the text, and the title when told."""
        with _operation("update", change):
            self._need(ForgeCapability.UPDATE)
            return self._changes.update(change, body=body, title=title)

    def mark_ready(self, change: Change, *, head_sha: str) -> Change:
        """Take it out of draft at exactly that head."""
        with _operation("mark-ready", change):
            self._need(ForgeCapability.MARK_READY)
            return self._changes.mark_ready(change, head_sha=head_sha)

    def comment(self, change: Change, body: str, *, key: str) -> Comment:
        """Add a comment, once for each key."""
        with _operation("comment", change):
            self._need(ForgeCapability.COMMENT)
            return self._changes.comment(change, body, key=key)

    def request_review(self, change: Change, reviewers: Sequence[str]) -> ReviewRequest:
        """Ask people by the configured command; a record in a ref would reach nobody."""
        if ForgeCapability.REQUEST_REVIEW not in self._commanded:
            return ReviewRequest((), dict.fromkeys(reviewers, "no command for request-review is configured"))
        try:
            return self._commands.request_review(change, reviewers)
        except ForgeError as error:
            return ReviewRequest((), dict.fromkeys(reviewers, error.what))

    def read_ci(self, repo: RepositoryId, sha: str, change: Change | None) -> CiEvidence:
        """What is known about CI for exactly `sha`; the change is looked at again after the results."""
        with _operation("read-ci", change):
            if ForgeCapability.READ_CI in self._commanded:
                return self._commands.read_ci(repo, sha, change)
            evidence = self._checks.read(repo, sha, change.target if change else "")
            if change is None:
                return evidence
            self._need(ForgeCapability.INSPECT)
            now = self._changes.inspect(ByNumber(change.base, change.number))
            if now.target != change.target:
                evidence = self._checks.read(repo, sha, now.target)
            return with_change(evidence, now, self._checks.target_tip(repo, now.target))

    def report_check(self, repo: RepositoryId, sha: str, check: Check) -> None:
        """Leave a CI result for `sha` at the host."""
        with _operation("report-check"):
            if not _SHA.fullmatch(sha):
                raise ForgeError(f"{sha!r} is no full commit id", fix="Report for an exact commit.")
            self._checks.report(repo, sha, check)

    def _tip(self, repo: RepositoryId, branch: str) -> str:
        return self._remotes.refs(repo, f"refs/heads/{branch}").branch(branch)

    def _need(self, capability: ForgeCapability) -> None:
        require_capabilities(NAME, self.capabilities, [capability])


def _known_commands(settings: ForgeSettings) -> Mapping[str, tuple[str, ...]]:
    known = {capability.value for capability in _BY_COMMAND}
    commands = {name.replace("_", "-"): command for name, command in settings.commands.items()}
    unknown = sorted(set(commands) - known)
    if unknown:
        raise ConfigError(
            f"the generic forge has no operation {', '.join(unknown)}",
            fix=f"Under `commands`, name some of: {', '.join(sorted(known))}.",
        )
    return commands


def _foreign(repo: RepositoryId, branch: str, tip: str, how: str) -> ForgeConflict:
    return ForgeConflict(
        f"the branch {branch} of {repo} is at {tip or 'nothing'}, {how}; nothing was pushed",
        fix="Someone else changed it: fetch and look at it. It is never overwritten.",
        observed=Observed(head_sha=tip),
    )


@contextmanager
def _operation(name: str, known: Change | None = None) -> Iterator[None]:
    """Put the operation, the provider and the last facts on every error that passes."""
    try:
        yield
    except ForgeError as error:
        error.operation = name if error.operation in ("", "preflight") else error.operation
        error.provider = error.provider or NAME
        if error.observed == Observed() and known is not None:
            error.observed = known.observed()
        raise
