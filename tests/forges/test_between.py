"""What others do between our reading and our writing: no work of theirs is lost, and ours is told truthfully."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from touchline.errors import ForgeConflict
from touchline.forge import Change, Check, Draft, ForgeSettings, LocalForgeHost, RepositoryId
from touchline.git.repository import Repository
from touchline.process import Completed
from touchline.testing.forges import BareBackdoor
from touchline.testing.repositories import git
from touchline_forges.generic import GenericForge


class Interrupted(LocalForgeHost):
    """Lets somebody else act right before each of our next pushes."""

    def __init__(self, repo: Repository) -> None:
        super().__init__(repo)
        self.others: list[Callable[[], object]] = []

    def git(self, *args: str, **options: Any) -> Completed:
        if args[0] == "push" and self.others:
            self.others.pop(0)()
        return super().git(*args, **options)


def clone(host: BareBackdoor, folder: Path) -> Path:
    git(folder.parent, "clone", "-q", str(host.hosted), str(folder))
    git(folder, "config", "user.name", folder.name)
    git(folder, "config", "user.email", "someone@example.invalid")
    return folder


def commit(folder: Path, name: str) -> str:
    (folder / name).write_text(name)
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", f"Add {name}")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def mine(file_host: BareBackdoor, tmp_path: Path) -> Path:
    return clone(file_host, tmp_path / "mine")


@pytest.fixture
def host(mine: Path) -> Interrupted:
    return Interrupted(Repository.open(mine))


@pytest.fixture
def forge(host: Interrupted) -> GenericForge:
    return GenericForge(ForgeSettings(), host)


@pytest.fixture
def other(file_host: BareBackdoor, tmp_path: Path) -> GenericForge:
    return GenericForge(ForgeSettings(), LocalForgeHost(Repository.open(clone(file_host, tmp_path / "theirs"))))


@pytest.fixture
def repo(forge: GenericForge, file_host: BareBackdoor) -> RepositoryId:
    found = forge.identify(file_host.url)
    assert found is not None
    return found


@pytest.fixture
def draft(forge: GenericForge, repo: RepositoryId, mine: Path) -> Draft:
    sha = commit(mine, "one")
    forge.push(repo, sha, "topic")
    return Draft(repo, "topic", "main", "Add one", "Text.", sha)


@pytest.fixture
def change(forge: GenericForge, draft: Draft) -> Change:
    return forge.create_draft(draft)


def test_text_that_was_set_in_between_is_kept_and_ours_refused(
    forge: GenericForge, host: Interrupted, file_host: BareBackdoor, change: Change
) -> None:
    host.others = [lambda: file_host.edit(change.number, body="theirs")]
    with pytest.raises(ForgeConflict, match="someone else"):
        forge.update(change, body="ours")
    assert file_host.changes()[0].body == "theirs"


def test_comment_in_between_does_not_stop_our_text_nor_get_lost(
    forge: GenericForge, other: GenericForge, host: Interrupted, file_host: BareBackdoor, change: Change
) -> None:
    host.others = [
        lambda: other.comment(change, "first", key="a"),
        lambda: other.comment(change, "second", key="b"),
    ]
    assert forge.update(change, body="ours").body == "ours"
    assert (file_host.changes()[0].body, file_host.comments(1)) == ("ours", ["first", "second"])


def test_two_comments_at_once_are_both_there(
    forge: GenericForge, other: GenericForge, host: Interrupted, file_host: BareBackdoor, change: Change
) -> None:
    host.others = [lambda: other.comment(change, "theirs", key="a")]
    assert forge.comment(change, "ours", key="b").id == "2"
    assert file_host.comments(1) == ["theirs", "ours"]


def test_draft_that_another_machine_opens_in_between_is_the_one(
    forge: GenericForge, other: GenericForge, host: Interrupted, file_host: BareBackdoor, draft: Draft
) -> None:
    host.others = [lambda: other.create_draft(draft)]
    assert forge.create_draft(draft).number == 1
    assert len(file_host.changes()) == 1


def test_number_that_another_change_took_in_between_is_not_taken_twice(
    forge: GenericForge, other: GenericForge, host: Interrupted, file_host: BareBackdoor, draft: Draft
) -> None:
    git(file_host.hosted, "branch", "elsewhere", "topic")
    theirs = Draft(draft.base, "elsewhere", "main", "Theirs", "", draft.head_sha)
    host.others = [lambda: other.create_draft(theirs)]
    assert forge.create_draft(draft).number == 2
    assert [seen.source for seen in file_host.changes()] == ["elsewhere", "topic"]


def test_closing_in_between_is_seen_before_it_is_made_ready(
    forge: GenericForge, host: Interrupted, file_host: BareBackdoor, change: Change
) -> None:
    host.others = [lambda: file_host.set_state(change.number, "closed")]
    with pytest.raises(ForgeConflict, match="closed"):
        forge.mark_ready(change, head_sha=change.head_sha)
    assert file_host.changes()[0].state == "closed"


def test_those_who_are_always_faster_end_it_without_a_loop(
    forge: GenericForge, host: Interrupted, file_host: BareBackdoor, change: Change
) -> None:
    host.others = [lambda: file_host.edit(change.number, title=change.title) for _ in range(50)]
    with pytest.raises(ForgeConflict, match="others were faster"):
        forge.mark_ready(change, head_sha=change.head_sha)
    assert file_host.changes()[0].state == "draft"
    assert len(host.others) > 40


def test_push_in_between_is_kept_and_ours_refused(
    forge: GenericForge, host: Interrupted, file_host: BareBackdoor, mine: Path, draft: Draft, tmp_path: Path
) -> None:
    theirs = clone(file_host, tmp_path / "third")
    git(theirs, "checkout", "-q", "topic")
    sha = commit(theirs, "theirs")
    host.others = [lambda: git(theirs, "push", "-q", "origin", "topic")]
    with pytest.raises(ForgeConflict) as caught:
        forge.push(draft.base, commit(mine, "two"), "topic", expected=draft.head_sha)
    assert git(file_host.hosted, "rev-parse", "topic") == sha
    assert caught.value.observed.head_sha == sha


def test_branch_that_is_deleted_in_between_is_not_made_again(
    forge: GenericForge, host: Interrupted, file_host: BareBackdoor, mine: Path, draft: Draft
) -> None:
    host.others = [lambda: git(file_host.hosted, "update-ref", "-d", "refs/heads/topic")]
    with pytest.raises(ForgeConflict):
        forge.push(draft.base, commit(mine, "two"), "topic")
    assert git(file_host.hosted, "branch", "--list", "topic") == ""


def test_branch_that_somebody_makes_in_between_is_left_alone(
    forge: GenericForge, host: Interrupted, file_host: BareBackdoor, mine: Path, repo: RepositoryId
) -> None:
    host.others = [lambda: git(file_host.hosted, "branch", "topic", "main")]
    with pytest.raises(ForgeConflict):
        forge.push(repo, commit(mine, "one"), "topic", expected="")
    assert git(file_host.hosted, "rev-parse", "topic") == git(file_host.hosted, "rev-parse", "main")


def test_report_in_between_of_a_newer_attempt_wins(
    forge: GenericForge, other: GenericForge, host: Interrupted, draft: Draft
) -> None:
    host.others = [
        lambda: other.report_check(draft.base, draft.head_sha, Check("unit", "completed", "failure", attempt=2))
    ]
    with pytest.raises(ForgeConflict, match="attempt 2"):
        forge.report_check(draft.base, draft.head_sha, Check("unit", "completed", "success"))
    checks: Sequence[Any] = forge.read_ci(draft.base, draft.head_sha, None).checks
    assert [check.conclusion for check in checks] == ["failure"]
