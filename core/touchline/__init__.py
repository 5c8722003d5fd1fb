"""touchline: run coding agents unattended, publish only what was proved."""

from __future__ import annotations

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    # Reading distribution metadata costs tens of milliseconds, so it waits until somebody asks.
    if name == "__version__":
        from importlib.metadata import version

        return version("touchline")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
