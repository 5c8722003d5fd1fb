"""Owns which hook plugins are loaded (spec page 8): installed ones, `-p MODULE`, and `hooks.modules`.

An installed plugin that does not load is recorded and passed over; one that was named by the person or the
configuration is an error. pluggy is imported only when there is a plugin to load.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

from touchline.errors import PluginLoadError
from touchline.executor import API_VERSION
from touchline.plugins.hooks import BrokenHooks, Hooks
from touchline.plugins.load import describe, disabled_names
from touchline.plugins.survey import PluginRow

if TYPE_CHECKING:
    import pluggy

HOOKS: Final = "touchline.hooks"
TRACE_VARIABLE: Final = "TOUCHLINE_TRACE_HOOKS"


def load_hooks(
    modules: Sequence[str] = (),
    *,
    environ: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Hooks:
    """All hook plugins: the installed ones and `modules` (those of `-p` and of the configuration).

    `say` shows one line. Raises PluginLoadError for a module that cannot be imported or is no hook plugin.
    """
    environ = os.environ if environ is None else environ
    off = disabled_names(environ)
    installed = [entry for entry in entry_points(group=HOOKS) if entry.name not in off]
    named = [module for module in dict.fromkeys(modules) if module not in off]
    if not installed and not named:
        return Hooks(say=say)
    manager = _new_manager()
    broken = []
    for entry in installed:
        try:
            _refuse_doubled(entry, installed)
            _register(manager, entry.load, entry.name)
        except PluginLoadError as exc:
            broken.append(BrokenHooks(entry.name, f"{describe(entry)}: {exc.what}"))
            say(f"hook plugin {entry.name!r} from {describe(entry)} is not loaded: {exc.what}")
    for module in named:
        try:
            _register(manager, lambda module=module: import_module(module), module)  # type: ignore[misc]
        except PluginLoadError as exc:
            raise PluginLoadError(
                f"hook plugin {module!r}: {exc.what}",
                fix="Check the name given with -p or under `hooks.modules`; its folder must be on PYTHONPATH.",
            ) from exc
    return Hooks(manager=manager, broken=tuple(broken), say=say, trace=_is_on(environ.get(TRACE_VARIABLE, "")))


def survey_hooks(environ: Mapping[str, str] | None = None) -> list[PluginRow]:
    """Every installed hook plugin, sorted by name, with what is wrong with it. Imports all of them."""
    off = disabled_names(environ)
    installed = sorted(entry_points(group=HOOKS), key=lambda entry: entry.name)
    rows = []
    for entry in installed:
        error = ""
        hooks: tuple[str, ...] = ()
        disabled = entry.name in off
        if not disabled:
            try:
                _refuse_doubled(entry, installed)
                hooks = _register(_new_manager(), entry.load, entry.name)
            except PluginLoadError as exc:
                error = exc.what
        rows.append(
            PluginRow(
                kind="hooks",
                name=entry.name,
                distribution=entry.dist.name if entry.dist else "",
                version=entry.dist.version if entry.dist else "",
                value=entry.value,
                api_version=None if error or disabled else API_VERSION,
                capabilities=hooks,
                error=error,
                disabled=disabled,
            )
        )
    return rows


def _new_manager() -> pluggy.PluginManager:
    import pluggy

    from touchline.plugins import hookspecs

    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def _refuse_doubled(entry: EntryPoint, installed: Sequence[EntryPoint]) -> None:
    same = [describe(other) for other in installed if other.name == entry.name]
    if len(same) > 1:
        raise PluginLoadError(f"more than one distribution provides this name: {' and '.join(same)}")


def _register(manager: pluggy.PluginManager, load: Callable[[], object], name: str) -> tuple[str, ...]:
    """Import and register one plugin; the names of its hooks. Raises PluginLoadError and leaves nothing behind."""
    import pluggy

    try:
        plugin = load()
    except (Exception, SystemExit) as exc:
        raise PluginLoadError(f"failed to load: {type(exc).__name__}: {exc}") from exc
    if manager.is_registered(plugin):  # installed, and named with -p as well
        return ()
    version = getattr(plugin, "api_version", None)
    if version != API_VERSION:
        spoken = f"speaks plugin API {version}" if version is not None else "declares no `api_version`"
        raise PluginLoadError(f"{spoken}, touchline speaks {API_VERSION}")
    try:
        manager.register(plugin, name)
        manager.check_pending()
    except (pluggy.PluginValidationError, ValueError) as exc:
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        raise PluginLoadError(str(exc)) from exc
    callers = manager.get_hookcallers(plugin) or []
    if not callers:
        manager.unregister(plugin)
        raise PluginLoadError("has no function marked with touchline.api.hookimpl")
    return tuple(sorted(caller.name for caller in callers))


def _is_on(value: str) -> bool:
    return value.strip().lower() not in ("", "0", "false", "no", "off")
