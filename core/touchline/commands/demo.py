"""`touchline demo`: the main job on a fresh machine, without key or network (spec page 8)."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from touchline.coach.launch import Request, launch
from touchline.coach.options import Flags
from touchline.coach.start import find_place
from touchline.commands.demo_project import EXECUTOR, files
from touchline.errors import GitError, UsageError
from touchline.process import run
from touchline.process.environment import clean_environment


@click.command(short_help="Run the whole loop on a small example, without key or network.")
@click.option("--dir", "folder", metavar="PATH", type=click.Path(path_type=Path), help="Where to make the example.")
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object.")
def demo(*, folder: Path | None, as_json: bool) -> int:
    """Make a small repository and run the loop in it with a scripted player.

    The first attempt really fails its tests, the feedback is rendered, the second attempt passes. Everything is
    left to look at: the repository, and the run's ledger, reports and feedback.
    """
    folder = _fresh_folder(folder)
    repo = folder / "slugs"
    make_repository(repo)
    environ = clean_environment(os.environ) | {"XDG_STATE_HOME": str(folder / "state")}
    click.echo(f"demo: a repository with a plan and failing tests in {repo}", err=True)
    request = Request(
        flags=Flags(no_pr=True, headless=True, executor=EXECUTOR, max_turns="3"),
        repo=repo,
        environ=environ,
        result=sys.stdout,
        told=sys.stderr,
        as_json=as_json,
    )
    status = launch(request)
    run_folder = find_place(repo, environ).folder
    for what, where in (
        ("work", repo),
        ("ledger", run_folder.ledger),
        ("reports", run_folder.path / "reports"),
        ("feedback", run_folder.path / "feedback"),
        ("record", run_folder.path / "render.log"),
    ):
        click.echo(f"demo: {what:<9}{where}", err=True)
    return status


def _fresh_folder(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="touchline-demo-"))
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", fix="Name a folder that does not exist yet, or leave --dir out.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def make_repository(repo: Path, *, plan: str | None = None) -> None:
    """The example as a git repository with one commit; `plan` stands in for the example's own."""
    for name, content in files(sys.executable, plan=plan).items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    person = ("-c", "user.name=touchline demo", "-c", "user.email=demo@example.invalid")
    quiet = ("-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null")
    for argv in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all"),
        (*person, *quiet, "commit", "--quiet", "--message", "Start with a plan and its tests"),
    ):
        done = run(["git", *argv], cwd=repo, timeout_s=30)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise GitError(f"git {argv[0]} failed in {repo}: {said}", fix="Check that git 2.39 or newer is installed.")
