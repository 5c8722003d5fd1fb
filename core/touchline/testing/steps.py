"""What a scripted model does, one step for each model call (spec page 2, "Contract kit and real CLIs").

The steps are the language of the contract kit: a model server plays them to a real CLI, and a driver without a
model API may translate them into its own script.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Say:
    """A final message: the model ends its turn with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Shell:
    """One call of the CLI's shell tool."""

    command: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by the CLI's own name for it."""

    tool: str
    input: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpError:
    """An HTTP error instead of an answer; `retry_after_s` becomes the header of that name."""

    status: int
    message: str = "scripted error"
    retry_after_s: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refused:
    """From here on nobody listens: connections are refused until the next script."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A stream that begins and is cut in the middle of a message."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A stream with a line that is no JSON."""


@dataclass(frozen=True, slots=True)
class Silent:
    """A stream that begins and then says nothing for `seconds`."""

    seconds: float


Answer = Say | Shell | ToolCall
Fault = HttpError | Refused | Cut | Malformed | Silent
Step = Answer | Fault
