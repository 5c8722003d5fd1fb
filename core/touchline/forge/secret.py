"""Owns how a token is held so that it shows itself nowhere but where it is sent (spec page 6, "Network")."""

from __future__ import annotations

from dataclasses import dataclass


class Secret:
    """A token that does not show itself: not in `repr`, `str`, formatting, tracebacks or pickles."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The token itself, for the one place that sends it."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(***)" if self._value else "Secret()"

    __str__ = __repr__

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return (Secret, ("",))


@dataclass(frozen=True, slots=True)
class Credential:
    """A user name and its secret, for one host."""

    user: str
    password: Secret
