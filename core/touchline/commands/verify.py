"""`touchline verify` (spec page 5): one verification run by hand, with the verifiers that a run would use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


@click.command(short_help="Verify a change once: judges, exerciser, tests; nothing is changed.")
@click.option("--scope", type=click.Choice(["branch", "files", "staged", "unstaged"]), help="What to verify.")
@click.option("--base", metavar="REF", help="Branch scope: what the branch is compared with.")
@click.option("--files", metavar="PATH", multiple=True, help="Scope files: a changed path; repeatable.")
@click.option("--depth", type=click.Choice(["light", "deep"]), help="One judge, or every configured one.")
@click.option("--plan-file", metavar="PATH", help="The plan that the change carries out.")
@click.option("--ledger", "ledger_file", metavar="FILE", help="A ledger whose open findings are rechecked.")
@click.option("--since", metavar="SHA", help="Branch scope: judges look at what changed since this commit.")
@click.option("--no-carry-forward", is_flag=True, help="A full audit, whatever --since says.")
@click.option("--severity", metavar="N", type=click.IntRange(1, 10), help="Findings from this severity on count.")
@click.option("--epic-context", metavar="PATH", help="File named to the verifiers, never parsed.")
@click.option("--reviewer", "reviewers", metavar="NAME", multiple=True, help="Judge, by preference; repeatable.")
@click.option("--executor", metavar="NAME", help="Executor of the default judge and exerciser.")
@click.option("--model", metavar="NAME", help="Model to ask that executor for.")
@click.option("--config", "config_file", metavar="PATH", type=click.Path(path_type=Path), help="One more config file.")
@click.option("--repo", metavar="PATH", type=click.Path(path_type=Path), default=Path(), help="The repository.")
@click.option("--output", metavar="PATH", type=click.Path(path_type=Path), help="Where the report goes.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="How to print it."
)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json: the report itself.")
def verify(*, repo: Path, output: Path | None, form: str, as_json: bool, **given: object) -> int:
    """Verify a change once and print what was found; files, branch and index stay as they are.

    Without --scope: the files named with --files, else the current branch against --base (default: the remote's
    main branch, main or master). On that branch itself: the work of its last local run. Exits with 0 when everything
    ran and nothing counts against the change.
    """
    from touchline.coach.progress import progress_on
    from touchline.commands.verify_report import markdown, stands_against, terminal
    from touchline.commands.verify_scope import Chosen
    from touchline.commands.verify_steps import run_verification
    from touchline.process.cancel import on_signals

    chosen = Chosen(**given)  # type: ignore[arg-type]  # the options above are its fields, by name
    with on_signals() as cancel, progress_on(sys.stderr) as progress:
        report, place = run_verification(
            chosen, repo=repo.absolute(), output=output, environ=os.environ, cancel=cancel, say=progress.say
        )
    against = stands_against(report, chosen.threshold)
    if as_json or form == "json":
        click.echo(report.to_bytes(), nl=False)
    elif form == "markdown":
        click.echo(markdown(report, against), nl=False)
    else:
        click.echo(terminal(report, against))
    click.echo(f"report: {place}", err=True)
    return 130 if cancel.is_set() else 1 if against else 0
