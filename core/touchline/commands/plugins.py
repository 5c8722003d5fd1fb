"""`touchline plugins` (spec page 8): every installed plugin, where it is from, what it can do, or why it is broken."""

from __future__ import annotations

import dataclasses
import json
import os

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def plugins(*, as_json: bool) -> None:
    """List executors, forges and hook plugins."""
    from touchline.plugins.hook_loading import survey_hooks
    from touchline.plugins.survey import survey_drivers
    from touchline.turn.shown import printable

    rows = [*survey_drivers(os.environ), *survey_hooks(os.environ)]
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(row) for row in rows], indent=2))
        return
    if not rows:
        click.echo("no plugin is installed")
    for row in rows:
        source = f"{row.distribution} {row.version}".strip() or row.value
        if row.disabled:
            state = "switched off by TOUCHLINE_DISABLE_PLUGINS"
        elif row.error:
            state = f"BROKEN: {printable(row.error, 1000)}"
        else:
            state = f"API {row.api_version}: {', '.join(row.capabilities) or 'no capabilities'}"
        click.echo(f"{row.kind:<8}  {row.name:<12}  {source:<24}  {state}")
