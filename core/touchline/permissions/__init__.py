"""Permission policy for tool calls of executors (spec page 8)."""
