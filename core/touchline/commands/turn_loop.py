"""`touchline turn-loop` (spec page 7): several turns of one session without a model, or on any executor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from touchline.executor import Executor


@click.command(name="turn-loop")
@click.argument("prompt")
@click.option("--limit", type=click.IntRange(min=0), default=5, show_default=True, help="Matches that are routed to.")
@click.option("--max-turns", type=click.IntRange(min=1), default=3, show_default=True, help="Turns to try.")
@click.option("--engine-max-turns", type=click.IntRange(min=0), help="Messages that are kept; default: --max-turns.")
@click.option("--budget", type=click.IntRange(min=0), default=2000, show_default=True, help="Tokens in all.")
@click.option("--structured-output", is_flag=True, help="Print each turn as one JSON object.")
@click.option("--persist", is_flag=True, help="Store the session.")
@click.option("--executor", metavar="NAME", help="Let an executor answer instead of the probe.")
@click.option("--session-id", metavar="ID", help="Name of the session; the same name gives the same bytes.")
def command(
    *,
    prompt: str,
    limit: int,
    max_turns: int,
    engine_max_turns: int | None,
    budget: int,
    structured_output: bool,
    persist: bool,
    executor: str | None,
    session_id: str | None,
) -> int:
    """Run several turns of one session, without a model unless an executor is named."""
    from touchline.probe.loop import run_turn_loop
    from touchline.probe.sessions import session_path

    if session_id is not None:
        session_path(session_id, os.environ)
    results = run_turn_loop(
        prompt,
        limit=limit,
        max_turns=max_turns,
        engine_max_turns=engine_max_turns,
        max_budget_tokens=budget,
        structured_output=structured_output,
        persist=persist,
        executor=_built(executor) if executor is not None else None,
        session_id=session_id,
    )
    for number, result in enumerate(results, start=1):
        click.echo(f"## Turn {number}")
        click.echo(result.output)
        click.echo(f"stop_reason={result.stop_reason}")
    return 1 if any(result.stop_reason == "failed" for result in results) else 0


def _built(name: str) -> Executor:
    from touchline.coach.executors import build_executor
    from touchline.config import places
    from touchline.config.load import load_settings

    loaded = load_settings(user_file=places.user_file(os.environ), environ=os.environ)
    return build_executor(name, loaded.settings, os.environ)
