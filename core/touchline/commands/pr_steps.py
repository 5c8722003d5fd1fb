"""What each `touchline pr` command does at the host (spec page 6), over the forge that the repository's remote gets.

Everything is tried before the first mutation. Texts and commits are scanned as those of a published run are: a
secret in a text is replaced, one in the commits that a push would publish stops it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from touchline.coach.publish.binding import LIFE_CYCLE, Binding, bind
from touchline.coach.publish.takeup import own_tip_at_host, require_kept_transport
from touchline.coach.start import find_place, read_settings
from touchline.commands.pr_block import Done, reviewer_line
from touchline.errors import ForgeConflict, ForgeError, ForgeNotFoundError, GitError, UsageError
from touchline.forge import (
    ByBranch,
    ByNumber,
    ByUrl,
    Change,
    Draft,
    ForgeCapability,
    LocalForgeHost,
    Selector,
    remote_secrets,
)
from touchline.git.call import redact
from touchline.git.diff import merge_base
from touchline.git.refnames import is_branch_name
from touchline.git.repository import Repository
from touchline.ledger.store import LedgerStore
from touchline.process.cancel import Cancellation
from touchline.secrets.changes import scan_change, scan_commits
from touchline.secrets.redact import Redactor
from touchline.secrets.scan import Scanner
from touchline.secrets.trusted import read_allowances, read_gitleaks_config
from touchline.turn.masking import Masker

REASONS_NAMED = 5
_NUMBER = re.compile(r"#?[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Desk:
    """One repository and the forge of its remote, ready for an operation."""

    repo: Repository
    binding: Binding
    patterns: Mapping[str, str]
    """The configured kinds of secrets."""

    @property
    def branch(self) -> str:
        """The present branch. Raises UsageError on a detached HEAD."""
        head = self.repo.head()
        if head.detached or not head.branch:
            raise UsageError(
                "HEAD is on no branch, so no change request can be meant",
                fix="Give its URL or number, or switch to the branch.",
            )
        return head.branch

    @property
    def commit(self) -> str:
        """The full id of HEAD. Raises UsageError where there is no commit yet."""
        if not (sha := self.repo.head().commit):
            raise UsageError("HEAD has no commit", fix="Make a first commit, or switch to a branch that has one.")
        return sha


def open_desk(
    path: Path,
    *,
    config_file: Path | None,
    forge: str | None,
    environ: Mapping[str, str],
    cancel: Cancellation,
    say: Callable[[str], None],
) -> Desk:
    """The repository at `path` bound to its forge. Raises the error family; changes nothing.

    On the branch of a run its work is not trusted: what counts is the configuration from the start of that run, and
    git settings that were changed while it went on are refused.
    """
    place = find_place(path, environ, published=True)
    require_kept_transport(place.repo, place.folder.path.parent.parent)
    store = LedgerStore(place.folder.path)
    loaded = read_settings(
        place,
        config_file=config_file,
        environ=environ,
        unfinished=store.read() if store.exists() else None,
        base=place.repo.head().commit or None,
    )
    host = LocalForgeHost(place.repo, environ=environ, cancel=cancel, say=say)
    binding = bind(host, loaded.settings, named=forge, environ=environ, preflight=False)
    return Desk(place.repo, binding, loaded.settings.secrets.patterns)


def masked(path: Path, text: str) -> str:
    """`text` without the credentials of the repository's remotes: a host may repeat what it was sent."""
    try:
        known = remote_secrets(Repository.open(path))
    except GitError:
        known = ()  # what is told may be just that the repository cannot be opened
    return redact(Masker(known).mask(text))


def selector_of(desk: Desk, reference: str | None) -> Selector:
    """The change that `reference` means: a number, a URL, a branch; without one, that of the present branch."""
    binding = desk.binding
    if reference is not None and _NUMBER.fullmatch(reference):
        return ByNumber(binding.base, int(reference.removeprefix("#")))
    # No branch name can hold a colon or begin with a slash.
    if reference is not None and (":" in reference or reference.startswith("/")):
        return ByUrl(reference)
    branch = desk.branch if reference is None else reference
    if not is_branch_name(desk.repo, branch):
        raise UsageError(f"{branch!r} names no change request", fix="Give a URL, a number, or the name of a branch.")
    return ByBranch(binding.base, branch, binding.head if binding.head != binding.base else None)


def inspect(desk: Desk, reference: str | None) -> Done:
    """The change as it is now."""
    return Done("inspect", _inspected(desk, reference, {ForgeCapability.INSPECT}))


def push(desk: Desk) -> Done:
    """Bring HEAD to the branch of the same name at the host: never forced, never onto the target, never a secret."""
    _require_work(desk)
    _try(desk, {ForgeCapability.PUSH, ForgeCapability.FETCH, ForgeCapability.INSPECT})
    pushed = _pushed(desk, desk.branch, desk.binding.forge.default_target(desk.binding.base))
    try:
        change = desk.binding.forge.inspect(selector_of(desk, None))
    except ForgeNotFoundError:
        change = None
    return Done("push", change, head_sha=pushed)


def draft(desk: Desk, *, title: str, body: str, target: str | None, reviewers: Collection[str]) -> Done:
    """Push the present branch and open its draft; one that is open already is found, its texts untouched."""
    binding, branch = desk.binding, desk.branch
    if target is not None and not is_branch_name(desk.repo, target):
        raise UsageError(f"--target: {target!r} cannot name a branch", fix="Give the name of a branch.")
    _require_work(desk)
    _try(desk, LIFE_CYCLE)
    goes_to = target or binding.forge.default_target(binding.base)
    title, body = _clean(desk, "title", title), _clean(desk, "body", body)
    sha = _pushed(desk, branch, goes_to, with_work=True)
    change = binding.forge.create_draft(
        Draft(
            base=binding.base,
            source=branch,
            target=goes_to,
            title=title,
            body=body,
            head_sha=sha,
            head=binding.head if binding.head != binding.base else None,
        )
    )
    return _with_review("draft", desk, change, reviewers)


def ready(desk: Desk, reference: str | None, *, head: str | None, reviewers: Collection[str]) -> Done:
    """Take a change out of draft at exactly the head that was given, or that HEAD is at."""
    wanted = head or desk.commit
    change = _inspected(desk, reference, {ForgeCapability.INSPECT, ForgeCapability.MARK_READY})
    change = desk.binding.forge.mark_ready(change, head_sha=wanted)
    return _with_review("ready", desk, change, reviewers)


def comment(desk: Desk, reference: str | None, *, body: str, key: str | None) -> Done:
    """Add a comment; the same text (or key) again finds the first one."""
    change = _inspected(desk, reference, {ForgeCapability.INSPECT, ForgeCapability.COMMENT})
    text = _clean(desk, "comment", body)
    left = desk.binding.forge.comment(change, text, key=hashlib.sha256((key or text).encode()).hexdigest()[:32])
    try:
        change = desk.binding.forge.inspect(ByUrl(change.url))
    except ForgeError as error:
        # The comment stands all the same.
        error.observed = replace(change.observed(), comment_id=left.id)
        raise
    return Done("comment", change, comment_id=left.id)


def update(desk: Desk, reference: str | None, *, body: str | None, title: str | None) -> Done:
    """Replace the text, or the title, or both; nothing else of the change."""
    change = _inspected(desk, reference, {ForgeCapability.INSPECT, ForgeCapability.UPDATE})
    changed = desk.binding.forge.update(
        change,
        body=change.body if body is None else _clean(desk, "body", body),
        title=None if title is None else _clean(desk, "title", title),
    )
    return Done("update", changed)


def _require_work(desk: Desk) -> None:
    """Raise UsageError, before anybody is asked, where HEAD has no branch or no commit."""
    _ = desk.branch, desk.commit


def _try(desk: Desk, needed: Collection[ForgeCapability]) -> None:
    desk.binding.forge.preflight(needed, repo=desk.binding.base, head=desk.binding.head)


def _inspected(desk: Desk, reference: str | None, needed: Collection[ForgeCapability]) -> Change:
    selector = selector_of(desk, reference)
    _try(desk, needed)
    return desk.binding.forge.inspect(selector)


def _pushed(desk: Desk, branch: str, target: str, *, with_work: bool = False) -> str:
    """HEAD at the host's branch, as observed after the push; `with_work` wants a commit that the target lacks."""
    repo, binding = desk.repo, desk.binding
    if binding.head == binding.base and branch in (target, binding.forge.default_target(binding.base)):
        raise UsageError(
            f"{branch} is where changes go, not where one comes from",
            fix="Make a branch of your own: git switch -c NAME.",
        )
    sha = desk.commit
    tip = own_tip_at_host(binding, repo, branch)
    base = merge_base(repo, binding.forge.fetch_branch(binding.base, target), sha)
    if with_work and base == sha:
        raise ForgeConflict(
            f"{target} has every commit of {branch}: there is nothing to open a draft for",
            fix="Commit the work first.",
            operation="draft",
            provider=binding.provider,
        )
    _refuse_secrets(desk, base, sha)
    return binding.forge.push(binding.head, sha, branch, expected=tip).sha


def _refuse_secrets(desk: Desk, base: str | None, sha: str) -> None:
    if not base:
        raise ForgeConflict(
            "the branch has no commit in common with its target",
            fix="Start the branch from the target.",
            operation="push",
            provider=desk.binding.provider,
        )
    scanner = _scanner(desk, base)
    if Redactor(scanner).branch(desk.repo, desk.branch).kinds:
        raise ForgeConflict(
            "the name of the branch holds a suspected secret",
            fix="Rename it: git branch -m NAME.",
            operation="push",
            provider=desk.binding.provider,
        )
    scans = (scan_change(scanner, desk.repo, base, sha), scan_commits(scanner, desk.repo, sha, since=[base]))
    if any(scan.stops for scan in scans):
        reasons = [reason for scan in scans for reason in scan.reasons()]
        raise ForgeConflict(
            f"suspected secrets: {'; '.join(reasons[:REASONS_NAMED])}",
            fix="Take them out of every commit of the branch; what is none goes into the target's .secrets.baseline.",
            operation="push",
            provider=desk.binding.provider,
        )


def _scanner(desk: Desk, base: str) -> Scanner:
    """A scanner with what the commit `base` allows; "" allows nothing."""
    return Scanner(
        os.urandom(32),
        read_allowances(desk.repo, base, patterns=desk.patterns),
        work_tree=desk.repo.work_tree,
        gitleaks_config=read_gitleaks_config(desk.repo, base),
    )


def _clean(desk: Desk, name: str, text: str) -> str:
    """A text as it may leave this machine."""
    return Redactor(_scanner(desk, "")).text(name, Masker(remote_secrets(desk.repo)).mask(text)).text


def _with_review(operation: str, desk: Desk, change: Change, reviewers: Collection[str]) -> Done:
    """Ask for reviews, best effort: what comes of it does not undo what was done."""
    if not reviewers:
        return Done(operation, change)
    if ForgeCapability.REQUEST_REVIEW not in desk.binding.forge.capabilities:
        return Done(operation, change, reviewer=f"not-requested ({desk.binding.provider} cannot ask for reviews)")
    try:
        asked = reviewer_line(desk.binding.forge.request_review(change, tuple(reviewers)))
    except ForgeError as error:
        asked = f"failed ({error.what})"
    return Done(operation, change, reviewer=asked)
