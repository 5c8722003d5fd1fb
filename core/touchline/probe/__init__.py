"""The probe: multi-turn state without a model, deterministic and replayable (spec page 7)."""

from __future__ import annotations

from touchline.probe.bootstrap import SessionReport, bootstrap_session
from touchline.probe.engine import EngineConfig, PermissionDenial, TurnEngine, TurnResult, UsageSummary
from touchline.probe.history import HistoryEvent, HistoryLog
from touchline.probe.inventory import Inventory, Item, installed_inventory
from touchline.probe.loop import run_turn_loop
from touchline.probe.routing import RoutedMatch, route_prompt
from touchline.probe.sessions import StoredSession, load_session, store_session

__all__ = [
    "EngineConfig",
    "HistoryEvent",
    "HistoryLog",
    "Inventory",
    "Item",
    "PermissionDenial",
    "RoutedMatch",
    "SessionReport",
    "StoredSession",
    "TurnEngine",
    "TurnResult",
    "UsageSummary",
    "bootstrap_session",
    "installed_inventory",
    "load_session",
    "route_prompt",
    "run_turn_loop",
    "store_session",
]
