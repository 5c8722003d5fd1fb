"""Which driver speaks to a host: by the flag, by the configuration, by the host's name."""

from __future__ import annotations

import pytest

from touchline.documents.settings import ForgeConfig
from touchline.errors import ConfigError
from touchline.forge import choose_forge

COMMANDS = {"inspect": ("tool", "inspect")}


@pytest.mark.parametrize(
    ("host", "config", "named", "driver"),
    [
        ("github.com", {}, None, "github"),
        ("gitlab.example.com", {}, None, "gitlab"),
        ("git.example.com", {}, None, "generic"),
        ("file", {}, None, "generic"),
        ("git.example.com", {"driver": "gitlab"}, None, "gitlab"),
        ("git.example.com", {"driver": "gitlab"}, "github", "github"),
        ("github.example.com", {"commands": COMMANDS}, None, "generic"),
        ("github.example.com", {"commands": COMMANDS, "driver": "github"}, None, "github"),
    ],
)
def test_flag_beats_configuration_beats_name(
    host: str, config: dict[str, object], named: str | None, driver: str
) -> None:
    configured = {host: ForgeConfig.model_validate(config)} if config else {}
    chosen, settings = choose_forge(host, configured, {}, named=named)
    assert chosen == driver
    assert settings.host == host


def test_settings_of_one_host_are_not_those_of_another() -> None:
    configured = {"a.invalid": ForgeConfig(token_env="A_TOKEN", api_url="https://a.invalid/api", commands=COMMANDS)}
    environ = {"A_TOKEN": "of-a"}
    _, settings = choose_forge("a.invalid", configured, environ)
    assert (settings.token.reveal(), settings.api_url, settings.commands) == ("of-a", "https://a.invalid/api", COMMANDS)
    assert settings.token_env == "A_TOKEN"
    _, other = choose_forge("b.invalid", configured, environ)
    assert (other.token.reveal(), other.api_url, dict(other.commands)) == ("", "", {})


@pytest.mark.parametrize("environ", [{}, {"A_TOKEN": ""}])
def test_named_variable_that_is_not_set_is_an_error(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="A_TOKEN is not set"):
        choose_forge("a.invalid", {"a.invalid": ForgeConfig(token_env="A_TOKEN")}, environ)
