"""Configuration: layers with origins, validation, round-trip editing (spec page 8)."""
