"""The codex executor for touchline."""
