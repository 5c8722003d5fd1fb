"""The history of one session, as a list that a person reads (spec page 7). Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One line of the history."""

    title: str
    detail: str


@dataclass(slots=True)
class HistoryLog:
    """What happened, in order."""

    events: list[HistoryEvent] = field(default_factory=list)

    def add(self, title: str, detail: str) -> None:
        """Append one event."""
        self.events.append(HistoryEvent(title, detail))

    def as_markdown(self) -> str:
        """A heading and one `- title: detail` line for each event."""
        lines = ["# Session History", ""]
        lines.extend(f"- {one_line(event.title)}: {one_line(event.detail)}" for event in self.events)
        return "\n".join(lines)


def one_line(text: str) -> str:
    """`text` on one line, so that it cannot pose as another line of a report."""
    return " ".join(text.split())
