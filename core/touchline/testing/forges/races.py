"""Scenarios: two machines at one change; no update is lost, and the loser is told (spec page 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from touchline.errors import ForgeConflict, ForgeError
from touchline.forge import Change, Draft, Forge, ForgeCapability, Pushed
from touchline.testing.forges.backdoor import Backdoor
from touchline.testing.forges.base import Desk, ForgeContractBase, needs, tip


def at_once(*calls: Callable[[], Any]) -> Sequence[Any]:
    """The results of calls that begin together; a ForgeError is a result."""
    gate = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        gate.wait(timeout=30)
        try:
            return call()
        except ForgeError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


class RaceScenarios(ForgeContractBase):
    """Two clients on two desks."""

    @needs(ForgeCapability.INSPECT, ForgeCapability.CREATE_DRAFT)
    def test_two_machines_open_one_change(
        self, forge: Forge, backdoor: Backdoor, other_desk: Desk, draft: Draft
    ) -> None:
        other = self.forge_on(backdoor, other_desk)
        results = at_once(lambda: forge.create_draft(draft), lambda: other.create_draft(draft))
        (seen,) = backdoor.changes()
        told = [result for result in results if isinstance(result, Change)]
        assert told
        assert {change.number for change in told} == {seen.number}

    @needs(ForgeCapability.INSPECT, ForgeCapability.CREATE_DRAFT, ForgeCapability.UPDATE)
    def test_of_two_edits_one_wins_and_the_other_is_told(
        self, forge: Forge, backdoor: Backdoor, other_desk: Desk, change: Change
    ) -> None:
        other = self.forge_on(backdoor, other_desk)
        texts = ["mine", "theirs"]
        results = at_once(lambda: forge.update(change, body=texts[0]), lambda: other.update(change, body=texts[1]))
        final = backdoor.changes()[0].body
        outcome = dict(zip(texts, results, strict=True))
        (loser,) = [text for text in texts if text != final]
        assert final in texts
        assert isinstance(outcome[final], Change)
        assert isinstance(outcome[loser], ForgeConflict)

    @needs(
        ForgeCapability.INSPECT,
        ForgeCapability.CREATE_DRAFT,
        ForgeCapability.UPDATE,
        ForgeCapability.MARK_READY,
        ForgeCapability.COMMENT,
    )
    def test_what_does_not_contradict_is_all_kept(
        self, forge: Forge, backdoor: Backdoor, other_desk: Desk, change: Change
    ) -> None:
        other = self.forge_on(backdoor, other_desk)
        results = at_once(
            lambda: forge.update(change, body="new text"),
            lambda: other.comment(change, "a comment", key="a"),
            lambda: self.forge_on(backdoor, other_desk).mark_ready(change, head_sha=change.head_sha),
        )
        assert [result for result in results if isinstance(result, ForgeError)] == []
        (seen,) = backdoor.changes()
        assert (seen.body, seen.state, len(backdoor.comments(seen.number))) == ("new text", "ready", 1)

    @needs(ForgeCapability.PUSH)
    def test_of_two_pushes_one_wins_and_the_other_is_told(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, other_desk: Desk, draft: Draft
    ) -> None:
        other = self.forge_on(backdoor, other_desk)
        mine = desk.commit("mine")
        theirs = other_desk.commit("theirs", base=other.fetch_branch(draft.base, draft.source))
        results = at_once(
            lambda: forge.push(draft.base, mine, draft.source),
            lambda: other.push(draft.base, theirs, draft.source),
        )
        won, lost = sorted(results, key=lambda result: isinstance(result, ForgeConflict))
        assert isinstance(won, Pushed)
        assert isinstance(lost, ForgeConflict)
        assert won.sha == tip(backdoor)
        assert won.sha in (mine, theirs)

    @needs(ForgeCapability.INSPECT, ForgeCapability.CREATE_DRAFT, ForgeCapability.COMMENT)
    def test_two_machines_with_one_comment_leave_it_once(
        self, forge: Forge, backdoor: Backdoor, other_desk: Desk, change: Change
    ) -> None:
        other = self.forge_on(backdoor, other_desk)
        results = at_once(
            lambda: forge.comment(change, "done", key="a"), lambda: other.comment(change, "done", key="a")
        )
        assert [result for result in results if isinstance(result, ForgeError)] == []
        assert sorted(result.created for result in results) == [False, True]
        assert backdoor.comments(change.number) == ["done"]

    @needs(ForgeCapability.INSPECT, ForgeCapability.CREATE_DRAFT, ForgeCapability.COMMENT)
    def test_of_many_comments_at_once_none_is_lost(
        self, forge: Forge, backdoor: Backdoor, other_desk: Desk, change: Change
    ) -> None:
        other = self.forge_on(backdoor, other_desk)
        results = at_once(
            lambda: forge.comment(change, "one", key="1"),
            lambda: other.comment(change, "two", key="2"),
            lambda: self.forge_on(backdoor, other_desk).comment(change, "three", key="3"),
        )
        assert [result for result in results if isinstance(result, ForgeError)] == []
        assert sorted(backdoor.comments(change.number)) == ["one", "three", "two"]
