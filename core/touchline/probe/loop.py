"""The multi-turn loop on one engine: routed once, stopped by the first result that is not `completed`
(spec page 7)."""

from __future__ import annotations

from collections.abc import Mapping

from touchline.executor import Executor
from touchline.probe.engine import DEFAULT_BUDGET, EngineConfig, TurnEngine, TurnResult
from touchline.probe.executed import executor_responder
from touchline.probe.inventory import Inventory
from touchline.probe.routing import DEFAULT_LIMIT, RoutedMatch, route_prompt
from touchline.probe.sessions import check_session_id, store_session

DEFAULT_TURNS = 3


def run_turn_loop(
    prompt: str,
    *,
    limit: int = DEFAULT_LIMIT,
    max_turns: int = DEFAULT_TURNS,
    engine_max_turns: int | None = None,
    max_budget_tokens: int = DEFAULT_BUDGET,
    structured_output: bool = False,
    persist: bool = False,
    executor: Executor | None = None,
    session_id: str | None = None,
    inventory: Inventory | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[TurnResult]:
    """The results of up to `max_turns` turns of one session; no denials are passed.

    `engine_max_turns` (default: `max_turns`) is the engine's own message limit. With `executor` its answers are
    the outputs, otherwise the engine's summaries. Raises UsageError for a hostile `session_id`.
    """
    kept = max_turns if engine_max_turns is None else engine_max_turns
    engine = TurnEngine(EngineConfig(kept, max_budget_tokens, structured_output))
    if session_id is not None:
        engine.session_id = check_session_id(session_id)
    commands, tools = names_by_kind(route_prompt(prompt, limit, inventory=inventory))
    if executor is None:
        results = _turns(engine, prompt, max_turns, commands, tools)
    else:
        with executor_responder(executor, engine.session_id) as responder:
            engine.responder = responder
            results = _turns(engine, prompt, max_turns, commands, tools)
    if persist:
        store_session(engine, environ)
    return results


def names_by_kind(matches: list[RoutedMatch]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the matched commands and of the matched tools."""
    commands = tuple(match.name for match in matches if match.kind == "command")
    return commands, tuple(match.name for match in matches if match.kind == "tool")


def _turns(
    engine: TurnEngine, prompt: str, max_turns: int, commands: tuple[str, ...], tools: tuple[str, ...]
) -> list[TurnResult]:
    results: list[TurnResult] = []
    for turn in range(1, max_turns + 1):
        text = prompt if turn == 1 else f"{prompt} [turn {turn}]"
        result = engine.submit_message(text, commands, tools, ())
        results.append(result)
        if result.stop_reason != "completed":
            break
    return results
