"""What the forge kit needs besides the forge: the host's state, reached without the forge under test (spec page 6).

So what a forge tells is compared with something that is not its own idea of the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Ability = Literal["lose-answers", "meddle", "refuse", "credentials", "duplicates"]
"""lose-answers: a write takes place and its answer is lost. meddle: something happens at the host during a write.
refuse: requests are answered with an HTTP status. credentials: the host wants a token. duplicates: two open changes
of one branch are possible."""


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A change as the host itself has it."""

    number: int
    state: str
    title: str
    body: str
    source: str
    target: str


class Backdoor(Protocol):
    """The host behind the forge, with one repository whose branch `main` has one commit."""

    url: str
    """What `git remote add` is given, without credentials."""
    hosted: Path
    """The repository at the host, for plain git."""
    token: str
    """A token that the host takes, "" where it wants none."""
    abilities: frozenset[Ability]

    def changes(self) -> list[SeenChange]:
        """Every change, by number."""
        ...

    def comments(self, number: int) -> list[str]:
        """The texts of a change's comments, the oldest first."""
        ...

    def set_state(self, number: int, state: Literal["draft", "ready", "merged", "closed"]) -> None:
        """Have a person change the state."""
        ...

    def edit(
        self, number: int, *, body: str | None = None, title: str | None = None, target: str | None = None
    ) -> None:
        """Have a person change text, title or target."""
        ...

    def duplicate(self, number: int) -> int:
        """Have somebody open a second change like that one; its number."""
        ...

    def set_default(self, branch: str) -> None:
        """Have the default branch renamed."""
        ...

    def leave_check(self, sha: str, name: str, *, status: str, conclusion: str | None) -> None:
        """Have CI report on a commit."""
        ...

    def lose_next_answer(self) -> None:
        """Let the next write take place and break off before its answer."""
        ...

    def move_during_next_write(self, branch: str, sha: str) -> None:
        """Let somebody push to a branch while the next write is under way."""
        ...

    def refuse(self, status: int, *, times: int) -> None:
        """Answer the next requests with that HTTP status."""
        ...
