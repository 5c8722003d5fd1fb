"""What the contract kit needs of the model behind a driver (spec page 2, "Contract kit and real CLIs")."""

from __future__ import annotations

from typing import Protocol

from touchline.documents.base import Usage
from touchline.testing.steps import Step


class ModelDouble(Protocol):
    """`touchline.testing.ScriptedModel` is one; a driver without a model API brings its own."""

    def play(self, *steps: Step) -> None:
        """Replace the script."""
        ...

    def prompts(self) -> list[str]:
        """The user texts that the latest call of the agent held, oldest first; earlier turns of its session too."""
        ...

    def tool_results(self) -> list[str]:
        """What the model was told about its tool calls, oldest first."""
        ...

    def usage(self, calls: int) -> Usage:
        """What `calls` answers count for, as a driver should report it; the cost is not compared."""
        ...
