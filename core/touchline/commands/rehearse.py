"""`touchline rehearse`: the user's own CLI and configuration against a local scripted model (spec page 8)."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import click

from touchline.coach.executors import build_executor, pick_player
from touchline.coach.launch import Request, launch
from touchline.coach.options import Flags
from touchline.coach.plan import read_plan
from touchline.coach.start import find_place
from touchline.commands.demo import make_repository
from touchline.commands.rehearsed import Expectation, expectations, steps
from touchline.config import places
from touchline.config.load import Loaded, load_settings
from touchline.errors import ExecutorError, UsageError
from touchline.executor import ModelApi, Rehearsal, Rehearses
from touchline.ledger.store import LedgerStore
from touchline.turn.record import read_events


@click.command(short_help="Try your agent CLI against a local scripted model, at no cost.")
@click.option("--executor", "name", metavar="NAME", help="The executor.  [default: the first installed one]")
@click.option("--plan-file", metavar="PATH", type=click.Path(path_type=Path), help="A plan of yours to be sent.")
@click.option("--keep", is_flag=True, help="Keep the example repository and the run's folder.")
def rehearse(*, name: str | None, plan_file: Path | None, keep: bool) -> int:
    """Run a whole local run with your CLI, your login and your configuration, and a model that follows a script.

    Nothing is sent to a model host. What is checked stands line by line on stdout; exit status 0 when all holds.
    """
    environ = dict(os.environ)
    loaded = load_settings(user_file=places.user_file(environ), environ=environ)
    name = pick_player(name, loaded.settings, environ)
    executor = build_executor(name, loaded.settings, environ)
    if not isinstance(executor, Rehearses):
        raise UsageError(
            f"the driver of executor {name!r} cannot be turned to a local model",
            fix="Rehearse with another executor, or ask the author of its plugin for `rehearsal`.",
        )
    readiness = executor.check()
    if not readiness.installed or (readiness.problem and readiness.logged_in is not False):
        raise ExecutorError(f"executor {name!r}: {readiness.problem or 'not installed'}", fix=readiness.fix)
    plan = _plan(plan_file)
    folder = Path(tempfile.mkdtemp(prefix="touchline-rehearsal-"))
    found = _rehearse(name, executor, loaded, folder, plan)
    click.echo(f"executor {name}, version {readiness.version or 'unknown'}, against a local scripted model")
    for one in found:
        click.echo(f"{'ok' if one.holds else 'FAILED':<7}{one.what}" + ("" if one.holds else f": {one.why}"))
    if keep or not all(one.holds for one in found):
        click.echo(f"kept in {folder}", err=True)
    else:
        shutil.rmtree(folder)
    return 0 if all(one.holds for one in found) else 1


def _plan(plan_file: Path | None) -> str | None:
    if plan_file is None:
        return None
    content, problem = read_plan(plan_file)
    if problem:
        raise UsageError(problem, fix="Name a markdown file with --plan-file, or leave it out.")
    return content.decode("utf-8", "replace")


def _rehearse(name: str, executor: Rehearses, loaded: Loaded, folder: Path, plan: str | None) -> list[Expectation]:
    from touchline.testing.anthropic import AnthropicMessages
    from touchline.testing.dialect import Dialect
    from touchline.testing.model import ScriptedModel
    from touchline.testing.openai_chat import OpenAIChat
    from touchline.testing.openai_responses import OpenAIResponses

    dialects: dict[ModelApi, type[Dialect]] = {
        "anthropic-messages": AnthropicMessages,
        "openai-responses": OpenAIResponses,
        "openai-chat": OpenAIChat,
    }
    repo = folder / "slugs"
    make_repository(repo, plan=plan)
    probe = executor.rehearsal("http://127.0.0.1:1")
    with ScriptedModel(dialects[probe.api]()) as model:
        rehearsal = executor.rehearsal(model.url)
        model.play(*steps())
        block = io.StringIO()
        state = {"XDG_STATE_HOME": str(folder / "state")}
        os.environ.update(rehearsal.env)
        environ = {**os.environ, **state}
        request = Request(
            flags=Flags(no_pr=True, headless=True, executor=name, max_turns="1", reviewers=(name,)),
            repo=repo,
            environ=environ,
            result=block,
            told=sys.stderr,
            config_file=_configuration(name, loaded, rehearsal, folder),
        )
        status = launch(request)
        requests = [json.dumps(one.body, ensure_ascii=False) for one in model.requests if one.main]
    place = find_place(repo, environ)
    ledger = LedgerStore(place.folder.path).read()
    events = list(read_events(place.folder.path))
    return expectations(status, ledger, events, requests, plan=plan)


def _configuration(name: str, loaded: Loaded, rehearsal: Rehearsal, folder: Path) -> Path | None:
    """A configuration that adds the rehearsal's arguments to the user's own."""
    if not rehearsal.extra_args:
        return None
    configured = loaded.settings.executors.get(name)
    own = list(configured.extra_args) if configured is not None else []
    path = folder / "rehearsal.yaml"
    path.write_text(json.dumps({"executors": {name: {"extra_args": [*own, *rehearsal.extra_args]}}}))
    return path
