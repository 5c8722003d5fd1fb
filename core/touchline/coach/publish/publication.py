"""What the published steps of one process share: the forge, the scanner, and the target."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.coach.publish.binding import Binding
from touchline.secrets.redact import Redactor
from touchline.secrets.scan import Scanner


@dataclass(frozen=True, slots=True)
class Publication:
    """Services of publishing. `dirty_at_start` are changed tracked files that were tolerated, as git names them."""

    binding: Binding
    scanner: Scanner
    redactor: Redactor
    target: str
    dirty_at_start: frozenset[str] = frozenset()

    @property
    def base_ref(self) -> str:
        """The target as reports name it: `REMOTE/BRANCH`."""
        return f"{self.binding.base_remote}/{self.target}"

    def fetch_target(self) -> str:
        """Bring the target's tip here and give its full SHA; done anew before each comparison. Raises ForgeError."""
        return self.binding.forge.fetch_branch(self.binding.base, self.target)
