"""Owns the list of all installed plugins with what is wrong with each (spec page 8, `touchline plugins`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Literal

from touchline.errors import PluginLoadError
from touchline.plugins.load import GROUPS, Kind, disabled_names, load_driver_class


@dataclass(frozen=True, slots=True)
class PluginRow:
    """One entry point after an attempt to import it; `error` is "" for a usable or disabled one."""

    kind: Literal["executor", "forge", "hooks"]
    name: str
    distribution: str
    version: str
    value: str
    api_version: int | None = None
    capabilities: tuple[str, ...] = ()
    error: str = ""
    disabled: bool = False


def survey_drivers(environ: Mapping[str, str] | None = None) -> list[PluginRow]:
    """Every executor and forge, sorted by kind and name. Imports them all; never raises for a broken one."""
    off = disabled_names(environ)
    rows = [
        _row(kind, entry, disabled=entry.name in off, environ=environ)
        for kind, group in GROUPS.items()
        for entry in entry_points(group=group)
    ]
    return sorted(rows, key=lambda row: (row.kind, row.name, row.distribution))


def _row(kind: Kind, entry: EntryPoint, *, disabled: bool, environ: Mapping[str, str] | None) -> PluginRow:
    error = ""
    api_version: int | None = None
    capabilities: tuple[str, ...] = ()
    if not disabled:
        try:
            driver = load_driver_class(kind, entry.name, environ=environ)
            api_version = driver.api_version
            capabilities = tuple(sorted(str(one) for one in getattr(driver, "capabilities", ())))
        except PluginLoadError as exc:
            error = exc.what
    return PluginRow(
        kind=kind,
        name=entry.name,
        distribution=entry.dist.name if entry.dist else "",
        version=entry.dist.version if entry.dist else "",
        value=entry.value,
        api_version=api_version,
        capabilities=capabilities,
        error=error,
        disabled=disabled,
    )
