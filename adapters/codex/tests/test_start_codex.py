"""What a turn is started with: the private home, the native binary, git's folders, the arguments."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import ExecutorError
from touchline.testing.repositories import git, make_repository
from touchline_codex.arguments import merged, overrides, turn_arguments
from touchline_codex.gitdirs import git_folders
from touchline_codex.home import layer, trusted_hooks, users_config, users_home
from touchline_codex.program import native

MACHINES = {
    ("Linux", "x86_64"): ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    ("Linux", "aarch64"): ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
    ("Darwin", "x86_64"): ("codex-darwin-x64", "x86_64-apple-darwin"),
    ("Darwin", "arm64"): ("codex-darwin-arm64", "aarch64-apple-darwin"),
}


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def arguments(**chosen: object) -> dict[str, object]:
    """The configuration that the arguments of a turn come to."""
    given: dict[str, object] = {
        "trust": {},
        "writable": (),
        "config": {},
        "without_tmp": False,
        "without_instructions": False,
        "ephemeral_login": False,
        "hooks": {},
    }
    return overrides(turn_arguments(**{**given, **chosen}))  # type: ignore[arg-type]


def test_home_is_the_users_own_or_the_one_they_chose(tmp_path: Path) -> None:
    assert users_home({"HOME": "/home/user"}) == Path("/home/user/.codex")
    assert users_home({"HOME": "/home/user", "CODEX_HOME": str(tmp_path)}) == tmp_path


def test_private_home_links_what_is_configuration_and_nothing_else(tmp_path: Path) -> None:
    users = tmp_path / "users"
    for name in (
        "config.toml",
        "work.config.toml",
        "AGENTS.md",
        "history.jsonl",
        "state_5.sqlite",
        ".credentials.json",
    ):
        (users / name).parent.mkdir(parents=True, exist_ok=True)
        (users / name).write_text(name)
    for name in ("rules", "sessions", "log", "prompts", "skills/.system", "skills/mine"):
        (users / name).mkdir(parents=True)
    private = layer(tmp_path / "private", users)
    links = sorted(str(path.relative_to(private)) for path in private.rglob("*") if path.is_symlink())
    assert links == [
        *(".credentials.json", "AGENTS.md", "auth.json", "config.toml", "prompts", "skills/mine", "work.config.toml")
    ]
    assert (private / "config.toml").resolve() == users / "config.toml"


def test_login_that_is_made_later_is_found_and_written_where_it_belongs(tmp_path: Path) -> None:
    users = tmp_path / "users"
    private = layer(tmp_path / "private", users)
    users.mkdir()
    (private / "auth.json").write_text("{}")
    assert (users / "auth.json").read_text() == "{}"


def test_home_is_brought_up_to_date_and_what_somebody_else_put_there_is_removed(tmp_path: Path) -> None:
    users, other = tmp_path / "users", tmp_path / "other"
    users.mkdir()
    (users / "config.toml").write_text("")
    private = layer(tmp_path / "private", users)
    (private / "auth.json").unlink()
    (private / "auth.json").write_text("copied")
    (private / "rules").mkdir()
    (private / "rules" / "mine.rules").write_text("allow everything")
    (private / "hooks.json").write_text("{}")
    (private / "state.sqlite").write_text("")
    layer(private, users)
    assert (private / "auth.json").is_symlink()
    assert sorted(path.name for path in private.iterdir()) == ["auth.json", "config.toml", "skills", "state.sqlite"]
    other.mkdir()
    (other / "config.toml").write_text("")
    layer(private, other)
    assert (private / "config.toml").resolve() == other / "config.toml"


def test_home_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExecutorError, match="could not be made a home"):
        layer(tmp_path / "file" / "private", tmp_path)


def test_trust_in_the_users_hooks_comes_along_but_not_for_those_that_answer_for_us(tmp_path: Path) -> None:
    users, private = tmp_path / "users", tmp_path / "private"
    state = {
        f"{users}/config.toml:pre_tool_use:0:0": {"trusted_hash": "sha256:1", "enabled": True},
        f"{users}/hooks.json:stop:0:0": {"trusted_hash": "sha256:2"},
        f"{users}/config.toml:permission_request:0:0": {"trusted_hash": "sha256:3", "enabled": True},
        f"{users}/config.toml:pre_tool_use:1:0": {"trusted_hash": "sha256:4", "enabled": False},
        f"{users}/config.toml:pre_tool_use:2:0": {"enabled": True},
        "/elsewhere/config.toml:pre_tool_use:0:0": {"trusted_hash": "sha256:5", "enabled": True},
        f"{users}-too/config.toml:pre_tool_use:0:0": {"trusted_hash": "sha256:6", "enabled": True},
        f"{users}/config.toml:pre_tool_use:3:0": "trusted",
    }
    expected = {
        f"{private}/config.toml:pre_tool_use:0:0": "sha256:1",
        f"{private}/hooks.json:stop:0:0": "sha256:2",
    }
    found = trusted_hooks({"hooks": {"state": state}}, private, users)
    assert found == expected
    assert trusted_hooks({"hooks": [1]}, private, users) == {}
    told = arguments(hooks=found)["hooks"]
    assert told == {"state": {key: {"trusted_hash": value} for key, value in expected.items()}}


@pytest.mark.parametrize("content", [b"model = [", b"\xff\xfe", None])
def test_configuration_that_cannot_be_read_counts_as_empty(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "config.toml").write_bytes(content)
    assert users_config(tmp_path) == {}


@pytest.mark.skipif(
    (platform.system(), platform.machine()) not in MACHINES, reason="npm has no binary for this machine"
)
@pytest.mark.parametrize("place", ["beside", "inside", "hoisted"])
def test_script_of_npm_is_replaced_by_its_binary(tmp_path: Path, place: str) -> None:
    name, triple = MACHINES[platform.system(), platform.machine()]
    package = tmp_path / "lib" / "node_modules" / "@openai" / "codex"
    script = executable(package / "bin" / "codex.js")
    root = {
        "beside": package.parent / name,
        "inside": package,
        "hoisted": tmp_path / "node_modules" / "@openai" / name,
    }[place]
    binary = executable(root / "vendor" / triple / "bin" / "codex")
    link = tmp_path / "bin" / "codex"
    link.parent.mkdir()
    link.symlink_to(script)
    assert native((str(link), "-x"), environ={}) == [str(binary), "-x"]
    assert native(("codex",), environ={"PATH": f"relative:{tmp_path / 'bin'}"}) == [str(binary)]


def test_script_without_its_binary_and_any_other_program_stay(tmp_path: Path) -> None:
    script = executable(tmp_path / "codex" / "bin" / "codex.js")
    assert native((str(script),), environ={}) == [str(script)]
    other = executable(tmp_path / "own" / "codex")
    assert native((str(other), "a"), environ={}) == [str(other), "a"]
    assert native(("codex",), environ={"PATH": ""}) == ["codex"]


def test_folders_of_a_plain_and_of_a_linked_work_tree(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    (repo / "sub").mkdir()
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    assert git_folders(repo / "sub") == (repo / ".git",)
    assert git_folders(tmp_path / "linked") == (repo / ".git", repo / ".git" / "worktrees" / "linked")
    assert git_folders(tmp_path) == ()


@pytest.mark.parametrize("way", ["elsewhere", "symlink", "nothing", "not git's"])
def test_pointer_that_the_work_bent_is_not_believed(tmp_path: Path, way: str) -> None:
    repo = make_repository(tmp_path / "repo")
    linked, target = tmp_path / "linked", tmp_path / "target"
    git(repo, "worktree", "add", "-q", str(linked), "-b", "side")
    target.mkdir()
    pointer = linked / ".git"
    pointer.unlink()
    if way == "elsewhere":
        pointer.write_text(f"gitdir: {target}\n")
        (target / "commondir").write_text("..\n")
        (target / "gitdir").write_text(f"{pointer}\n")
    elif way == "symlink":
        pointer.symlink_to(target)
    elif way == "nothing":
        pointer.write_text("gitdir: \n")
    else:
        pointer.write_bytes(b"\xff\xfe\x00")
    assert git_folders(linked) == ()


def test_trust_is_said_for_exactly_the_folder() -> None:
    config = arguments(trust={Path('/a "b"/ü'): True, Path("/c"): False})
    assert config["projects"] == {'/a "b"/ü': {"trust_level": "trusted"}, "/c": {"trust_level": "untrusted"}}


def test_writable_folders_of_the_users_are_kept() -> None:
    own = {"sandbox_workspace_write": {"writable_roots": ["/opt", 3], "network_access": True}}
    config = arguments(config=own, writable=(Path("/repo/.git"),), without_tmp=True)
    assert config["sandbox_workspace_write"] == {"writable_roots": ["/opt", "/repo/.git"], "exclude_slash_tmp": True}


def test_what_a_turn_leaves_out_is_said_only_where_it_does() -> None:
    assert {"project_doc_max_bytes", "cli_auth_credentials_store"}.isdisjoint(arguments())
    config = arguments(without_instructions=True, ephemeral_login=True)
    assert (config["project_doc_max_bytes"], config["cli_auth_credentials_store"]) == (0, "ephemeral")


def test_overrides_are_read_as_codex_reads_them() -> None:
    given = ["-c", "a.b=1", "--config", 'a.c="x"', "--config=d=plain words", "-c", "novalue", "--other", "-c"]
    assert overrides(given) == {"a": {"b": 1, "c": "x"}, "d": "plain words"}


def test_tables_are_put_together_and_values_are_replaced() -> None:
    assert merged({"a": {"b": 1, "c": 2}, "d": 1}, {"a": {"c": 3}, "d": {"e": 4}}) == {
        "a": {"b": 1, "c": 3},
        "d": {"e": 4},
    }


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), max_size=3))
def test_any_path_is_quoted_so_that_it_comes_back(names: list[str]) -> None:
    paths = [Path("/", name.replace("\0", "")) for name in names]
    config = arguments(trust=dict.fromkeys(paths, True), writable=paths)
    assert config["projects"] == {str(path): {"trust_level": "trusted"} for path in paths}
    assert config["sandbox_workspace_write"] == {"writable_roots": [str(path) for path in paths]}
