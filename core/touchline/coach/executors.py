"""Which executors a run uses, built from the configuration (spec page 5, "No configuration at all")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from touchline.documents.settings import ExecutorConfig, Settings
from touchline.errors import ExecutorError, PluginLoadError
from touchline.executor import Executor, ExecutorSettings
from touchline.plugins.load import driver_names, load_executor

PREFERRED = ("claude", "codex", "opencode", "grok")
"""The order in which the player's executor is picked when nobody named one; other plugins follow by name."""

NEVER_PICKED = frozenset({"scripted"})
"""Drivers that play only when they are named."""

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_MIN = 8


def build_executor(name: str, settings: Settings, environ: Mapping[str, str]) -> Executor:
    """The executor that is configured as `name`, or the driver of that name with its defaults.

    Raises PluginLoadError when there is none, ExecutorError when a variable named under `env_from` is not set.
    """
    config = settings.executors.get(name, ExecutorConfig())
    return load_executor(config.driver or name, _driver_settings(name, config, environ), environ=environ)


def pick_player(named: str | None, settings: Settings, environ: Mapping[str, str]) -> str:
    """The player's executor: the named one, else the first whose program is installed.

    Raises ExecutorError saying what to install when there is none.
    """
    if named is not None:
        return named
    tried = []
    for name in candidates(settings, driver_names("executor", environ=environ)):
        try:
            readiness = build_executor(name, settings, environ).check()
        except (PluginLoadError, ExecutorError) as error:
            tried.append(f"{name}: {error.what}")
            continue
        if readiness.installed:
            return name
        tried.append(f"{name}: {readiness.problem or 'not installed'}")
    raise ExecutorError(
        "no agent CLI was found" + (f" ({'; '.join(tried)})" if tried else ""),
        fix="Install one, for instance Claude Code, and log in to it; or name an executor with --executor.",
    )


def candidates(settings: Settings, drivers: Sequence[str]) -> list[str]:
    """The names that may be picked, the most preferred one first. Pure."""
    known = [name for name in PREFERRED if name in drivers]
    others = sorted(name for name in drivers if name not in known and name not in NEVER_PICKED)
    configured = [name for name, config in settings.executors.items() if (config.driver or name) not in NEVER_PICKED]
    return list(dict.fromkeys([*configured, *known, *others]))


def secret_values(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secret values that this run knows, to be masked wherever something is recorded."""
    named = {source for config in settings.executors.values() for source in config.env_from.values()}
    named |= {config.token_env for config in settings.forge.values() if config.token_env}
    values = {
        value
        for name, value in environ.items()
        if (name in named or _SECRET_NAME.search(name)) and len(value) >= _SECRET_MIN
    }
    return tuple(sorted(values))


def _driver_settings(name: str, config: ExecutorConfig, environ: Mapping[str, str]) -> ExecutorSettings:
    env = dict(config.env)
    for target, source in config.env_from.items():
        if source not in environ:
            raise ExecutorError(
                f"executor {name!r} takes {target} from the environment variable {source}, which is not set",
                fix=f"Set {source}, or change `executors.{name}.env_from` in the configuration.",
            )
        env[target] = environ[source]
    return ExecutorSettings(
        command=config.command or (),
        model=config.model,
        env=env,
        env_remove=config.env_remove,
        extra_args=config.extra_args,
        script=config.script,
    )
