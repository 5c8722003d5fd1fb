from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.process.environment import clean_environment, inside_run

FORGE_TOKENS = [
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITHUB_PAT",
    "GITHUB_API_TOKEN",
    "GITLAB_TOKEN",
    "GITLAB_PRIVATE_TOKEN",
    "GITLAB_ACCESS_TOKEN",
    "GL_TOKEN",
    "GITEA_TOKEN",
    "BITBUCKET_APP_PASSWORD",
    "CI_JOB_TOKEN",
    "CI_JOB_JWT_V2",
    "CI_REGISTRY_PASSWORD",
    "CI_DEPLOY_PASSWORD",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
]
NESTED = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_REMOTE_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "OPENCODE",
    "OPENCODE_PID",
]
USERS_OWN = [
    "PATH",
    "HOME",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "XAI_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "OPENCODE_CONFIG",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "GIT_AUTHOR_NAME",
    "GITHUB_ACTIONS",
    "GITHUB_SHA",
    "CI",
    "SSH_AUTH_SOCK",
]


@pytest.mark.parametrize("name", FORGE_TOKENS)
def test_forge_tokens_never_reach_a_child(name: str) -> None:
    assert clean_environment({name: "secret", "A": "b"}) == {"A": "b"}


@pytest.mark.parametrize("name", NESTED)
def test_a_child_does_not_believe_that_it_runs_inside_another_agent(name: str) -> None:
    assert clean_environment({name: "1", "A": "b"}) == {"A": "b"}


@pytest.mark.parametrize("name", USERS_OWN)
def test_the_users_own_login_and_settings_stay(name: str) -> None:
    assert clean_environment({name: "value"}) == {name: "value"}


def test_nothing_that_git_calls_local_to_a_repository_is_inherited() -> None:
    listed = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True, timeout=30
    )
    names = listed.stdout.split()
    assert "GIT_DIR" in names
    for name in [*names, "GIT_NAMESPACE", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_12"]:
        assert clean_environment({name: "x"}) == {}


def test_what_the_configuration_removes_is_removed_and_what_it_adds_is_added() -> None:
    base = {"A": "1", "B": "2", "GH_TOKEN": "secret"}
    assert clean_environment(base, remove=["A"], add={"GH_TOKEN": "chosen", "C": "3"}) == {
        "B": "2",
        "C": "3",
        "GH_TOKEN": "chosen",
    }


def test_the_run_marks_its_children_whatever_is_inherited_or_added() -> None:
    marked = clean_environment({"TOUCHLINE_RUN": "outer"}, run_id="mine", add={"TOUCHLINE_RUN": "other"})
    assert marked == {"TOUCHLINE_RUN": "mine"}
    assert inside_run(marked) == "mine"
    assert inside_run({}) == ""


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_cleaning_twice_changes_nothing_and_values_are_never_touched(base: dict[str, str]) -> None:
    once = clean_environment(base)
    assert clean_environment(once) == once
    assert once.items() <= base.items()
