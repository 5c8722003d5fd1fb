"""One turn with everything around it, as a report that a reviewer reads (spec page 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from touchline.probe.engine import EngineConfig, PermissionDenial, TurnEngine, TurnResult
from touchline.probe.history import HistoryLog, one_line
from touchline.probe.inventory import Inventory, installed_inventory
from touchline.probe.loop import names_by_kind
from touchline.probe.routing import DEFAULT_LIMIT, RoutedMatch, route_prompt
from touchline.probe.sessions import check_session_id, store_session

DENIED = "shell tools stay denied: a probe runs nothing"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of the submitted turn, as an executor would stream it."""

    type: str
    detail: str


@dataclass(frozen=True, slots=True)
class SessionReport:
    """All that one bootstrap found and did."""

    prompt: str
    session_id: str
    config: EngineConfig
    sources: Mapping[str, int]
    matches: tuple[RoutedMatch, ...]
    execution: tuple[str, ...]
    events: tuple[StreamEvent, ...]
    result: TurnResult
    persisted_path: Path
    history: HistoryLog

    def as_markdown(self) -> str:
        """The report: context, routing, execution, events, result, persisted path, history."""
        result = self.result
        shipped = ", ".join(f"{name} {count}" for name, count in sorted(self.sources.items())) or "none"
        routed = [f"- [{match.kind}] {match.name} (score {match.score}, {match.source})" for match in self.matches]
        lines = [
            "# Session Report",
            "",
            f"Prompt: {one_line(self.prompt)}",
            "",
            "## Context",
            f"- session: {self.session_id}",
            f"- inventory: {shipped}",
            f"- message limit: {self.config.max_turns}",
            f"- token budget: {self.config.max_budget_tokens}",
            "",
            "## Routing",
            *(routed or ["- none"]),
            "",
            "## Execution",
            *([f"- {line}" for line in self.execution] or ["- none"]),
            "",
            "## Events",
            *(f"- {event.type}: {one_line(event.detail)}" for event in self.events),
            "",
            "## Result",
            *(f"    {line}" for line in result.output.splitlines()),
            "",
            f"- stop reason: {result.stop_reason}",
            f"- tokens: {result.usage.input_tokens} in, {result.usage.output_tokens} out",
            "",
            "## Persisted",
            f"- {self.persisted_path}",
            "",
            self.history.as_markdown().replace("# ", "## ", 1),
        ]
        return "\n".join(lines)


def bootstrap_session(
    prompt: str,
    *,
    limit: int = DEFAULT_LIMIT,
    config: EngineConfig | None = None,
    session_id: str | None = None,
    inventory: Inventory | None = None,
    environ: Mapping[str, str] | None = None,
) -> SessionReport:
    """Route `prompt`, submit it once with the denials that follow from the matches, and store the session.

    Raises UsageError for a hostile `session_id`, LedgerError when the session cannot be stored.
    """
    items = installed_inventory() if inventory is None else inventory
    chosen = config or EngineConfig()
    engine = TurnEngine(chosen)
    if session_id is not None:
        engine.session_id = check_session_id(session_id)
    history = HistoryLog()
    history.add("context", f"items={len(items)} session={engine.session_id}")
    matches = tuple(route_prompt(prompt, limit, inventory=items))
    history.add("routing", f"matches={len(matches)} for prompt={prompt!r}")
    denials = infer_denials(matches)
    execution = tuple(_not_executed(match, denials) for match in matches)
    history.add("execution", f"entries={len(execution)} denials={len(denials)}")
    commands, tools = names_by_kind(list(matches))
    result = engine.submit_message(prompt, commands, tools, denials)
    history.add(
        "turn",
        f"commands={len(commands)} tools={len(tools)} denials={len(denials)} stop={result.stop_reason}",
    )
    path = store_session(engine, environ)
    history.add("session_store", str(path))
    return SessionReport(
        prompt=prompt,
        session_id=engine.session_id,
        config=chosen,
        sources=_count(items),
        matches=matches,
        execution=execution,
        events=stream_events(result, session_id=engine.session_id, messages=len(engine.replay_user_messages())),
        result=result,
        persisted_path=path,
        history=history,
    )


def infer_denials(matches: Sequence[RoutedMatch]) -> tuple[PermissionDenial, ...]:
    """A denial for each matched tool that runs command lines. Pure."""
    return tuple(PermissionDenial(match.name, DENIED) for match in matches if match.kind == "tool" and match.shell)


def stream_events(result: TurnResult, *, session_id: str, messages: int) -> tuple[StreamEvent, ...]:
    """The events that tell `result`, in the order in which they would arrive. Pure."""
    events = [StreamEvent("message_start", f"session={session_id} prompt={result.prompt!r}")]
    if result.matched_commands:
        events.append(StreamEvent("command_match", ", ".join(result.matched_commands)))
    if result.matched_tools:
        events.append(StreamEvent("tool_match", ", ".join(result.matched_tools)))
    events.extend(StreamEvent("permission_denial", f"{one.tool}: {one.reason}") for one in result.permission_denials)
    events.append(StreamEvent("message_delta", result.output))
    usage = f"in={result.usage.input_tokens} out={result.usage.output_tokens}"
    events.append(StreamEvent("message_stop", f"stop={result.stop_reason} {usage} messages={messages}"))
    return tuple(events)


def _not_executed(match: RoutedMatch, denials: Sequence[PermissionDenial]) -> str:
    denied = any(one.tool == match.name for one in denials) and match.kind == "tool"
    return f"{match.kind} {match.name}: {'denied' if denied else 'matched, not run'}"


def _count(items: Inventory) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in items:
        counts[item.source] = counts.get(item.source, 0) + 1
    return counts
