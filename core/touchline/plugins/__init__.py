"""Plugins (spec page 8): drivers picked by name (stevedore) and hooks that everyone is told of (pluggy)."""
