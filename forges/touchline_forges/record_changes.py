"""Change requests kept in the remote itself (spec page 6, "Generic forge"): read, decided, swapped, read again.

Two clients see the same state because a record is moved only from where it was read; the one that comes second
reads anew and finds its guard broken, or its edit still possible. What git can tell is not believed from a record:
the head is the branch's tip, and a head that the target contains is merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from touchline.api import (
    ByBranch,
    ByNumber,
    ByUrl,
    Change,
    ChangeState,
    Comment,
    Draft,
    ForgeConflict,
    ForgeForbiddenError,
    ForgeHost,
    ForgeNotFoundError,
    ForgeUnavailable,
    Mergeable,
    Observed,
    RepositoryId,
    Review,
    Selector,
)
from touchline_forges.git_objects import GitObjects
from touchline_forges.git_remote import GitRemotes, Refs, Swap
from touchline_forges.git_words import Refusal
from touchline_forges.guards import (
    require_draft,
    require_head_at,
    require_open,
    require_ready,
    require_same_head,
    require_same_text,
    require_text,
    require_unmoved,
    the_only_one,
)
from touchline_forges.record_files import RecordFiles, StoredChange
from touchline_forges.records import CHANGES, ChangeRecord, CommentRecord, change_number
from touchline_forges.texts import change_url, check_text, parse_change_url

SWAP_ATTEMPTS = 6
_HEADS = "refs/heads/*"

Edit = Callable[[StoredChange, Change], StoredChange | None]
"""From a record and its change as observed to the record as wanted; None when nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The refs of the base repository at one moment."""

    repo: RepositoryId
    refs: Refs

    def numbers(self) -> dict[int, str]:
        """Number to record commit of every change."""
        return {number: sha for ref, sha in self.refs.at.items() if (number := change_number(ref))}


class RecordedChanges:
    """The change requests of repositories that keep them as records."""

    def __init__(self, remotes: GitRemotes, objects: GitObjects, host: ForgeHost) -> None:
        self._remotes = remotes
        self._objects = objects
        self._host = host
        self._files = RecordFiles(objects)

    def inspect(self, selector: Selector) -> Change:
        """The change as it is now."""
        if isinstance(selector, ByBranch):
            return self._open_change(selector)
        if isinstance(selector, ByUrl):
            repo, number = parse_change_url(selector.url, self._remotes.identify)
        else:
            repo, number = selector.repo, selector.number
        snapshot = self._snapshot(repo)
        return self._observe(snapshot, number, self._read(snapshot, number))

    def create_draft(self, draft: Draft) -> Change:
        """Open a draft, or find the one that is open already."""
        check_text(draft.title, draft.body)
        head = draft.head if draft.head not in (None, draft.base) else None
        for _ in range(SWAP_ATTEMPTS):
            snapshot = self._snapshot(draft.base)
            self._require_head(snapshot, draft, head)
            found = self._open_changes(snapshot, draft.source, head)
            if found:
                return require_draft(the_only_one(found, draft.source), draft)
            self._require_work(snapshot, draft)
            number = max(snapshot.numbers(), default=0) + 1
            now = self._host.now()
            record = ChangeRecord(
                state="draft",
                title=draft.title,
                body=draft.body,
                source=draft.source,
                target=draft.target,
                head_sha=draft.head_sha,
                head_repository=str(head) if head else "",
                author=self._objects.identity(),
                created_at=now,
                updated_at=now,
            )
            commit = self._files.write(StoredChange("", record), message=f"Open change {number}")
            if self._swapped(draft.base, Swap(f"{CHANGES}{number}", "", commit)):
                # Another open change of this branch can only have been made in between by something that is no
                # touchline; then the next inspection by branch is ambiguous and says so.
                return self.inspect(ByNumber(draft.base, number))
        raise self._given_up(f"opening a change for {draft.source}", None)

    def update(self, change: Change, *, body: str, title: str | None) -> Change:
        """Replace the text, and the title when told."""
        check_text(change.title if title is None else title, body)
        wanted_title = change.title if title is None else title

        def edit(stored: StoredChange, now: Change) -> StoredChange | None:
            if (now.title, now.body) == (wanted_title, body):
                return None
            require_same_head(change, now)
            require_open(now)
            require_same_text(change, now)
            return stored.edited(self._host.now(), now.head_sha, title=wanted_title, body=body)

        after = self._edit(change, edit, message="Change the text")
        require_text(after, title=wanted_title, body=body)
        return after

    def mark_ready(self, change: Change, *, head_sha: str) -> Change:
        """Take it out of draft at exactly that head."""

        def edit(stored: StoredChange, now: Change) -> StoredChange | None:
            require_head_at(now, head_sha)
            require_open(now)
            return stored.edited(self._host.now(), head_sha, state="ready") if now.state == "draft" else None

        after = self._edit(change, edit, message="Mark it ready")
        require_ready(after, head_sha)
        return after

    def comment(self, change: Change, body: str, *, key: str) -> Comment:
        """Add a comment, once for each key."""
        check_text("comment", body)
        made: list[tuple[int, bool]] = []

        def edit(stored: StoredChange, now: Change) -> StoredChange | None:
            require_same_head(change, now)
            made.clear()
            for number, blob in stored.comments.items():
                there = self._files.comment(blob, f"{now.url} comment {number}")
                if key and there.key == key:
                    if there.body != body:
                        raise ForgeConflict(
                            f"{now.url} has another comment with the key {key!r} already",
                            fix="Give each comment a key of its own.",
                            observed=now.observed(comment_id=str(number)),
                        )
                    made.append((number, False))
                    return None
            number = max(stored.comments, default=0) + 1
            made.append((number, True))
            comment = CommentRecord(
                body=body,
                key=key,
                author=self._objects.identity(),
                created_at=self._host.now(),
                head_sha=now.head_sha,
            )
            return stored.with_comment(number, self._objects.write(comment.to_bytes()), self._host.now())

        after = self._edit(change, edit, message="Add a comment")
        number, created = made[-1]
        require_unmoved(change, after, str(number))
        return Comment(str(number), body, created=created)

    def _edit(self, change: Change, edit: Edit, *, message: str) -> Change:
        """Edit the record until it was moved from exactly what was read; then the change as observed."""
        now: Change | None = None
        for _ in range(SWAP_ATTEMPTS):
            snapshot = self._snapshot(change.base)
            stored = self._read(snapshot, change.number)
            now = self._observe(snapshot, change.number, stored)
            wanted = edit(stored, now)
            if wanted is None:
                return now
            commit = self._files.write(wanted, message=message)
            if self._swapped(change.base, Swap(f"{CHANGES}{change.number}", stored.commit, commit)):
                return self.inspect(ByNumber(change.base, change.number))
        raise self._given_up(f"{message.lower()} of change {change.number}", now)

    def _swapped(self, repo: RepositoryId, swap: Swap) -> bool:
        """Whether the swap took place; False when another client was first."""
        pushed = self._remotes.swap(repo, swap)
        if pushed.refusal is None:
            return True
        if pushed.refusal is Refusal.DECLINED:
            raise ForgeForbiddenError(
                f"{repo} does not take {swap.ref}: {pushed.words}",
                fix=f"Let the host accept pushes to {CHANGES}* (it may hide or protect them), or configure commands.",
            )
        now = self._remotes.refs_after(repo, pushed, swap.ref).at.get(swap.ref, "")
        if now == swap.new:
            return True
        if now == swap.old and pushed.refusal is Refusal.UNTOLD:
            raise ForgeUnavailable(f"{pushed.words}; {swap.ref} was not changed", fix="Start again.")
        if now:
            self._remotes.bring(repo, [now])
            return self._objects.contains(now, swap.new) is True
        return False

    def _open_change(self, selector: ByBranch) -> Change:
        head = selector.head if selector.head not in (None, selector.repo) else None
        found = self._open_changes(self._snapshot(selector.repo), selector.branch, head)
        if not found:
            raise ForgeNotFoundError(
                f"{selector.repo} has no open change from {selector.branch}", fix="Name one by its URL or number."
            )
        return the_only_one(found, selector.branch)

    def _open_changes(self, snapshot: Snapshot, branch: str, head: RepositoryId | None) -> list[Change]:
        self._remotes.bring(snapshot.repo, snapshot.numbers().values())
        wanted = (branch, str(head) if head else "")
        found = []
        for number in sorted(snapshot.numbers()):
            stored = self._read(snapshot, number)
            if (stored.record.source, stored.record.head_repository) == wanted and stored.record.known_state not in (
                "merged",
                "closed",
            ):
                found.append(self._observe(snapshot, number, stored))
        return [change for change in found if change.state not in ("merged", "closed")]

    def _require_head(self, snapshot: Snapshot, draft: Draft, head: RepositoryId | None) -> None:
        tip = self._tip(snapshot, draft.source, head)
        if tip != draft.head_sha:
            raise ForgeConflict(
                f"the branch {draft.source} at the host is at {tip or 'nothing'}, not at {draft.head_sha}",
                fix="Push the commit first; if someone else pushed, look at their work.",
                observed=Observed(head_sha=tip),
            )
        if not snapshot.refs.branch(draft.target):
            raise ForgeNotFoundError(
                f"{draft.base} has no branch {draft.target}", fix="Name an existing target with --target."
            )

    def _require_work(self, snapshot: Snapshot, draft: Draft) -> None:
        target = snapshot.refs.branch(draft.target)
        self._remotes.bring(draft.base, [target])
        if self._objects.contains(target, draft.head_sha):
            raise ForgeConflict(
                f"{draft.target} contains everything of {draft.source} already: there is nothing to open a draft for",
                fix="Commit and push work first.",
            )

    def _tip(self, snapshot: Snapshot, branch: str, head: RepositoryId | None) -> str:
        refs = self._remotes.refs(head, _HEADS) if head else snapshot.refs
        return refs.branch(branch)

    def _snapshot(self, repo: RepositoryId) -> Snapshot:
        return Snapshot(repo, self._remotes.refs(repo, f"{CHANGES}*", _HEADS))

    def _read(self, snapshot: Snapshot, number: int) -> StoredChange:
        commit = snapshot.numbers().get(number)
        if commit is None:
            raise ForgeNotFoundError(
                f"{snapshot.repo} has no change {number}",
                fix="Look which there are: git ls-remote REMOTE 'refs/touchline/*'",
            )
        self._remotes.bring(snapshot.repo, [commit])
        return self._files.read(commit, f"{CHANGES}{number} of {snapshot.repo}")

    def _observe(self, snapshot: Snapshot, number: int, stored: StoredChange) -> Change:
        record = stored.record
        repo = snapshot.repo
        head = self._remotes.named(record.head_repository) if record.head_repository else repo
        tip = self._tip(snapshot, record.source, None if head == repo else head)
        target = snapshot.refs.branch(record.target)
        head_sha = tip or record.head_sha
        # A branch that is gone may have left its last commit in the target alone.
        self._remotes.bring(head, [tip])
        self._remotes.bring(repo, [target])
        state = self._state(record, target)
        return Change(
            url=change_url(self._remotes.url(repo), number),
            number=number,
            base=repo,
            head=head,
            source=record.source,
            target=record.target,
            state=state,
            title=record.title,
            body=record.body,
            head_sha=head_sha,
            mergeable=self._mergeable(state, record, tip, target),
            review=Review("not-required"),
            source_exists=bool(tip),
            author=record.author,
            merge_queue=record.merge_queue,
        )

    def _state(self, record: ChangeRecord, target: str) -> ChangeState:
        """The recorded state, or merged where the target contains the recorded head, whatever was pushed since."""
        contained = target and self._objects.contains(target, record.head_sha)
        return "merged" if contained and record.known_state != "closed" else record.known_state

    def _mergeable(self, state: ChangeState, record: ChangeRecord, tip: str, target: str) -> Mergeable:
        if state in ("merged", "closed"):
            return Mergeable("unknown", f"it is {state}")
        if not tip:
            return Mergeable("no", f"the branch {record.source} is gone")
        if not target:
            return Mergeable("no", f"the branch {record.target} is gone")
        return Mergeable(*self._objects.merges(target, tip))

    def _given_up(self, doing: str, now: Change | None) -> ForgeConflict:
        return ForgeConflict(
            f"{doing}: others were faster {SWAP_ATTEMPTS} times",
            fix="Wait until they are done, then start again.",
            observed=now.observed() if now else Observed(),
        )
