"""Owns how drivers are found and loaded (spec page 8): one by its name, and a broken one breaks only itself.

Entry points of the groups `touchline.executors` and `touchline.forges`, through stevedore. Nothing but the
driver that was asked for is imported. Every refusal names the distribution to fix or to remove.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Literal, cast

from stevedore.driver import DriverManager
from stevedore.exception import MultipleMatches, NoMatches

from touchline.errors import PluginLoadError, TouchlineError
from touchline.executor import API_VERSION, Executor, ExecutorSettings
from touchline.forge import Forge, ForgeHost, ForgeSettings

EXECUTORS: Final = "touchline.executors"
FORGES: Final = "touchline.forges"
DISABLE_VARIABLE: Final = "TOUCHLINE_DISABLE_PLUGINS"

Kind = Literal["executor", "forge"]
GROUPS: Final[dict[Kind, str]] = {"executor": EXECUTORS, "forge": FORGES}

_MEMBERS: Final[dict[Kind, tuple[str, ...]]] = {
    "executor": ("name", "capabilities", "check", "run_turn", "settle_without_work"),
    "forge": (
        "name",
        "capabilities",
        "identify",
        "preflight",
        "base_repository",
        "default_target",
        "inspect",
        "fetch_head",
        "fetch_branch",
        "push",
        "create_draft",
        "update",
        "mark_ready",
        "comment",
        "request_review",
        "read_ci",
    ),
}


def disabled_names(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """The plugin names switched off by TOUCHLINE_DISABLE_PLUGINS (comma-separated), in every group."""
    value = (os.environ if environ is None else environ).get(DISABLE_VARIABLE, "")
    return frozenset(name.strip() for name in value.split(",") if name.strip())


def driver_names(kind: Kind, *, environ: Mapping[str, str] | None = None) -> list[str]:
    """The names of all installed drivers of that kind, sorted, without disabled ones; imports no plugin."""
    return sorted({entry.name for entry in entry_points(group=GROUPS[kind])} - disabled_names(environ))


def load_executor_class(name: str, *, environ: Mapping[str, str] | None = None) -> type[Executor]:
    """The class of the executor called `name`; no other plugin is imported.

    Raises PluginLoadError when it is not installed, switched off, broken, doubled, or of another API version.
    """
    return cast("type[Executor]", load_driver_class("executor", name, environ=environ))


def load_executor(name: str, settings: ExecutorSettings, *, environ: Mapping[str, str] | None = None) -> Executor:
    """The executor called `name`, built with its settings. Raises PluginLoadError as its class does."""
    build = cast("Any", load_executor_class(name, environ=environ))
    try:
        return cast("Executor", build(settings))
    except Exception as exc:
        raise PluginLoadError(
            f"executor {name!r} could not be built: {type(exc).__name__}: {exc}",
            fix=f"Check `executors` in the configuration; the driver is from {_sources(EXECUTORS, name)}.",
        ) from exc


def load_forge(
    name: str, settings: ForgeSettings, host: ForgeHost, *, environ: Mapping[str, str] | None = None
) -> Forge:
    """The forge called `name`, built with its settings and host. Raises PluginLoadError as its class does."""
    build = load_driver_class("forge", name, environ=environ)
    try:
        return cast("Forge", build(settings, host))
    except TouchlineError:
        raise
    except Exception as exc:
        raise PluginLoadError(
            f"forge {name!r} could not be built: {type(exc).__name__}: {exc}",
            fix=f"Check `forge` in the configuration; the driver is from {_sources(FORGES, name)}.",
        ) from exc


def load_driver_class(kind: Kind, name: str, *, environ: Mapping[str, str] | None = None) -> type[Any]:
    """The class of one driver, checked for its API version and members. Raises PluginLoadError."""
    group = GROUPS[kind]
    if name in disabled_names(environ):
        raise PluginLoadError(
            f"{kind} {name!r} is switched off by {DISABLE_VARIABLE}",
            fix="Take its name out of that variable.",
        )
    found = entry_points(group=group, name=name)
    if not found:
        names = ", ".join(driver_names(kind, environ=environ)) or "none"
        raise PluginLoadError(
            f"no {kind} {name!r} is installed; installed: {names}",
            fix="Use one of those, or install the distribution that provides it.",
        )
    if len(found) > 1:
        raise _doubled(kind, name)
    driver = _import(kind, name, next(iter(found)))
    _check(driver, kind, name)
    return cast("type[Any]", driver)


def _import(kind: Kind, name: str, known: EntryPoint) -> object:
    group = GROUPS[kind]

    def failed(_manager: Any, entry: EntryPoint, error: BaseException) -> None:
        raise _broken(kind, entry.name, error) from error

    try:
        manager: DriverManager[Any] = DriverManager(group, name, on_load_failure_callback=failed)
    except NoMatches:
        # stevedore's cache is older than the installation: what the metadata says is true.
        return _load_directly(kind, known)
    except MultipleMatches as exc:
        raise _doubled(kind, name) from exc
    except (AssertionError, SystemExit) as exc:
        # Neither reaches stevedore's failure callback; an exit at import would end touchline without a word.
        raise _broken(kind, name, exc) from exc
    return cast("object", manager.driver)


def _load_directly(kind: Kind, known: EntryPoint) -> object:
    try:
        return known.load()
    except (Exception, SystemExit) as exc:
        raise _broken(kind, known.name, exc) from exc


def _check(driver: object, kind: Kind, name: str) -> None:
    origin = _sources(GROUPS[kind], name)
    if not isinstance(driver, type):
        raise PluginLoadError(
            f"{kind} {name!r} from {origin} is no class", fix="Its entry point must name the driver's class."
        )
    version = getattr(driver, "api_version", None)
    if version != API_VERSION:
        spoken = f"speaks plugin API {version}" if version is not None else "declares no `api_version`"
        raise PluginLoadError(
            f"{kind} {name!r} from {origin} {spoken}, touchline speaks {API_VERSION}",
            fix="Install versions of the two that fit each other.",
        )
    missing = [member for member in _MEMBERS[kind] if not hasattr(driver, member)]
    if missing:
        raise PluginLoadError(
            f"{kind} {name!r} from {origin} lacks {', '.join(missing)}",
            fix="The driver must have every member of its contract in touchline.api.",
        )


def _broken(kind: Kind, name: str, error: BaseException) -> PluginLoadError:
    origin = _sources(GROUPS[kind], name)
    return PluginLoadError(
        f"{kind} {name!r} from {origin} failed to load: {type(error).__name__}: {error}",
        fix="Repair or uninstall that distribution; runs that do not name this plugin are not affected.",
    )


def _doubled(kind: Kind, name: str) -> PluginLoadError:
    return PluginLoadError(
        f"more than one distribution provides {kind} {name!r}: {_sources(GROUPS[kind], name)}",
        fix="Uninstall all of them but one.",
    )


def _sources(group: str, name: str) -> str:
    # stevedore's cache keeps no distribution, so the error path asks the metadata again.
    return " and ".join(describe(entry) for entry in entry_points(group=group, name=name)) or name


def describe(entry: EntryPoint) -> str:
    """Where an entry point comes from, for people: distribution, version and object."""
    if entry.dist is None:
        return f"({entry.value})"
    return f"{entry.dist.name} {entry.dist.version} ({entry.value})"
