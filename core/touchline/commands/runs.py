"""`touchline runs` (spec page 8): every run that is kept on this machine, and how it stands."""

from __future__ import annotations

import dataclasses
import json
import os

import click

from touchline.commands.run_folders import RunRow, list_runs


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def runs(*, as_json: bool) -> None:
    """List the runs on this machine, the newest first."""
    from touchline.turn.shown import printable

    rows = list_runs(os.environ)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(row) for row in rows], indent=2))
        return
    if not rows:
        click.echo("no runs are kept on this machine")
        return
    width = max(len(row.name) for row in rows)
    for row in rows:
        click.echo(f"{row.name:<{width}}  {row.status:<21}  {_counts(row)}  {printable(row.detail, 200)}".rstrip())


def _counts(row: RunRow) -> str:
    turns = "" if row.turns_used is None else f"turns {row.turns_used} of {row.max_turns}, verified {row.verify_runs}x"
    return f"{row.updated_at or '':<20}  {turns:<27}"
