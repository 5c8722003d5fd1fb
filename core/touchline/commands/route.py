"""`touchline route` (spec page 7): which commands and tools of the installed executors a prompt names."""

from __future__ import annotations

import click


@click.command(name="route")
@click.argument("prompt")
@click.option("--limit", type=click.IntRange(min=0), default=5, show_default=True, help="Matches to print.")
def command(*, prompt: str, limit: int) -> None:
    """Print the commands and tools that a prompt is routed to."""
    from touchline.probe.routing import route_prompt

    matches = route_prompt(prompt, limit)
    if not matches:
        click.echo("nothing matches the prompt", err=True)
    for match in matches:
        click.echo(f"{match.kind}\t{match.name}\t{match.score}\t{match.source}")
