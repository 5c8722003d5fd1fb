"""Test kits for plugin authors: `ExecutorContract`, `ForgeContract`, `ScriptedModel` (spec pages 2, 6 and 8).

Importing this package alone imports no pytest: `touchline rehearse` uses the scripted model without it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from touchline.testing.clis import find_cli
    from touchline.testing.executors import SUITE_VERSION, ExecutorContract, RecordedExecutorContract
    from touchline.testing.forges import FORGE_SUITE_VERSION, ForgeContract
    from touchline.testing.model import ScriptedModel

__all__ = [
    "FORGE_SUITE_VERSION",
    "SUITE_VERSION",
    "ExecutorContract",
    "ForgeContract",
    "RecordedExecutorContract",
    "ScriptedModel",
    "find_cli",
]

_HOMES = {
    "ExecutorContract": "touchline.testing.executors",
    "FORGE_SUITE_VERSION": "touchline.testing.forges",
    "ForgeContract": "touchline.testing.forges",
    "RecordedExecutorContract": "touchline.testing.executors",
    "SUITE_VERSION": "touchline.testing.executors",
    "ScriptedModel": "touchline.testing.model",
    "find_cli": "touchline.testing.clis",
}

if "pytest" in sys.modules:
    sys.modules["pytest"].register_assert_rewrite(
        "touchline.testing.contract", "touchline.testing.executors", "touchline.testing.forges"
    )


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
