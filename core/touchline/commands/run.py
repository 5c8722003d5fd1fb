"""`touchline run`: work on a plan until the verdict (spec page 5)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import click

from touchline.coach.launch import Request, dry_run, launch
from touchline.coach.options import Flags
from touchline.coach.services import Console
from touchline.commands.globals import Globals


class TerminalPerson:
    """The person at the terminal; asked on stderr, so that stdout stays the block's alone."""

    def choose(self, question: str, choices: Sequence[str], default: str) -> str:
        """One of `choices`, asked until one is given."""
        chosen: str = click.prompt(question, type=click.Choice(list(choices)), default=default, err=True)
        return chosen

    def console(self, paused: Callable[[], AbstractContextManager[None]]) -> Console:
        """Standard input and stderr."""
        return Console(sys.stdin.fileno(), sys.stderr, paused)


@click.command(short_help="Work on a plan until the verdict.")
@click.option("--plan-file", metavar="PATH", help="The plan; left out: the only file in docs/plans/.")
@click.option("--max-turns", metavar="N", help="Player turns that may be used.  [default: 10]")
@click.option("--severity", metavar="N", help="Findings from this severity on block, 1 to 10.  [default: 5]")
@click.option("--no-pr", is_flag=True, help="Work locally: no branch, commit, push, change request or CI.")
@click.option("--no-ci", is_flag=True, help="Publish, but leave CI and readiness to the caller.")
@click.option("--target", metavar="BRANCH", help="Target branch of the change request.")
@click.option("--resume-ci", is_flag=True, help="Resume an open change request in the CI loop.")
@click.option("--pr", metavar="REF", help="With --resume-ci: number or URL of the change request.")
@click.option("--approved-head", metavar="SHA", help="With --resume-ci: full SHA of the verified start.")
@click.option("--ci-timeout", metavar="DURATION", help="Longest wait for CI, such as 90s, 30m, 6h.  [default: 6h]")
@click.option("--headless", is_flag=True, help="Ask nothing; assumptions are recorded.")
@click.option("--executor", metavar="NAME", help="The player's executor.  [default: the first installed one]")
@click.option("--model", metavar="NAME", help="Model to ask the executor for.")
@click.option("--reviewer", "reviewers", metavar="NAME", multiple=True, help="Judge, by preference; repeatable.")
@click.option("--request-review", metavar="HANDLE", help="Person to ask for a review.")
@click.option("--forge", metavar="NAME", help="Forge plugin to publish with.")
@click.option("--epic-context", metavar="PATH", help="File passed on to verification, never parsed.")
@click.option("--epic-quarantine", metavar="PATH", help="Quarantine file shared by the runs of an epic.")
@click.option("--config", "config_file", metavar="PATH", type=click.Path(path_type=Path), help="One more config file.")
@click.option("--repo", metavar="PATH", type=click.Path(path_type=Path), default=Path(), help="The repository.")
@click.option("--new", is_flag=True, help="Give up an unfinished run and start a new one.")
@click.option("--allow-dirty", is_flag=True, help="Published runs: start although tracked files are changed.")
@click.option("--dry-run", is_flag=True, help="Say what would happen and touch nothing.")
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object.")
@click.pass_obj
def run(
    chosen: Globals,
    /,
    *,
    config_file: Path | None,
    repo: Path,
    new: bool,
    allow_dirty: bool,
    dry_run: bool,
    as_json: bool,
    **given: object,
) -> int:
    """Let a player implement a plan, verify every turn, and end with a verdict.

    Progress goes to stderr; stdout holds the terminal block alone. Interrupted runs are continued by the same
    command. Local runs (--no-pr) leave the work uncommitted in your work tree, dirty files or not.
    """
    flags = Flags(**given)  # type: ignore[arg-type]  # the options above are the fields of Flags, by name
    interactive = sys.stdin.isatty() and sys.stderr.isatty()
    request = Request(
        flags=flags,
        repo=repo.absolute(),
        environ=dict(os.environ),
        result=sys.stdout,
        told=sys.stderr,
        person=TerminalPerson() if interactive else None,
        config_file=config_file,
        hook_modules=chosen.hook_modules,
        new=new,
        as_json=as_json,
        allow_dirty=allow_dirty,
    )
    return _dry_run(request) if dry_run else launch(request)


_dry_run = dry_run
