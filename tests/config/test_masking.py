"""Secrets in the wrong place are recognised and never shown (spec page 8)."""

from __future__ import annotations

import pytest

from touchline.config.masking import HIDDEN, holds_secret, shown

TOKENS = [
    "sk-" + "ant-api03-abcdefghijklmnop",
    "ghp_" + "a" * 36,
    "github_pat_" + "a" * 30,
    "glpat-" + "a" * 20,
    "xoxb-" + "1234567890-abc",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "eyJ" + "a" * 20 + "." + "b" * 20 + "." + "c" * 10,
    "https://user:password@example.com/x",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_recognised_and_cut_out_wherever_it_stands(token: str) -> None:
    value = {"executors": {"a": {"extra_args": ["--key", f"x={token}"]}}}
    assert holds_secret(value)
    assert token not in str(shown(value))
    assert HIDDEN in str(shown(value))


@pytest.mark.parametrize(
    "text", ["", "opus", "sk-short", "task-runner-with-a-long-name", "https://example.com/a@b", "bash(git push *)"]
)
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert not holds_secret({"a": [text]})
    assert shown(text) == text


def test_values_of_the_environment_section_are_hidden_and_their_names_shown() -> None:
    value = {"executors": {"a": {"env": {"HTTP_PROXY": "http://x"}, "env_from": {"A": "B"}}}}
    assert shown(value) == {"executors": {"a": {"env": {"HTTP_PROXY": HIDDEN}, "env_from": {"A": "B"}}}}
