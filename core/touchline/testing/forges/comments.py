"""Scenarios: comments are only ever added, once each, for a head that stays (spec page 6)."""

from __future__ import annotations

import pytest

from touchline.errors import ForgeConflict, ForgeError
from touchline.forge import Change, Forge, ForgeCapability
from touchline.testing.forges.backdoor import Backdoor
from touchline.testing.forges.base import BRANCH, ForgeContractBase, foreign_commit, host_can, loose_commit, needs

COMMENT = (ForgeCapability.INSPECT, ForgeCapability.CREATE_DRAFT, ForgeCapability.COMMENT)


class CommentScenarios(ForgeContractBase):
    """Append-only and guarded."""

    @needs(*COMMENT)
    def test_comments_are_added_one_after_the_other(self, forge: Forge, backdoor: Backdoor, change: Change) -> None:
        texts = ["First — 漢字\r\n", "Second\n\n", "x" * 20_000]
        ids = [forge.comment(change, text, key=f"key-{number}").id for number, text in enumerate(texts)]
        assert len(set(ids)) == 3
        for text, seen in zip(texts, backdoor.comments(change.number), strict=True):
            assert text in seen

    @needs(*COMMENT)
    def test_repeated_attempt_finds_the_first_comment(self, forge: Forge, backdoor: Backdoor, change: Change) -> None:
        first = forge.comment(change, "Once.", key="run-1:turn-1")
        again = forge.comment(change, "Once.", key="run-1:turn-1")
        assert (again.id, first.created, again.created) == (first.id, True, False)
        assert len(backdoor.comments(change.number)) == 1

    @needs(*COMMENT)
    def test_equal_texts_with_different_keys_are_two_comments(
        self, forge: Forge, backdoor: Backdoor, change: Change
    ) -> None:
        forge.comment(change, "The same.", key="one")
        forge.comment(change, "The same.", key="two")
        assert len(backdoor.comments(change.number)) == 2

    @needs(*COMMENT)
    @host_can("lose-answers")
    def test_comment_whose_answer_got_lost_stands_once(self, forge: Forge, backdoor: Backdoor, change: Change) -> None:
        backdoor.lose_next_answer()
        try:
            forge.comment(change, "Once.", key="k")
        except ForgeError:
            forge.comment(change, "Once.", key="k")
        assert len(backdoor.comments(change.number)) == 1

    @needs(*COMMENT)
    def test_nothing_is_said_about_a_head_that_moved_before(
        self, forge: Forge, backdoor: Backdoor, change: Change
    ) -> None:
        theirs = foreign_commit(backdoor)
        with pytest.raises(ForgeConflict) as caught:
            forge.comment(change, "Verified.", key="k")
        assert backdoor.comments(change.number) == []
        assert caught.value.observed.head_sha == theirs

    @needs(*COMMENT)
    @host_can("meddle")
    def test_head_that_moved_while_commenting_is_told_with_the_comment(
        self, forge: Forge, backdoor: Backdoor, change: Change
    ) -> None:
        theirs = loose_commit(backdoor, change.head_sha)
        backdoor.move_during_next_write(BRANCH, theirs)
        with pytest.raises(ForgeConflict) as caught:
            forge.comment(change, "Verified.", key="k")
        assert len(backdoor.comments(change.number)) == 1
        assert caught.value.observed.comment_id
        assert caught.value.observed.head_sha == theirs

    @needs(*COMMENT)
    def test_comment_leaves_text_title_and_state_alone(self, forge: Forge, backdoor: Backdoor, change: Change) -> None:
        before = backdoor.changes()
        forge.comment(change, "A word.", key="k")
        assert backdoor.changes() == before
