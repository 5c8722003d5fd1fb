"""`touchline runs` (spec page 8): every run that is kept on this machine, earlier ones of a change included."""

from __future__ import annotations

import dataclasses
import json
import os

import click

from touchline.commands.run_folders import RunRow, list_runs


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def runs(*, as_json: bool) -> None:
    """List the runs on this machine, the newest first.

    Each change stands with its present run and then its earlier ones, which `show` takes by their number.
    """
    from touchline.turn.shown import printable, visible

    rows = list_runs(os.environ)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(row) for row in rows], indent=2))
        return
    if not rows:
        click.echo("no runs are kept on this machine")
        return
    width = max(len(row.name) for row in rows)
    number = max(len(row.run_number) for row in rows)
    for row in rows:
        what = f"{row.name:<{width}}  {row.run_number:<{number}}  {row.status:<21}"
        click.echo(visible(f"{what}  {_counts(row)}  {printable(row.detail, 200)}".rstrip()))


def _counts(row: RunRow) -> str:
    turns = "" if row.turns_used is None else f"turns {row.turns_used} of {row.max_turns}, verified {row.verify_runs}x"
    when = row.updated_at or ("" if row.current else "earlier")
    return f"{when:<20}  {turns:<27}"
