"""Owns which driver speaks to a host and with what settings (spec page 6 "Auth by host", page 8 section forge). Pure.

Only a token that the configuration names is found here; the usual variables of a host are its driver's business.
"""

from __future__ import annotations

from collections.abc import Mapping

from touchline.documents.settings import ForgeConfig
from touchline.errors import ConfigError
from touchline.forge.contract import ForgeSettings
from touchline.forge.remotes import usual_driver
from touchline.forge.secret import Secret


def choose_forge(
    host: str, configured: Mapping[str, ForgeConfig], environ: Mapping[str, str], *, named: str | None = None
) -> tuple[str, ForgeSettings]:
    """Driver and settings for a host, as `RepositoryId.host` gives it; `named` (a flag) beats the configuration.

    Commands without a driver mean the generic one. Raises ConfigError when the named variable of a token is not set:
    going on without it would act as somebody else.
    """
    config = configured.get(host) or ForgeConfig()
    token = environ.get(config.token_env, "") if config.token_env else ""
    if config.token_env and not token:
        raise ConfigError(
            f"the environment variable {config.token_env} is not set, but `forge` names it for {host}",
            fix=f"Set {config.token_env} to a token of {host}, or take token_env out of the configuration.",
        )
    driver = named or config.driver or ("generic" if config.commands else usual_driver(host))
    settings = ForgeSettings(
        host=host,
        api_url=config.api_url or "",
        token_env=config.token_env or "",
        token=Secret(token),
        commands=config.commands,
        read_timeout_s=config.read_timeout_s,
        write_timeout_s=config.write_timeout_s,
    )
    return driver, settings
