"""The rules of a mutation around configured commands (spec page 6): guard, tell once, look, believe what is seen."""

from __future__ import annotations

from collections.abc import Callable

from touchline.api import (
    ByBranch,
    ByNumber,
    Change,
    Comment,
    Draft,
    ForgeBusy,
    ForgeConflict,
    ForgeNotFoundError,
    ForgeUnavailable,
    Observed,
    Selector,
)
from touchline_forges.command_changes import CommandChanges
from touchline_forges.git_remote import GitRemotes
from touchline_forges.guards import (
    require_draft,
    require_head_at,
    require_open,
    require_ready,
    require_same_head,
    require_same_text,
    require_text,
    require_unmoved,
)


class CommandedChanges:
    """The change requests of a host behind commands, with the guards that the commands need not have."""

    def __init__(self, commands: CommandChanges, remotes: GitRemotes) -> None:
        self._commands = commands
        self._remotes = remotes

    def inspect(self, selector: Selector) -> Change:
        """The change as the host shows it now."""
        return self._commands.inspect(selector)

    def create_draft(self, draft: Draft) -> Change:
        """Open a draft, or find the one that is open already."""
        by_branch = ByBranch(draft.base, draft.source, draft.head)
        try:
            return require_draft(self._commands.inspect(by_branch), draft)
        except ForgeNotFoundError:
            pass  # The usual case: there is no open change of this branch.
        tip = self._remotes.refs(draft.head or draft.base, f"refs/heads/{draft.source}").branch(draft.source)
        if tip != draft.head_sha:
            raise ForgeConflict(
                f"the branch {draft.source} at the host is at {tip or 'nothing'}, not at {draft.head_sha}",
                fix="Push the commit first; if someone else pushed, look at their work.",
                observed=Observed(head_sha=tip),
            )
        after = self._told(
            lambda: self._commands.create_draft(draft), lambda: require_draft(self._commands.inspect(by_branch), draft)
        )
        require_text(after, title=draft.title, body=draft.body)
        return after

    def update(self, change: Change, *, body: str, title: str | None) -> Change:
        """Replace the text, and the title when told."""
        now = self._now(change)
        wanted_title = change.title if title is None else title
        if (now.title, now.body) == (wanted_title, body):
            return now
        require_same_head(change, now)
        require_open(now)
        require_same_text(change, now)

        def look() -> Change:
            after = self._now(change)
            require_text(after, title=wanted_title, body=body)
            require_same_head(change, after)
            if (after.target, after.state) != (now.target, now.state):
                raise ForgeConflict(
                    f"{after.url} went from {now.state}, to {now.target}, to {after.state}, to {after.target}, while"
                    " its text was set",
                    fix="Look at the change; the command for update must touch nothing but text and title.",
                    observed=after.observed(),
                )
            return after

        return self._told(lambda: self._commands.update(change, body=body, title=title), look)

    def mark_ready(self, change: Change, *, head_sha: str) -> Change:
        """Take it out of draft at exactly that head."""
        now = self._now(change)
        require_head_at(now, head_sha)
        require_open(now)
        if now.state != "draft":
            return now

        def look() -> Change:
            after = self._now(change)
            require_ready(after, head_sha)
            return after

        return self._told(lambda: self._commands.mark_ready(change, head_sha=head_sha), look)

    def comment(self, change: Change, body: str, *, key: str) -> Comment:
        """Add a comment, once for each key. An attempt without an answer is not repeated here."""
        require_same_head(change, self._now(change))
        made = self._commands.comment(change, body, key=key)
        require_unmoved(change, self._now(change), made.id)
        return made

    def _now(self, change: Change) -> Change:
        return self._commands.inspect(ByNumber(change.base, change.number))

    def _told(self, tell: Callable[[], None], look: Callable[[], Change]) -> Change:
        """What `look` sees after `tell`; where `tell` gave no answer, its error unless `look` sees success."""
        try:
            tell()
        except ForgeBusy:
            raise
        except ForgeUnavailable as error:
            try:
                return look()
            except (ForgeConflict, ForgeNotFoundError):
                raise error from None
        return look()
