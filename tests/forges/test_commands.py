"""A host behind configured commands: JSON in, JSON out; what `inspect` shows counts, not what was answered."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from touchline.errors import (
    ConfigError,
    ForgeAuthError,
    ForgeBusy,
    ForgeCapabilityError,
    ForgeConflict,
    ForgeError,
    ForgeNotFoundError,
    ForgeUnavailable,
)
from touchline.forge import (
    ByBranch,
    ByNumber,
    ByUrl,
    Draft,
    ForgeCapability,
    ForgeSettings,
    LocalForgeHost,
    RepositoryId,
    Secret,
)
from touchline.git.repository import Repository
from touchline.testing.forges import BareBackdoor
from touchline.testing.repositories import git
from touchline_forges.generic import GenericForge

# A host that keeps its changes in one JSON file; `plan` says how the next calls of an operation misbehave.
HOST = """
import json, os, sys, time
folder = sys.argv[1]
asked = json.loads(sys.stdin.buffer.read())
operation = asked["operation"]
def load(name, otherwise):
    try: return json.load(open(os.path.join(folder, name)))
    except FileNotFoundError: return otherwise
def save(name, value): json.dump(value, open(os.path.join(folder, name), "w"))
calls = load("calls.json", []); save("calls.json", calls + [asked])
plan = load("plan.json", {}); how = plan.pop(operation, ""); save("plan.json", plan)
def fail(kind, **more):
    print(json.dumps({"error": {"kind": kind, "reason": "told by the host", **more}})); sys.exit(1)
changes = load("changes.json", [])
def find(number):
    for change in changes:
        if change["number"] == number: return change
    fail("not-found")
if how == "refuse": fail("auth")
if how == "busy": fail("busy", retryAfterS=7)
if how == "nonsense": print("no json"); sys.exit(0)
if how == "noise": sys.stderr.write("boom " + os.environ.get("FORGE_TOKEN", "") + "\\n"); sys.exit(3)
if how == "hang before": time.sleep(60)
if operation == "inspect":
    wanted = asked["selector"]
    if "number" in wanted: answer = find(wanted["number"])
    elif "url" in wanted: answer = dict(find(int(wanted["url"].rpartition("/")[2])), base={"host": "h", "path": "p"})
    else:
        fit = [c for c in changes if c["source"] == wanted["branch"] and c["state"] in ("draft", "ready")]
        if not fit: fail("not-found")
        answer = fit[0]
elif operation == "create-draft":
    answer = {"number": len(changes) + 1, "url": "https://host.invalid/c/%d" % (len(changes) + 1), "state": "draft",
        **{key: asked[key] for key in ("source", "target", "title", "body", "headSha")}}
    if how != "lie": save("changes.json", changes + [answer])
elif operation == "update":
    answer = find(asked["number"])
    answer["body"] = asked["body"][:10] if how == "cut" else asked["body"]
    answer["title"] = asked.get("title", answer["title"])
    if how == "undraft": answer["state"] = "ready"
    save("changes.json", changes)
elif operation == "mark-ready":
    answer = find(asked["number"])
    if how != "lie": answer["state"] = "ready"
    save("changes.json", changes)
elif operation == "comment":
    change = find(asked["number"])
    there = change.setdefault("comments", {})
    answer = {"id": asked["key"], "created": asked["key"] not in there}
    there[asked["key"]] = asked["body"]
    if how == "move": change["headSha"] = "f" * 40
    save("changes.json", changes)
elif operation == "request-review":
    answer = {"requested": ["ada", "not asked for"], "refused": {"bob": "is the author"}}
elif operation == "read-ci":
    sha = "0" * 40 if how == "lie" else asked["headSha"]
    answer = {"requestedHead": sha, "pr": None, "ciConfigured": True, "policy": {"readable": True}, "checks": [],
        "checksReadable": True}
if how == "hang after": time.sleep(60)
print(json.dumps(answer))
"""

ALL = ("inspect", "create-draft", "update", "mark-ready", "comment", "request-review", "read-ci")
TOKEN = "token-of-the-host-77"

Make = Callable[..., GenericForge]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "host"
    folder.mkdir()
    (folder / "host.py").write_text(HOST)
    return folder


@pytest.fixture
def make(state: Path, repo: Path, file_host: BareBackdoor) -> Make:
    git(repo, "remote", "add", "up", file_host.url)

    def build(*operations: str, timeout_s: float = 30.0) -> GenericForge:
        command = (sys.executable, "-I", str(state / "host.py"), str(state))
        settings = ForgeSettings(
            commands=dict.fromkeys(operations or ALL, command),
            token_env="FORGE_TOKEN",
            token=Secret(TOKEN),
            write_timeout_s=timeout_s,
        )
        return GenericForge(settings, LocalForgeHost(Repository.open(repo)))

    return build


@pytest.fixture
def draft(make: Make, repo: Path, file_host: BareBackdoor) -> Draft:
    forge = make()
    base = forge.identify(file_host.url)
    assert base is not None
    git(repo, "fetch", "-q", str(file_host.hosted), "main")
    git(repo, "checkout", "-q", "-b", "topic", "FETCH_HEAD")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Work")
    sha = git(repo, "rev-parse", "HEAD")
    forge.push(base, sha, "topic")
    return Draft(base, "topic", "main", "Add work", "Text — 漢字\r\n", sha)


def misbehave(state: Path, **plan: str) -> None:
    (state / "plan.json").write_text(json.dumps({name.replace("_", "-"): how for name, how in plan.items()}))


def calls(state: Path, operation: str) -> list[dict[str, Any]]:
    return [call for call in json.loads((state / "calls.json").read_text()) if call["operation"] == operation]


def changes(state: Path) -> list[dict[str, Any]]:
    path = state / "changes.json"
    return json.loads(path.read_text()) if path.exists() else []  # type: ignore[no-any-return]


def test_life_of_a_change_goes_through_the_commands(make: Make, draft: Draft, state: Path) -> None:
    forge = make()
    change = forge.create_draft(draft)
    assert (change.state, change.body, change.head_sha) == ("draft", draft.body, draft.head_sha)
    assert change.mergeable.answer == "unknown"
    assert forge.create_draft(draft) == change
    assert len(calls(state, "create-draft")) == 1
    assert forge.inspect(ByBranch(draft.base, "topic")) == change
    assert forge.inspect(ByUrl(change.url)).base == RepositoryId("h", "p")
    changed = forge.update(change, body="new", title="New title")
    assert (changed.title, changed.body) == ("New title", "new")
    assert "title" not in calls(state, "update")[0] or forge.update(changed, body="newer").title == "New title"
    assert "title" not in calls(state, "update")[-1]
    now = forge.inspect(ByNumber(draft.base, change.number))
    first, again = (forge.comment(now, "A word.", key="k") for _ in range(2))
    assert (first.created, again.created, first.id) == (True, False, "k")
    ready = forge.mark_ready(now, head_sha=draft.head_sha)
    assert ready.state == "ready"
    assert forge.mark_ready(ready, head_sha=draft.head_sha) == ready
    assert len(calls(state, "mark-ready")) == 1
    asked = forge.request_review(ready, ["ada", "bob", "eve"])
    assert asked.requested == ("ada",)
    assert asked.refused == {"bob": "is the author", "eve": "the command does not tell"}
    assert forge.read_ci(draft.base, draft.head_sha, ready).requested_head == draft.head_sha


def test_command_gets_the_repository_and_everything_that_it_needs(make: Make, draft: Draft, state: Path) -> None:
    make().create_draft(draft)
    (asked,) = calls(state, "create-draft")
    here = {"host": draft.base.host, "path": draft.base.path}
    assert asked == {
        "operation": "create-draft",
        "repository": here,
        "head": here,
        "source": "topic",
        "target": "main",
        "title": draft.title,
        "body": draft.body,
        "headSha": draft.head_sha,
    }


def test_operation_without_a_command_is_a_missing_capability(make: Make, draft: Draft) -> None:
    forge = make("inspect", "create-draft")
    with pytest.raises(ForgeCapabilityError, match="comment, mark-ready, update"):
        forge.preflight(
            [ForgeCapability.UPDATE, ForgeCapability.MARK_READY, ForgeCapability.COMMENT, ForgeCapability.PUSH],
            repo=draft.base,
        )
    change = forge.create_draft(draft)
    with pytest.raises(ForgeCapabilityError, match="update") as caught:
        forge.update(change, body="x")
    assert caught.value.observed.url == change.url
    assert forge.request_review(change, ["ada"]).refused == {"ada": "no command for request-review is configured"}


def test_mutation_that_could_not_be_observed_is_no_capability(make: Make) -> None:
    forge = make("create-draft", "update")
    assert not {ForgeCapability.CREATE_DRAFT, ForgeCapability.UPDATE} & forge.capabilities
    assert ForgeCapability.PUSH in forge.capabilities


def test_name_of_no_operation_is_refused(make: Make) -> None:
    with pytest.raises(ConfigError, match="merge"):
        make("inspect", "merge")
    assert ForgeCapability.MARK_READY in make("inspect", "mark_ready").capabilities


@pytest.mark.parametrize("how", ["hang after", "noise"])
def test_lost_answer_is_made_good_by_looking(make: Make, draft: Draft, state: Path, how: str) -> None:
    misbehave(state, create_draft=how)
    forge = make(timeout_s=1.5)
    if how == "noise":
        with pytest.raises(ForgeError):
            forge.create_draft(draft)
        assert changes(state) == []
    else:
        assert forge.create_draft(draft).number == 1
    assert len(calls(state, "create-draft")) == 1


def test_write_that_did_not_take_place_is_unavailable(make: Make, draft: Draft, state: Path) -> None:
    misbehave(state, create_draft="hang before")
    began = time.monotonic()
    with pytest.raises(ForgeUnavailable, match="limit of time"):
        make(timeout_s=1.0).create_draft(draft)
    assert time.monotonic() - began < 15
    assert changes(state) == []


@pytest.mark.parametrize(
    ("operation", "how", "error"),
    [
        ("create_draft", "lie", ForgeNotFoundError),
        ("create_draft", "nonsense", ForgeError),
        ("create_draft", "refuse", ForgeAuthError),
        ("inspect", "nonsense", ForgeError),
        ("inspect", "refuse", ForgeAuthError),
    ],
)
def test_claim_without_the_state_is_no_success(
    make: Make, draft: Draft, state: Path, operation: str, how: str, error: type[ForgeError]
) -> None:
    misbehave(state, **{operation: how})
    with pytest.raises(error) as caught:
        make().create_draft(draft)
    assert caught.value.operation == "create-draft"
    assert len(changes(state)) <= 1


@pytest.mark.parametrize("how", ["cut", "undraft"])
def test_update_that_did_something_else_is_a_conflict(make: Make, draft: Draft, state: Path, how: str) -> None:
    forge = make()
    change = forge.create_draft(draft)
    misbehave(state, update=how)
    with pytest.raises(ForgeConflict):
        forge.update(change, body="a text of more than ten")


def test_ready_that_is_not_seen_is_a_conflict(make: Make, draft: Draft, state: Path) -> None:
    forge = make()
    change = forge.create_draft(draft)
    misbehave(state, mark_ready="lie")
    with pytest.raises(ForgeConflict) as caught:
        forge.mark_ready(change, head_sha=draft.head_sha)
    assert caught.value.observed.state == "draft"


def test_head_that_moved_is_noticed_before_and_after(make: Make, draft: Draft, state: Path) -> None:
    forge = make()
    change = forge.create_draft(draft)
    misbehave(state, comment="move")
    with pytest.raises(ForgeConflict) as caught:
        forge.comment(change, "A word.", key="k")
    assert (caught.value.observed.comment_id, caught.value.observed.head_sha) == ("k", "f" * 40)
    for touch in (
        lambda: forge.comment(change, "More.", key="l"),
        lambda: forge.update(change, body="x"),
        lambda: forge.mark_ready(change, head_sha=draft.head_sha),
    ):
        with pytest.raises(ForgeConflict):
            touch()
    assert list(changes(state)[0]["comments"]) == ["k"]


def test_draft_of_a_commit_that_is_not_pushed_is_not_asked_for(make: Make, draft: Draft, state: Path) -> None:
    with pytest.raises(ForgeConflict):
        make().create_draft(replace(draft, head_sha="1" * 40))
    assert calls(state, "create-draft") == []


def test_busy_host_says_when_to_come_back(make: Make, draft: Draft, state: Path) -> None:
    misbehave(state, create_draft="busy")
    with pytest.raises(ForgeBusy) as caught:
        make().create_draft(draft)
    assert caught.value.retry_after_s == 7


def test_evidence_for_another_commit_is_refused(make: Make, draft: Draft, state: Path) -> None:
    misbehave(state, read_ci="lie")
    with pytest.raises(ForgeError, match="requestedHead"):
        make().read_ci(draft.base, draft.head_sha, None)


def test_token_reaches_the_command_and_no_message(make: Make, draft: Draft, state: Path) -> None:
    misbehave(state, inspect="noise")
    with pytest.raises(ForgeError, match=r"boom \*\*\*") as caught:
        make().inspect(ByNumber(draft.base, 1))
    assert TOKEN not in f"{caught.value}{caught.value.__dict__}"


def test_command_that_is_not_installed_is_told(repo: Path, file_host: BareBackdoor) -> None:
    forge = GenericForge(
        ForgeSettings(commands={"inspect": ("no-such-forge-program",)}), LocalForgeHost(Repository.open(repo))
    )
    with pytest.raises(ForgeError, match="no-such-forge-program") as caught:
        forge.inspect(ByNumber(RepositoryId("h", "p"), 1))
    assert (caught.value.operation, caught.value.provider) == ("inspect", "generic")
