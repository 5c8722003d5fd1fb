"""The player-coach loop: a pure planner and a thin performer (spec page 5)."""
