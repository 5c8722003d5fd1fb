"""The frozen inventory of commands and tools that prompts are routed against (spec page 7).

An executor plugin ships it as data: a file `inventory.json` in the package of its driver, optional. It is read
through the driver's class, so a plugin needs no code of ours for it. Nothing in it is ever run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Literal

from pydantic import ValidationError

from touchline.documents.base import Document
from touchline.errors import PluginLoadError
from touchline.plugins.load import driver_names, load_executor_class

FILE_NAME = "inventory.json"

Kind = Literal["command", "tool"]


class Entry(Document):
    """One command or tool. `shell` marks a tool that runs command lines."""

    name: str
    purpose: str
    shell: bool = False


class InventoryFile(Document):
    """The file `inventory.json` of one executor plugin."""

    schema_version: Literal[1]
    commands: tuple[Entry, ...] = ()
    tools: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """One command or tool with the executor that it is from."""

    kind: Kind
    name: str
    purpose: str
    source: str
    shell: bool = False


Inventory = tuple[Item, ...]


def read_inventory(data: bytes, source: str) -> Inventory:
    """The items of one plugin's file. Raises PluginLoadError naming `source`."""
    try:
        file = InventoryFile.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise PluginLoadError(
            f"{FILE_NAME} of the executor {source!r} is not valid: {where}: {first['msg']}",
            fix="Tell the plugin's author, or switch it off with TOUCHLINE_DISABLE_PLUGINS.",
        ) from error
    kinds: tuple[tuple[Kind, tuple[Entry, ...]], ...] = (("command", file.commands), ("tool", file.tools))
    return tuple(
        Item(kind, entry.name, entry.purpose, source, entry.shell) for kind, entries in kinds for entry in entries
    )


def executor_inventory(name: str, *, environ: Mapping[str, str] | None = None) -> Inventory:
    """What the executor called `name` ships; empty if it ships nothing. Raises PluginLoadError."""
    driver = load_executor_class(name, environ=environ)
    package = getattr(sys.modules.get(driver.__module__), "__package__", None)
    if not package:
        return ()
    file = resources.files(package).joinpath(FILE_NAME)
    return read_inventory(file.read_bytes(), name) if file.is_file() else ()


def installed_inventory(names: Iterable[str] | None = None, *, environ: Mapping[str, str] | None = None) -> Inventory:
    """The items of all installed executors, or of those in `names`, sorted by kind, name and source.

    A plugin that cannot be loaded is left out unless it is named: it breaks only what names it.
    """
    chosen = os.environ if environ is None else environ
    items: list[Item] = []
    if names is not None:
        for name in names:
            items.extend(executor_inventory(name, environ=chosen))
    else:
        for name in driver_names("executor", environ=chosen):
            try:
                items.extend(executor_inventory(name, environ=chosen))
            except PluginLoadError:
                continue  # `touchline plugins` and `touchline doctor` name it with its reason
    return tuple(sorted(set(items), key=lambda item: (item.kind, item.name, item.source)))
