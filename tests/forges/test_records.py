"""Change requests and CI results that lie in the remote itself: what is believed, what is refused, what is kept."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import ForgeConflict, ForgeError, ForgeForbiddenError, ForgeNotFoundError
from touchline.forge import (
    ByBranch,
    ByNumber,
    Change,
    Check,
    Draft,
    ForgeCapability,
    ForgeSettings,
    LocalForgeHost,
    RepositoryId,
)
from touchline.git.repository import Repository
from touchline.testing.forges import BareBackdoor, make_hosted
from touchline.testing.repositories import git
from touchline_forges.generic import GenericForge
from touchline_forges.records import ChangeRecord, change_number, check_ref, comment_number, parse_record

Forges = Callable[..., GenericForge]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def desk(file_host: BareBackdoor, tmp_path: Path) -> Path:
    folder = tmp_path / "desk"
    git(tmp_path, "clone", "-q", str(file_host.hosted), str(folder))
    git(folder, "config", "user.name", "Desk")
    git(folder, "config", "user.email", "desk@example.invalid")
    git(folder, "checkout", "-q", "-b", "topic")
    (folder / "new.txt").write_text("new\n")
    git(folder, "add", "new.txt")
    git(folder, "commit", "-q", "-m", "Add new")
    return folder


@pytest.fixture
def forge(desk: Path, said: list[str]) -> GenericForge:
    return GenericForge(ForgeSettings(), LocalForgeHost(Repository.open(desk), say=said.append))


@pytest.fixture
def repo(forge: GenericForge, file_host: BareBackdoor) -> RepositoryId:
    found = forge.identify(file_host.url)
    assert found is not None
    return found


@pytest.fixture
def draft(forge: GenericForge, repo: RepositoryId, desk: Path) -> Draft:
    sha = git(desk, "rev-parse", "HEAD")
    forge.push(repo, sha, "topic")
    return Draft(repo, "topic", "main", "Add new", "Text.", sha)


@pytest.fixture
def change(forge: GenericForge, draft: Draft) -> Change:
    return forge.create_draft(draft)


def put(host: BareBackdoor, ref: str, content: bytes) -> None:
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=host.hosted, input=content, capture_output=True, check=True
    )
    git(host.hosted, "update-ref", ref, done.stdout.decode().strip())


def test_head_that_the_target_contains_is_merged_whatever_the_record_says(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor
) -> None:
    git(file_host.hosted, "update-ref", "refs/heads/main", change.head_sha)
    assert forge.inspect(ByNumber(repo, change.number)).state == "merged"
    git(file_host.hosted, "update-ref", "-d", "refs/heads/topic")
    gone = forge.inspect(ByNumber(repo, change.number))
    assert (gone.state, gone.source_exists) == ("merged", False)
    with pytest.raises(ForgeNotFoundError):
        forge.inspect(ByBranch(repo, "topic"))
    with pytest.raises(ForgeConflict, match="merged"):
        forge.update(change, body="more")


def test_branch_that_was_rewound_to_the_target_is_not_merged(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor
) -> None:
    git(file_host.hosted, "update-ref", "refs/heads/topic", "refs/heads/main")
    assert forge.inspect(ByNumber(repo, change.number)).state == "draft"


def test_branch_without_work_gets_no_draft(
    forge: GenericForge, repo: RepositoryId, draft: Draft, file_host: BareBackdoor
) -> None:
    main = git(file_host.hosted, "rev-parse", "main")
    git(file_host.hosted, "branch", "empty", "main")
    with pytest.raises(ForgeConflict, match="nothing to open a draft for"):
        forge.create_draft(replace(draft, source="empty", head_sha=main))


def test_target_that_is_gone_makes_it_unmergeable(
    forge: GenericForge, repo: RepositoryId, draft: Draft, file_host: BareBackdoor
) -> None:
    git(file_host.hosted, "branch", "release", "main")
    change = forge.create_draft(replace(draft, target="release"))
    git(file_host.hosted, "branch", "-D", "release")
    seen = forge.inspect(ByNumber(repo, change.number))
    assert (seen.mergeable.answer, seen.target) == ("no", "release")


def test_state_that_we_do_not_know_is_unknown_and_not_touched(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor
) -> None:
    file_host.set_state(change.number, "parked")  # type: ignore[arg-type]
    seen = forge.inspect(ByNumber(repo, change.number))
    assert (seen.state, seen.is_open) == ("unknown", False)
    with pytest.raises(ForgeConflict):
        forge.mark_ready(seen, head_sha=change.head_sha)


def test_queued_is_told_with_its_place(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor
) -> None:
    file_host._write(change.number, {"state": "queued", "mergeQueue": "position 2"})
    seen = forge.inspect(ByNumber(repo, change.number))
    assert (seen.state, seen.merge_queue, seen.is_open) == ("queued", "position 2", True)
    assert seen.observed().merge_queue == "position 2"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"state": 1}', b"\xff\xfe", b'{"schemaVersion": 99}'])
def test_record_that_cannot_be_read_is_an_error_that_names_it(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor, content: bytes
) -> None:
    put(file_host, "refs/scratch", content)
    blob = git(file_host.hosted, "rev-parse", "refs/scratch")
    entry = f"100644 blob {blob}\tchange.json\n"
    tree = subprocess.run(
        ["git", "mktree"], cwd=file_host.hosted, input=entry, capture_output=True, check=True, text=True
    ).stdout.strip()
    commit = git(file_host.hosted, "commit-tree", "-m", "x", tree)
    git(file_host.hosted, "update-ref", "refs/touchline/changes/1", commit)
    for call in (lambda: forge.inspect(ByNumber(repo, 1)), lambda: forge.inspect(ByBranch(repo, "topic"))):
        with pytest.raises(ForgeError, match="refs/touchline/changes/1") as caught:
            call()
        assert not isinstance(caught.value, ForgeNotFoundError)


def test_fields_and_files_that_a_newer_version_wrote_are_kept(
    forge: GenericForge, change: Change, file_host: BareBackdoor
) -> None:
    file_host._write(change.number, {"labels": ["x"]})
    forge.comment(forge.update(change, body="new"), "a word", key="k")
    told = json.loads(git(file_host.hosted, "show", "refs/touchline/changes/1:change.json"))
    assert (told["labels"], told["body"], told["author"]) == (["x"], "new", "Desk <desk@example.invalid>")


def test_each_edit_leaves_the_former_one_in_the_history(
    forge: GenericForge, change: Change, file_host: BareBackdoor
) -> None:
    forge.mark_ready(forge.update(change, body="second"), head_sha=change.head_sha)
    log = git(file_host.hosted, "log", "--format=%s", "refs/touchline/changes/1").splitlines()
    assert log == ["Mark it ready", "Change the text", "Open change 1"]


def test_host_that_hides_the_records_is_told_plainly(
    forge: GenericForge, draft: Draft, file_host: BareBackdoor
) -> None:
    git(file_host.hosted, "config", "receive.hideRefs", "refs/touchline")
    with pytest.raises(ForgeForbiddenError, match="does not take refs/touchline/changes/1") as caught:
        forge.create_draft(draft)
    assert "refs/touchline/changes/" in caught.value.fix
    assert caught.value.operation == "create-draft"


def test_push_that_a_hook_declines_is_told_with_its_words(
    forge: GenericForge, repo: RepositoryId, desk: Path, file_host: BareBackdoor
) -> None:
    file_host._hook("pre-receive", "#!/bin/sh\necho protected by policy >&2\nexit 1\n")
    with pytest.raises(ForgeForbiddenError, match="hook declined"):
        forge.push(repo, git(desk, "rev-parse", "HEAD"), "topic")


def test_text_that_is_no_unicode_is_refused(forge: GenericForge, draft: Draft, file_host: BareBackdoor) -> None:
    for bad in (replace(draft, body="a\ud800b"), replace(draft, title="a\ud800b")):
        with pytest.raises(ForgeError, match="Unicode"):
            forge.create_draft(bad)
    assert file_host.changes() == []


def test_records_need_no_git_identity(
    forge: GenericForge, draft: Draft, desk: Path, file_host: BareBackdoor, clean_home: Path
) -> None:
    (clean_home / "gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    git(desk, "config", "--unset", "user.name")
    git(desk, "config", "--unset", "user.email")
    change = forge.create_draft(draft)
    assert change.author == "touchline <touchline@localhost>"


def test_change_from_a_fork_is_opened_in_the_base_and_read_from_both(
    forge: GenericForge, repo: RepositoryId, desk: Path, tmp_path: Path, file_host: BareBackdoor
) -> None:
    fork_url = make_hosted(tmp_path / "srv" / "me" / "widget.git")
    git(desk, "remote", "add", "mine", str(fork_url))
    fork = forge.identify(str(fork_url))
    assert fork is not None
    sha = git(desk, "rev-parse", "HEAD")
    forge.preflight([ForgeCapability.PUSH, ForgeCapability.CREATE_DRAFT], repo=repo, head=fork)
    forge.push(fork, sha, "topic")
    change = forge.create_draft(Draft(repo, "topic", "main", "From a fork", "", sha, head=fork))
    assert (change.base, change.head, change.head_sha) == (repo, fork, sha)
    assert forge.inspect(ByBranch(repo, "topic", fork)) == change
    with pytest.raises(ForgeNotFoundError):
        forge.inspect(ByBranch(repo, "topic"))
    assert forge.fetch_head(change) == sha
    git(desk, "remote", "remove", "mine")
    stranger = GenericForge(ForgeSettings(), LocalForgeHost(Repository.open(desk)))
    with pytest.raises(ForgeNotFoundError, match="which no remote here names"):
        stranger.inspect(ByNumber(repo, change.number))


def test_policy_of_the_target_is_read_and_the_default_used_without_one(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor
) -> None:
    assert forge.read_ci(repo, change.head_sha, change).policy.required == []
    file_host.set_policy({"readable": True, "strict": True, "required": [{"context": "unit"}]})
    evidence = forge.read_ci(repo, change.head_sha, change)
    assert (evidence.policy.strict, [check.context for check in evidence.policy.required]) == (True, ["unit"])
    assert evidence.ci_configured
    put(file_host, "refs/touchline/policy/branch/main", b'{"readable": true, "required": []}')
    assert forge.read_ci(repo, change.head_sha, change).policy.strict is False


def test_policy_that_cannot_be_read_is_unreadable_not_absent(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor, said: list[str]
) -> None:
    put(file_host, "refs/touchline/policy/default", b"strict: yes")
    assert forge.read_ci(repo, change.head_sha, change).policy.readable is False
    assert any("refs/touchline/policy/default" in text for text in said)


@pytest.mark.parametrize("content", [b"success", b'{"name": "unit"}', b'{"name": "", "status": "completed"}'])
def test_check_that_cannot_be_read_makes_all_unreadable(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor, content: bytes
) -> None:
    file_host.leave_check(change.head_sha, "good", status="completed", conclusion="success")
    put(file_host, f"refs/touchline/ci/{change.head_sha}/bad", content)
    evidence = forge.read_ci(repo, change.head_sha, change)
    assert not evidence.checks_readable
    assert [check.name for check in evidence.checks] == ["good"]


def test_unreadable_check_is_replaced_by_a_report(
    forge: GenericForge, repo: RepositoryId, change: Change, file_host: BareBackdoor
) -> None:
    put(file_host, check_ref(change.head_sha, "unit", None), b"nonsense")
    forge.report_check(repo, change.head_sha, Check("unit", "completed", "success"))
    evidence = forge.read_ci(repo, change.head_sha, change)
    assert evidence.checks_readable
    assert [check.conclusion for check in evidence.checks] == ["success"]


def test_repository_without_any_ci_is_not_configured_and_has_no_checks(
    forge: GenericForge, repo: RepositoryId, change: Change
) -> None:
    evidence = forge.read_ci(repo, change.head_sha, change)
    assert (evidence.ci_configured, evidence.checks, evidence.checks_readable) == (False, [], True)


def test_check_needs_an_exact_commit(forge: GenericForge, repo: RepositoryId) -> None:
    for sha in ("main", "HEAD", "../../heads/main"):
        with pytest.raises(ForgeError, match="no full commit id"):
            forge.report_check(repo, sha, Check("unit", "completed", "success"))


@given(title=st.text(), body=st.text())
def test_record_survives_its_bytes_whatever_the_text(title: str, body: str) -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    record = ChangeRecord(
        state="draft", title=title, body=body, source="s", target="t", head_sha="", created_at=now, updated_at=now
    )
    assert parse_record(ChangeRecord, record.to_bytes(), "here") == record


@given(st.binary())
def test_any_bytes_are_a_record_or_one_error(content: bytes) -> None:
    with pytest.raises(ForgeError, match="here"):
        parse_record(ChangeRecord, content, "here")


def test_names_of_refs_and_files_are_read_strictly() -> None:
    assert change_number("refs/touchline/changes/12") == 12
    for ref in ("refs/touchline/changes/0", "refs/touchline/changes/1/2", "refs/heads/1", "refs/touchline/changes/٣"):
        assert change_number(ref) == 0
    assert comment_number("comments/0012.json") == 12
    for path in ("comments/12.json", "comments/0012.txt", "0012.json", "comments/../0012.json"):
        assert comment_number(path) == 0
    sha = "a" * 40
    assert check_ref(sha, "Unit / linux", None) != check_ref(sha, "unit linux", None)
    assert check_ref(sha, "unit", "app") != check_ref(sha, "unit", None)
    subprocess.run(["git", "check-ref-format", check_ref(sha, "../..~^: 漢字", "x")], check=True)
