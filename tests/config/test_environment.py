"""Settings from TOUCHLINE_CFG__ variables (spec page 8)."""

from __future__ import annotations

import pytest

from touchline.config.load import load_settings
from touchline.documents.settings import Settings
from touchline.errors import ConfigError


def read(repo_file: bytes = b"", **variables: str) -> Settings:
    environ = {f"TOUCHLINE_CFG__{name}": value for name, value in variables.items()}
    return load_settings(repo_file=repo_file, environ=environ).settings


def refusal(**variables: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(**variables)
    return str(caught.value)


def test_values_are_read_as_yaml() -> None:
    found = read(RUN__MAX_TURNS="3", TESTS__ENABLED="false", TESTS__TIMEOUT="5m", GATES__REVIEW="[a, b]")
    assert (found.run.max_turns, found.tests.enabled, found.tests.timeout_s) == (3, False, 300)
    assert found.gates.review == ("a", "b")


def test_a_whole_section_can_be_given_and_single_keys_beside_it() -> None:
    found = read(RUN="{max_turns: 3, severity: 4}", RUN__SEVERITY="6")
    assert (found.run.max_turns, found.run.severity) == (3, 6)


def test_an_empty_variable_says_nothing() -> None:
    assert read(RUN__MAX_TURNS="").run.max_turns == 10


def test_a_name_of_the_users_choice_is_found_whatever_its_dashes() -> None:
    found = read(b"executors: {my-claude: {model: a}}", EXECUTORS__MY_CLAUDE__MODEL="b")
    assert found.executors["my-claude"].model == "b"
    assert list(found.executors) == ["my-claude"]


def test_a_new_name_is_made_in_lower_case_and_environment_names_keep_theirs() -> None:
    found = read(EXECUTORS__FAST__MODEL="b", EXECUTORS__FAST__ENV__HTTP_PROXY="x")
    assert found.executors["fast"].model == "b"
    assert found.executors["fast"].env == {"HTTP_PROXY": "x"}


def test_other_variables_are_not_looked_at() -> None:
    loaded = load_settings(environ={"TOUCHLINE_CFG_RUN": "x", "TOUCHLINE_RUN": "1", "PATH": "/bin"})
    assert loaded.settings == Settings()


def test_a_mistake_names_the_variable_and_the_nearest_key() -> None:
    assert refusal(RUN__MAX_TURN="3").startswith(
        "TOUCHLINE_CFG__RUN__MAX_TURN: run.max_turn: unknown key; did you mean `max_turns`?"
    )
    assert refusal(RUN__SEVERITY="99").startswith("TOUCHLINE_CFG__RUN__SEVERITY: run.severity: expected at most 10")


def test_malformed_names_and_values_are_configuration_errors() -> None:
    assert "two underscores" in refusal(RUN____X="1")
    assert "TOUCHLINE_CFG__RUN__PLANS:1:" in refusal(RUN__PLANS="[a")
    assert "another variable sets `run` as a whole" in refusal(RUN="5", RUN__SEVERITY="3")
    assert "not UTF-8" in refusal(RUN__PLANS="\udcff")
