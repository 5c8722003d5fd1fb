"""`touchline demo`: the main job on a fresh machine, without key or network (spec page 8).

Everything that it makes lies in one folder: the repository, the bare remote that it publishes to, the state of the
run, and the draft as the remote holds it. The user's own state, repositories and settings of git are not used.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from touchline.coach.launch import Request, launch
from touchline.coach.options import Flags
from touchline.coach.publish.binding import bind
from touchline.coach.start import find_place
from touchline.commands.demo_project import EXECUTOR, files
from touchline.documents.ledger import Ledger
from touchline.documents.settings import Settings
from touchline.errors import GitError, UsageError
from touchline.forge import ByUrl, LocalForgeHost
from touchline.git.repository import Repository
from touchline.ledger.store import LedgerStore
from touchline.process import run
from touchline.process.environment import clean_environment

GIT_TIMEOUT_S = 30
FORGE = "generic"


@click.command(short_help="Run the whole loop on a small example, without key or network.")
@click.option("--dir", "folder", metavar="PATH", type=click.Path(path_type=Path), help="Where to make the example.")
@click.option("--local", is_flag=True, help="Publish nothing: the changes stay uncommitted in the work tree.")
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object.")
def demo(*, folder: Path | None, local: bool, as_json: bool) -> int:
    """Make a small repository with a remote of its own and run the loop in it with a scripted player.

    The first attempt really fails its tests, the feedback is rendered, the second attempt passes; both are commits
    of a draft that tells the run. Everything is left to look at: the repository, the remote with the draft, and the
    run's ledger, reports and feedback.
    """
    folder = _fresh_folder(folder)
    repo, remote = folder / "slugs", folder / "slugs.git"
    make_repository(repo)
    environ = clean_environment(os.environ) | {"XDG_STATE_HOME": str(folder / "state")}
    _say(f"a repository with a plan and failing tests in {repo}")
    if not local:
        make_remote(repo, remote)
        _say(f"its remote, bare, in {remote}")
    request = Request(
        flags=Flags(
            no_pr=local,
            no_ci=not local,
            headless=True,
            executor=EXECUTOR,
            max_turns="3",
            forge=None if local else FORGE,
        ),
        repo=repo,
        environ=environ,
        result=sys.stdout,
        told=sys.stderr,
        as_json=as_json,
    )
    status = launch(request)
    run_folder = find_place(repo, environ, published=not local).folder
    where = {
        "work": repo,
        "ledger": run_folder.ledger,
        "reports": run_folder.path / "reports",
        "feedback": run_folder.path / "feedback",
        "record": run_folder.path / "render.log",
    }
    ledger = LedgerStore(run_folder.path).read()
    if ledger.pr_url is not None:
        where["draft"] = _keep_draft(repo, ledger, environ, folder / "draft.md")
    for what, path in where.items():
        _say(f"{what:<9}{path}")
    if ledger.pr_url is not None:
        _say(f"commits  git -C {repo} log --patch main..{ledger.run.source_branch}")
    return status


def make_repository(repo: Path, *, plan: str | None = None) -> None:
    """The example as a git repository with one commit; `plan` stands in for the example's own."""
    for name, content in files(sys.executable, plan=plan).items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    _git(repo, "init", "--quiet", "--initial-branch=main")
    # The example's own settings, so that neither an identity nor a hook of the user's is needed or used.
    for key, value in (
        ("user.name", "touchline demo"),
        ("user.email", "demo@example.invalid"),
        ("commit.gpgSign", "false"),
        ("core.hooksPath", os.devnull),
    ):
        _git(repo, "config", key, value)
    _git(repo, "add", "--all")
    _git(repo, "commit", "--quiet", "--message", "Start with a plan and its tests")


def make_remote(repo: Path, remote: Path) -> None:
    """A bare repository that holds the example's `main`, known to it as `origin`."""
    _git(repo, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    _git(repo, "remote", "add", "origin", str(remote))
    _git(repo, "push", "--quiet", "origin", "main")


def _keep_draft(repo: Path, ledger: Ledger, environ: Mapping[str, str], path: Path) -> Path:
    """The draft as the remote holds it, as a file to read."""
    host = LocalForgeHost(Repository.open(repo), environ=environ, say=_say)
    binding = bind(host, Settings(), named=FORGE, environ=environ, preflight=False)
    change = binding.forge.inspect(ByUrl(ledger.pr_url or ""))
    path.write_text(f"# {change.title}\n\n{change.body}\n", encoding="utf-8")
    return path


def _fresh_folder(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="touchline-demo-"))
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", fix="Name a folder that does not exist yet, or leave --dir out.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _git(repo: Path, *argv: str) -> None:
    done = run(["git", *argv], cwd=repo, env=clean_environment(os.environ), timeout_s=GIT_TIMEOUT_S)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise GitError(f"git {argv[0]} failed in {repo}: {said}", fix="Check that git 2.39 or newer is installed.")


def _say(text: str) -> None:
    click.echo(f"demo: {text}", err=True)
