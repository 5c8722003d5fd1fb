"""Scenarios: the life of a change request, as the host itself sees it (spec page 6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from touchline.errors import ForgeAmbiguousError, ForgeConflict, ForgeError, ForgeNotFoundError
from touchline.forge import ByBranch, ByNumber, ByUrl, Change, Draft, Forge, ForgeCapability, RepositoryId
from touchline.testing.forges.backdoor import Backdoor
from touchline.testing.forges.base import (
    BRANCH,
    TARGET,
    Desk,
    ForgeContractBase,
    foreign_commit,
    host_can,
    needs,
)
from touchline.testing.repositories import git

TEXTS = {
    "empty": "",
    "unicode": "Übergröße — 漢字 🎉 e\u0301 \u202e\u200d\n",
    "crlf": "one\r\ntwo\rthree\n\r\n",
    "blank ends": "\n\n  text \t\n\n",
    "markup": "# x\n<!-- y -->\n@someone fixes #1 `a` ${HOME} $(id) \\n %s {0}\n-- \n",
    "60 KB": "0123456789 äöü\n" * 3800,
}

INSPECT, CREATE = ForgeCapability.INSPECT, ForgeCapability.CREATE_DRAFT
UPDATE, READY = ForgeCapability.UPDATE, ForgeCapability.MARK_READY


class ChangeScenarios(ForgeContractBase):
    """Open, read, edit, make ready."""

    @needs(INSPECT, CREATE)
    def test_draft_is_at_the_host_as_it_was_asked_for(
        self, backdoor: Backdoor, repo: RepositoryId, head: str, change: Change
    ) -> None:
        (seen,) = backdoor.changes()
        assert (seen.state, seen.source, seen.target) == ("draft", BRANCH, TARGET)
        assert (seen.title, seen.body, seen.number) == ("Add one", "What it does.\n", change.number)
        assert (change.state, change.source, change.target) == ("draft", BRANCH, TARGET)
        assert (change.title, change.body, change.head_sha) == ("Add one", "What it does.\n", head)
        assert (change.base, change.head, change.source_exists, change.is_open) == (repo, repo, True, True)
        assert change.mergeable.answer in ("yes", "unknown")

    @needs(INSPECT, CREATE)
    def test_opening_twice_makes_one_change(self, forge: Forge, backdoor: Backdoor, draft: Draft) -> None:
        first = forge.create_draft(draft)
        again = forge.create_draft(replace(draft, title="Another title", body="Another text"))
        assert again.number == first.number
        assert [(seen.title, seen.body) for seen in backdoor.changes()] == [(draft.title, draft.body)]

    @needs(INSPECT, CREATE)
    @host_can("lose-answers")
    def test_draft_whose_answer_got_lost_is_found_not_made_again(
        self, forge: Forge, backdoor: Backdoor, draft: Draft
    ) -> None:
        backdoor.lose_next_answer()
        try:
            number = forge.create_draft(draft).number
        except ForgeError:
            number = forge.create_draft(draft).number
        assert [seen.number for seen in backdoor.changes()] == [number]

    @needs(INSPECT, CREATE)
    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
    def test_text_comes_back_byte_for_byte(
        self, forge: Forge, backdoor: Backdoor, draft: Draft, repo: RepositoryId, text: str
    ) -> None:
        change = forge.create_draft(replace(draft, body=text))
        assert backdoor.changes()[0].body == text
        assert forge.inspect(ByNumber(repo, change.number)).body == text

    @needs(INSPECT, CREATE)
    def test_change_is_the_same_by_number_address_and_branch(
        self, forge: Forge, repo: RepositoryId, change: Change
    ) -> None:
        by_number = forge.inspect(ByNumber(repo, change.number))
        assert by_number == change
        assert forge.inspect(ByUrl(change.url)) == change
        assert forge.inspect(ByBranch(repo, BRANCH)) == change

    @needs(INSPECT)
    def test_change_that_is_not_there_is_not_found(self, forge: Forge, repo: RepositoryId) -> None:
        for selector in (ByNumber(repo, 4711), ByBranch(repo, "no-such-branch"), ByUrl("nonsense")):
            with pytest.raises(ForgeNotFoundError) as caught:
                forge.inspect(selector)
            assert (caught.value.operation, caught.value.provider) == ("inspect", forge.name)

    @needs(INSPECT, CREATE)
    @host_can("duplicates")
    def test_several_open_changes_of_a_branch_are_an_error(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change, draft: Draft
    ) -> None:
        second = backdoor.duplicate(change.number)
        with pytest.raises(ForgeAmbiguousError, match=str(second)):
            forge.inspect(ByBranch(repo, BRANCH))
        with pytest.raises(ForgeAmbiguousError):
            forge.create_draft(draft)
        assert len(backdoor.changes()) == 2
        backdoor.set_state(second, "closed")
        assert forge.inspect(ByBranch(repo, BRANCH)).number == change.number

    @needs(INSPECT, CREATE)
    def test_draft_of_another_head_than_the_pushed_one_is_not_opened(
        self, forge: Forge, backdoor: Backdoor, draft: Draft
    ) -> None:
        foreign_commit(backdoor)
        with pytest.raises(ForgeConflict):
            forge.create_draft(draft)
        assert backdoor.changes() == []

    @needs(INSPECT, CREATE)
    def test_draft_to_a_branch_that_is_not_there_is_not_opened(
        self, forge: Forge, backdoor: Backdoor, draft: Draft
    ) -> None:
        with pytest.raises(ForgeError):
            forge.create_draft(replace(draft, target="no-such-target"))
        assert backdoor.changes() == []

    @needs(INSPECT, CREATE)
    @pytest.mark.parametrize("title", ["", "  ", "two\nlines"])
    def test_title_that_is_no_line_of_text_is_refused(
        self, forge: Forge, backdoor: Backdoor, draft: Draft, title: str
    ) -> None:
        with pytest.raises(ForgeError):
            forge.create_draft(replace(draft, title=title))
        assert backdoor.changes() == []

    @needs(INSPECT, CREATE)
    def test_open_change_that_is_another_than_the_asked_draft_is_no_second_one(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, change: Change, draft: Draft
    ) -> None:
        git(backdoor.hosted, "branch", "release", TARGET)
        with pytest.raises(ForgeConflict) as caught:
            forge.create_draft(replace(draft, target="release"))
        assert caught.value.observed.number == str(change.number)
        backdoor.set_state(change.number, "ready")
        with pytest.raises(ForgeConflict) as caught:
            forge.create_draft(draft)
        assert caught.value.observed.state == "ready"
        assert len(backdoor.changes()) == 1

    @needs(INSPECT, CREATE)
    def test_closed_change_does_not_stand_in_the_way_of_a_new_one(
        self, forge: Forge, backdoor: Backdoor, change: Change, draft: Draft
    ) -> None:
        backdoor.set_state(change.number, "closed")
        assert forge.create_draft(draft).number != change.number
        assert [seen.state for seen in backdoor.changes()] == ["closed", "draft"]

    @needs(INSPECT, CREATE)
    @pytest.mark.parametrize("state", ["merged", "closed", "ready"])
    def test_merged_and_closed_are_states(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change, state: str
    ) -> None:
        backdoor.set_state(change.number, state)  # type: ignore[arg-type]
        seen = forge.inspect(ByNumber(repo, change.number))
        assert seen.state == state
        assert seen.is_open is (state == "ready")

    @needs(INSPECT, CREATE)
    def test_merged_change_stays_merged_when_its_branch_goes_on(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, change: Change
    ) -> None:
        git(backdoor.hosted, "update-ref", f"refs/heads/{TARGET}", change.head_sha)
        backdoor.set_state(change.number, "merged")
        forge.push(repo, desk.commit("late"), BRANCH)
        assert forge.inspect(ByNumber(repo, change.number)).state == "merged"

    @needs(INSPECT, CREATE)
    def test_merge_in_git_alone_is_not_undone_by_a_later_push(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, change: Change
    ) -> None:
        git(backdoor.hosted, "update-ref", f"refs/heads/{TARGET}", change.head_sha)
        before = forge.inspect(ByNumber(repo, change.number)).state
        forge.push(repo, desk.commit("late"), BRANCH)
        assert forge.inspect(ByNumber(repo, change.number)).state == before

    @needs(INSPECT, CREATE)
    def test_refused_draft_tells_where_the_branch_is(self, forge: Forge, backdoor: Backdoor, draft: Draft) -> None:
        theirs = foreign_commit(backdoor)
        with pytest.raises(ForgeConflict) as caught:
            forge.create_draft(draft)
        assert caught.value.observed.head_sha == theirs

    @needs(INSPECT, CREATE, READY)
    def test_branch_that_is_gone_has_no_head_in_what_a_failure_tells(
        self, forge: Forge, backdoor: Backdoor, change: Change
    ) -> None:
        git(backdoor.hosted, "update-ref", "-d", f"refs/heads/{BRANCH}")
        with pytest.raises(ForgeConflict) as caught:
            forge.mark_ready(change, head_sha=change.head_sha)
        assert caught.value.observed.head_sha == ""

    @needs(INSPECT, CREATE)
    def test_retargeted_change_is_told_with_its_new_target(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change
    ) -> None:
        git(backdoor.hosted, "branch", "release", TARGET)
        backdoor.edit(change.number, target="release")
        assert forge.inspect(ByNumber(repo, change.number)).target == "release"

    @needs(INSPECT, CREATE)
    def test_push_by_someone_else_is_seen(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change
    ) -> None:
        theirs = foreign_commit(backdoor)
        assert forge.inspect(ByNumber(repo, change.number)).head_sha == theirs

    @needs(INSPECT, CREATE)
    def test_deleted_source_branch_is_told_and_the_last_head_kept(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change
    ) -> None:
        git(backdoor.hosted, "update-ref", "-d", f"refs/heads/{BRANCH}")
        seen = forge.inspect(ByNumber(repo, change.number))
        assert (seen.source_exists, seen.head_sha) == (False, change.head_sha)
        assert seen.state in ("draft", "closed")
        assert seen.mergeable.answer != "yes"

    @needs(INSPECT, CREATE)
    def test_conflict_with_the_target_is_not_mergeable(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, change: Change
    ) -> None:
        git(desk.folder, "checkout", "-q", "-B", "theirs", f"upstream/{TARGET}")
        (desk.folder / "one.txt").write_text("something else\n")
        git(desk.folder, "add", "one.txt")
        git(desk.folder, "commit", "-q", "-m", "Another one")
        forge.push(repo, git(desk.folder, "rev-parse", "HEAD"), TARGET)
        seen = forge.inspect(ByNumber(repo, change.number))
        assert seen.mergeable.answer == "no"
        assert "conflict" in seen.mergeable.reason

    @needs(INSPECT, CREATE, ForgeCapability.FETCH)
    def test_head_is_brought_here_and_proved(
        self, backdoor: Backdoor, other_desk: Desk, repo: RepositoryId, change: Change
    ) -> None:
        elsewhere = self.forge_on(backdoor, other_desk)
        assert elsewhere.fetch_head(elsewhere.inspect(ByNumber(repo, change.number))) == change.head_sha
        assert git(other_desk.folder, "cat-file", "-t", change.head_sha) == "commit"
        foreign_commit(backdoor)
        with pytest.raises(ForgeConflict):
            elsewhere.fetch_head(change)
        git(backdoor.hosted, "update-ref", "-d", f"refs/heads/{BRANCH}")
        with pytest.raises(ForgeError):
            elsewhere.fetch_head(change)

    @needs(INSPECT, CREATE, UPDATE)
    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
    def test_new_text_is_at_the_host_and_nothing_else_changed(
        self, forge: Forge, backdoor: Backdoor, change: Change, text: str
    ) -> None:
        after = forge.update(change, body=text)
        (seen,) = backdoor.changes()
        assert (seen.body, seen.title, seen.target, seen.state) == (text, change.title, TARGET, "draft")
        assert after == replace(change, body=text)

    @needs(INSPECT, CREATE, UPDATE, READY)
    def test_title_is_changed_only_when_told(self, forge: Forge, backdoor: Backdoor, change: Change, head: str) -> None:
        ready = forge.mark_ready(change, head_sha=head)
        after = forge.update(ready, body="new", title="Draft: a title that speaks of drafts")
        assert (after.title, after.state) == ("Draft: a title that speaks of drafts", "ready")
        assert backdoor.changes()[0].state == "ready"
        assert forge.update(after, body="newer").title == after.title

    @needs(INSPECT, CREATE, UPDATE)
    def test_text_of_a_person_is_never_overwritten(self, forge: Forge, backdoor: Backdoor, change: Change) -> None:
        backdoor.edit(change.number, body="By a person.")
        with pytest.raises(ForgeConflict) as caught:
            forge.update(change, body="By us.")
        assert backdoor.changes()[0].body == "By a person."
        assert caught.value.observed.url == change.url

    @needs(INSPECT, CREATE, UPDATE)
    @pytest.mark.parametrize("state", ["merged", "closed"])
    def test_change_that_is_over_is_not_edited(
        self, forge: Forge, backdoor: Backdoor, change: Change, state: str
    ) -> None:
        backdoor.set_state(change.number, state)  # type: ignore[arg-type]
        with pytest.raises(ForgeConflict) as caught:
            forge.update(change, body="By us.")
        assert caught.value.observed.state == state
        assert backdoor.changes()[0].body == change.body

    @needs(INSPECT, CREATE, UPDATE)
    @host_can("lose-answers")
    def test_update_whose_answer_got_lost_succeeds_by_looking(
        self, forge: Forge, backdoor: Backdoor, change: Change
    ) -> None:
        backdoor.lose_next_answer()
        assert forge.update(change, body="new").body == "new"
        assert backdoor.changes()[0].body == "new"

    @needs(INSPECT, CREATE, READY)
    def test_ready_is_observed_and_a_second_time_changes_nothing(
        self, forge: Forge, backdoor: Backdoor, change: Change, head: str
    ) -> None:
        ready = forge.mark_ready(change, head_sha=head)
        assert (ready.state, backdoor.changes()[0].state) == ("ready", "ready")
        assert forge.mark_ready(ready, head_sha=head) == ready

    @needs(INSPECT, CREATE, READY)
    @host_can("lose-answers")
    def test_ready_whose_answer_got_lost_succeeds_by_looking(
        self, forge: Forge, backdoor: Backdoor, change: Change, head: str
    ) -> None:
        backdoor.lose_next_answer()
        assert forge.mark_ready(change, head_sha=head).state == "ready"
        assert backdoor.changes()[0].state == "ready"

    @needs(INSPECT, CREATE, READY)
    def test_another_head_than_the_approved_one_does_not_become_ready(
        self, forge: Forge, backdoor: Backdoor, change: Change, head: str
    ) -> None:
        theirs = foreign_commit(backdoor)
        with pytest.raises(ForgeConflict) as caught:
            forge.mark_ready(change, head_sha=head)
        assert (caught.value.operation, caught.value.observed.head_sha) == ("mark-ready", theirs)
        assert backdoor.changes()[0].state == "draft"

    @needs(INSPECT, CREATE, READY)
    def test_closed_change_does_not_become_ready(
        self, forge: Forge, backdoor: Backdoor, change: Change, head: str
    ) -> None:
        backdoor.set_state(change.number, "closed")
        with pytest.raises(ForgeConflict):
            forge.mark_ready(change, head_sha=head)
        assert backdoor.changes()[0].state == "closed"

    @needs(INSPECT, CREATE)
    def test_request_for_review_never_fails_and_accounts_for_everybody(self, forge: Forge, change: Change) -> None:
        asked = forge.request_review(change, ["somebody", "somebody-else"])
        assert set(asked.requested) | set(asked.refused) == {"somebody", "somebody-else"}
        assert not set(asked.requested) & set(asked.refused)
        assert all(asked.refused.values())
