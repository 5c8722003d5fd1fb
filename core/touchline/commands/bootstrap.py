"""`touchline bootstrap` (spec page 7): one turn without a model, stored, with the report that a reviewer reads."""

from __future__ import annotations

import click


@click.command(name="bootstrap")
@click.argument("prompt")
@click.option("--limit", type=click.IntRange(min=0), default=5, show_default=True, help="Matches that are routed to.")
@click.option("--session-id", metavar="ID", help="Name of the session; the same name gives the same bytes.")
def command(*, prompt: str, limit: int, session_id: str | None) -> None:
    """Run one turn without a model, store it and print its report."""
    from touchline.probe.bootstrap import bootstrap_session
    from touchline.probe.engine import clean

    click.echo(clean(bootstrap_session(prompt, limit=limit, session_id=session_id).as_markdown()))
