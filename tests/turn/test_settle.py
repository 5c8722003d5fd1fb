from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import GitQueryError
from touchline.git.facts import GitTurnStatus
from touchline.turn import Role, Trailer, check_finish, no_trailer_settlement, question_or_silent
from touchline.turn.settle import Failure, FailureKind, Guard, TurnSettlement, settle

HEAD = "0123456789abcdef0123456789abcdef01234567"
NEW = GitTurnStatus(branch="main", commit=HEAD, has_new=True)
OLD = GitTurnStatus(branch="main", commit=HEAD, has_new=False)
UNKNOWN = GitQueryError("git rev-parse failed: fatal: not a git repository")
ASK = 'Two ways.\n{"ask": "Which one?"}'


def finish(branch: str = "main", commit: str = HEAD) -> str:
    return f'{{"branch": "{branch}", "commit": "{commit}", "summary": "done"}}'


def verdict(
    text: str,
    git: GitTurnStatus | GitQueryError = OLD,
    *,
    role: Role = "executor",
    failure: Failure | None = None,
    changed: bool | None = None,
    guard: Guard = question_or_silent,
) -> TurnSettlement:
    return settle(role=role, session_id="s", text=text, failure=failure, git=git, tree_changed=changed, guard=guard)


def test_a_finish_that_git_confirms_is_finished() -> None:
    settled = verdict(finish(), NEW)
    assert (settled.kind, settled.ok, settled.branch, settled.commit) == ("finished", True, "main", HEAD)
    assert (settled.summary, settled.fail_reason, settled.void_reason) == ("done", "", "")


@pytest.mark.parametrize(
    ("text", "git", "word"),
    [
        (finish(branch="other"), NEW, "'other'"),
        (finish(commit="f" * 40), NEW, "the head is 0123456789ab"),
        (finish(commit="v1.0"), NEW, "no commit hash"),
        (finish(commit="012345"), NEW, "no commit hash"),
        (finish(commit="main"), NEW, "no commit hash"),
        (finish(), OLD, "not new"),
        ('{"summary": "done"}', NEW, "names no commit"),
        (finish(), UNKNOWN, "cannot be checked"),
        (finish(), GitTurnStatus(branch="HEAD", commit=HEAD, has_new=True), "'HEAD'"),
        (finish(commit=HEAD + "0"), NEW, "the head is"),
    ],
)
def test_a_finish_that_git_contradicts_is_failed_and_says_which_fact(
    text: str, git: GitTurnStatus | GitQueryError, word: str
) -> None:
    settled = verdict(text, git)
    assert (settled.kind, settled.ok) == ("failed", False)
    assert settled.failure is not None
    assert settled.failure.kind is FailureKind.CONTRADICTED
    assert word in settled.fail_reason


@pytest.mark.parametrize("commit", [HEAD, HEAD[:7], HEAD[:12].upper(), f" {HEAD} "])
def test_a_commit_may_be_named_short_and_in_upper_case(commit: str) -> None:
    assert check_finish(Trailer("finish", branch="refs/heads/main", commit=commit), NEW) == ""


def test_a_player_needs_no_commit_and_keeps_its_report() -> None:
    settled = verdict('{"summary": "done", "report": {"build": "ok"}}', role="player", changed=True)
    assert (settled.kind, settled.ok, settled.report) == ("finished", True, {"build": "ok"})
    assert verdict('{"summary": "done"}', UNKNOWN, role="player").kind == "finished"


def test_a_declared_turn_without_work_is_still_declared() -> None:
    assert verdict('{"summary": "nothing to do"}', role="player", changed=False).kind == "finished"


@pytest.mark.parametrize(
    ("text", "git"), [(finish(branch="x"), NEW), (finish(commit="f" * 40), NEW), (finish(), UNKNOWN)]
)
def test_a_player_whose_claims_git_contradicts_is_undeclared(text: str, git: GitTurnStatus | GitQueryError) -> None:
    settled = verdict(text, git, role="player", changed=True)
    assert (settled.kind, settled.ok, settled.void_reason) == ("undeclared", False, "undeclared")
    assert settled.fail_reason
    assert settled.summary == "done"


@pytest.mark.parametrize("role", ["executor", "player", "verifier"])
def test_an_ask_is_asked_whatever_git_says(role: Role) -> None:
    for git in (NEW, OLD, UNKNOWN):
        settled = verdict(ASK, git, role=role, changed=True)
        assert (settled.kind, settled.ok, settled.question) == ("asked", False, "Which one?")


def test_new_work_without_a_trailer_is_undeclared_and_keeps_the_facts() -> None:
    text = "x" * 300 + "All tests pass, I am done."
    settled = verdict(text, NEW)
    assert settled == no_trailer_settlement("s", "main", HEAD, text)
    assert (settled.kind, settled.ok, settled.branch, settled.commit) == ("undeclared", False, "main", HEAD)
    assert settled.void_reason == "undeclared"
    assert settled.summary == ""
    for part in ("trailer", "main@0123456789ab", text[-200:]):
        assert part in settled.fail_reason
    assert text[-201:] not in settled.fail_reason
    assert verdict("done", OLD, role="player", changed=True).kind == "undeclared"


@pytest.mark.parametrize(
    ("git", "role", "changed"),
    [
        (OLD, "executor", None),
        (UNKNOWN, "executor", None),
        (NEW, "player", False),
        (OLD, "player", None),
        (UNKNOWN, "player", None),
    ],
)
def test_without_new_work_or_without_knowing_it_becomes_a_question(
    git: GitTurnStatus | GitQueryError, role: Role, changed: bool | None
) -> None:
    settled = verdict("Shall I go on?", git, role=role, changed=changed)
    assert (settled.kind, settled.ok, settled.question) == ("asked", False, "Shall I go on?")
    silent = verdict(" \n", git, role=role, changed=changed)
    assert (silent.kind, silent.ok, silent.fail_reason) == ("silent", False, "the turn produced no text")


@dataclass(frozen=True)
class Native:
    text: str


def test_a_native_question_goes_before_the_text() -> None:
    assert question_or_silent("s", "prose", Native("Which?")).question == "Which?"
    assert question_or_silent("s", "", Native("Which?")).kind == "asked"
    assert question_or_silent("s", "prose", Native(" ")).question == "prose"
    assert question_or_silent("s", "", Native(" ")).kind == "silent"


def test_a_long_question_is_clamped_and_its_text_kept() -> None:
    text = "x" * 9000
    settled = verdict(text)
    assert "render.log" in settled.question
    assert len(settled.question) < 8200
    assert settled.text == text


def test_a_failure_is_never_overruled_by_a_trailer() -> None:
    failure = Failure(FailureKind.CRASHED, "the program died")
    settled = verdict(finish(), NEW, failure=failure)
    assert (settled.kind, settled.ok, settled.fail_reason) == ("failed", False, "the program died")
    assert (settled.failure, settled.void_reason, settled.text) == (failure, "executor-gone", finish())
    assert settled.commit == HEAD


def test_a_cancelled_turn_is_interrupted() -> None:
    settled = verdict("part", failure=Failure(FailureKind.CANCELLED, "stopped"))
    assert (settled.kind, settled.text, settled.void_reason) == ("interrupted", "part", "")


def test_a_plugin_cannot_declare_a_turn_done_through_its_guard() -> None:
    def lie(session_id: str, text: str) -> TurnSettlement:
        return TurnSettlement("finished", True, session_id, text)

    settled = verdict("text", guard=lie)
    assert (settled.kind, settled.ok) == ("failed", False)
    assert settled.failure is not None
    assert settled.failure.kind is FailureKind.PROTOCOL


def test_a_plugins_own_guard_is_used() -> None:
    def quiet(session_id: str, text: str) -> TurnSettlement:
        return TurnSettlement("silent", False, "another", fail_reason="only a banner")

    settled = verdict("banner", guard=quiet)
    assert (settled.kind, settled.fail_reason, settled.session_id) == ("silent", "only a banner", "s")
    assert settled.text == "banner"


def test_a_verifier_is_done_when_it_answered() -> None:
    assert verdict('{"findings": []}', role="verifier").kind == "finished"
    assert verdict("", role="verifier").kind == "silent"


@given(
    st.sampled_from(["", "prose", ASK, finish(), '{"summary": "s"}']),
    st.sampled_from([NEW, OLD, UNKNOWN]),
    st.sampled_from(["executor", "player"]),
    st.sampled_from([None, *FailureKind]),
    st.sampled_from([True, False, None]),
)
def test_only_a_finish_trailer_is_ever_ok(
    text: str,
    git: GitTurnStatus | GitQueryError,
    role: Role,
    kind: FailureKind | None,
    changed: bool | None,
) -> None:
    failure = Failure(kind, "why") if kind else None
    settled = verdict(text, git, role=role, failure=failure, changed=changed)
    assert settled.ok == (settled.kind == "finished")
    if settled.ok:
        assert "summary" in text
        assert failure is None
    else:
        assert settled.fail_reason or settled.question
