"""Turns driven to their end: execute one on any executor, then settle it (spec pages 1 and 2)."""

from __future__ import annotations

from touchline.execution.budget import Budget
from touchline.execution.drive import ExecutedTurn, execute_turn
from touchline.execution.settlement import settle_turn

__all__ = ["Budget", "ExecutedTurn", "execute_turn", "settle_turn"]
