"""The process host: every program that touchline starts goes through here (spec page 2, "The process host")."""

from __future__ import annotations

from touchline.process.host import Child, Completed, Ending, Line, ProcessLimits, run, start

__all__ = ["Child", "Completed", "Ending", "Line", "ProcessLimits", "run", "start"]
