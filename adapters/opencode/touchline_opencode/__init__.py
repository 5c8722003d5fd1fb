"""The opencode executor for touchline."""
