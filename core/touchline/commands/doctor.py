"""`touchline doctor` (spec page 8): what is installed and usable here, each problem with its fix."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--repo", metavar="DIR", default=".", help="The repository; default: the current folder.")
def doctor(*, as_json: bool, repo: str) -> int:
    """Check this machine and say how to fix what is missing.

    Exits with 1 if there is a problem; a warning is no problem.
    """
    import dataclasses
    import json

    from touchline.commands.doctor_checks import examine
    from touchline.turn.shown import printable

    checks = examine(Path(repo).absolute(), os.environ)
    problems = sum(check.status == "problem" for check in checks)
    if as_json:
        click.echo(json.dumps({"ok": not problems, "checks": [dataclasses.asdict(one) for one in checks]}, indent=2))
        return 1 if problems else 0
    for check in checks:
        click.echo(f"{check.status:<8} {check.name:<18} {printable(check.detail, 1000)}")
        if check.fix and check.status != "ok":
            click.echo(f"{'':<8} {'':<18} -> {printable(check.fix, 1000)}")
    click.echo(f"{problems} problem{'' if problems == 1 else 's'}" if problems else "no problem", err=True)
    return 1 if problems else 0
