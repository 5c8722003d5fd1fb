"""From arguments to exit status: one process's work on one local run (spec page 5).

Everything that can be refused is refused before anything is touched; the terminal block is the only thing that is
written to the result stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TextIO

from touchline import texts
from touchline.coach import finish
from touchline.coach.announce import announcement, changes_before
from touchline.coach.checks import find_checks, kept_tests, require_exerciser
from touchline.coach.executors import pick_player, secret_values
from touchline.coach.loop import drive
from touchline.coach.opening import opening, refuse_changed_options
from touchline.coach.options import Defaults, Effective, Flags, Surroundings, resolve
from touchline.coach.plan import DEFAULT_PLAN_FOLDER, digest, find_plans, read_plan
from touchline.coach.progress import Progress, progress_on
from touchline.coach.run import Run
from touchline.coach.services import Console, permission_gates, run_executors
from touchline.coach.start import Place, find_place, open_ledger, read_settings, trusted_rules
from touchline.coach.terminal import EXIT_STATUS, Block
from touchline.config import places
from touchline.config.layers import Level
from touchline.config.load import Loaded, load_settings
from touchline.documents.ledger import Ledger
from touchline.errors import ExecutorError, LedgerError, UsageError
from touchline.ledger.lock import RunLock
from touchline.ledger.store import LedgerStore, utc_now
from touchline.plugins.hook_loading import load_hooks
from touchline.process.cancel import Cancellation, on_signals
from touchline.turn.record import TurnRecord


class Person(Protocol):
    """Somebody at a terminal. Every method may raise KeyboardInterrupt."""

    def choose(self, question: str, choices: Sequence[str], default: str) -> str:
        """One of `choices`."""
        ...

    def console(self, paused: Callable[[], AbstractContextManager[None]]) -> Console:
        """The terminal itself, for permissions and the player's questions."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What one call of `touchline run` was given. `person` is None where nobody can be asked."""

    flags: Flags
    repo: Path
    environ: Mapping[str, str]
    result: TextIO
    told: TextIO
    person: Person | None = None
    config_file: Path | None = None
    hook_modules: Sequence[str] = ()
    new: bool = False
    as_json: bool = False
    cwd: Path = field(default_factory=Path.cwd)


def dry_run(request: Request) -> int:
    """Judge the options and say what would happen; touches nothing, contacts nobody (spec page 5)."""
    root = places.repository_root(request.repo) or request.repo
    try:
        loaded = load_settings(
            user_file=places.user_file(request.environ),
            repo_file=root / places.REPOSITORY_FILE,
            config_file=request.config_file,
            environ=request.environ,
        )
        effective = _effective(request, loaded, root)
    except UsageError as error:
        if not request.as_json:
            raise
        request.result.write(json.dumps({"accepted": False, "reason": str(error)}, ensure_ascii=False) + "\n")
        return UsageError.exit_code
    for notice in effective.notices:
        print(notice, file=request.told)
    if request.as_json:
        request.result.write(json.dumps(effective.as_json(), ensure_ascii=False) + "\n")
    else:
        for key, value in effective.as_json()["effective"].items():  # type: ignore[attr-defined]
            shown = ", ".join(value) if isinstance(value, list) else value
            request.result.write(f"{key}: {'none' if shown in (None, '') else shown}\n")
    return 0


def launch(request: Request) -> int:
    """Work on the run until it ends or this process has to stop; gives the exit status.

    Raises the error family for what is refused before a run exists, and for a ledger that cannot be trusted.
    """
    if not request.flags.no_pr:
        _refuse_publishing(request)
    with on_signals() as cancel, progress_on(request.told) as progress:
        place = find_place(request.repo, request.environ)
        with RunLock(place.folder.path):
            return _locked(request, place, progress, cancel)


def _locked(request: Request, place: Place, progress: Progress, cancel: Cancellation) -> int:
    store = LedgerStore(place.folder.path)
    found = store.read() if store.exists() else None
    what = opening(found, new=request.new)
    unfinished = found if what in ("continue", "report") else None
    loaded = read_settings(place, config_file=request.config_file, environ=request.environ, unfinished=unfinished)
    effective = _effective(request, loaded, place.repo.work_tree, unfinished=unfinished)
    for notice in (*effective.notices, effective.startup_notice):
        if notice:
            progress.say(notice)
    require_exerciser(loaded.settings)
    plan = b""
    if unfinished is None:
        effective = _asked(request, effective, progress)
        plan, effective = _plan(request, place, effective)
        if effective.terminal is not None:
            return _no_plan(request, effective, progress)
        player = _player(request, loaded, effective, progress)
        if isinstance(player, int):
            return player
        for line in changes_before(place.repo):
            progress.say(line)
    else:
        if what == "continue":
            refuse_changed_options(unfinished, request.flags, effective)
            _require_kept_plan(place, unfinished)
        player = unfinished.run.options.executor
    ledger = open_ledger(
        place,
        store,
        effective,
        settings=loaded,
        executor=player,
        plan=plan,
        plan_path=_plan_path(request, place, effective),
        new=request.new,
    )
    return _work(request, place, store, ledger, loaded, progress, cancel)


def _work(
    request: Request,
    place: Place,
    store: LedgerStore,
    ledger: Ledger,
    loaded: Loaded,
    progress: Progress,
    cancel: Cancellation,
) -> int:
    secrets = secret_values(loaded.settings, request.environ)
    modules = [*request.hook_modules, *loaded.settings.hooks.modules]
    headless = request.flags.headless or request.person is None
    console = None if headless or request.person is None else request.person.console(progress.paused)
    executors = run_executors(ledger, loaded.settings, request.environ)
    player = executors[ledger.run.options.executor]
    tests = kept_tests(ledger.run.configuration.get("tests"))
    checks = find_checks(
        loaded.settings,
        ledger.run.options,
        player,
        tests=tests,
        environ=request.environ,
        rules=trusted_rules(place),
    )
    gates = permission_gates(
        place.repo,
        place.folder,
        ledger,
        loaded.settings,
        console=console,
        cancel=cancel,
        clock=utc_now,
        say=progress.say,
    )
    with TurnRecord(place.folder.path, secrets) as record:
        run = Run(
            store=store,
            repo=place.repo,
            settings=loaded.settings,
            executors=executors,
            record=record,
            progress=progress,
            cancel=cancel,
            gates=gates,
            checks=checks,
            hooks=load_hooks(modules, environ=request.environ, say=progress.say),
            clock=utc_now,
            result=request.result,
            as_json=request.as_json,
            secrets=secrets,
        )
        for line in announcement(ledger, place, checks=checks.lines()):
            progress.say(line)
        run.hooks.run_started(ledger, place.folder.path)
        return drive(run)


def _effective(request: Request, loaded: Loaded, root: Path, *, unfinished: Ledger | None = None) -> Effective:
    settings = loaded.settings

    def given(key: str, value: int) -> int | None:
        return None if loaded.origin(("run", key)).level is Level.DEFAULT else value

    plans: tuple[str, ...] = ()
    problem = ""
    if request.flags.plan_file is not None:
        _, problem = read_plan(request.cwd / request.flags.plan_file)
    elif unfinished is not None:
        plans = (unfinished.plan_file,)
    else:
        folders = [folder for folder in (settings.run.plans, DEFAULT_PLAN_FOLDER) if folder]
        found = find_plans(root, folders)
        plans, problem = found.candidates, found.problem
        if len(plans) == 1:
            _, problem = read_plan(root / plans[0])
    defaults = Defaults(
        max_turns=given("max_turns", settings.run.max_turns),
        severity=given("severity", settings.run.severity),
        executor=settings.run.executor,
        reviewers=(),
        ci_timeout_s=given("ci_timeout", settings.run.ci_timeout_s),
    )
    around = Surroundings(
        terminal=request.person is not None, environ=request.environ, plans=plans, plan_problem=problem
    )
    return resolve(request.flags, defaults, around)


def _refuse_publishing(request: Request) -> None:
    effective = resolve(request.flags, Defaults(), Surroundings(environ=request.environ, plans=("plan.md",)))
    raise UsageError(
        f"{texts.PUBLISHING_NOT_BUILT}: a {effective.mode} run cannot be started",
        fix="Add --no-pr: the whole loop runs locally and leaves the work in your work tree.",
    )


def _asked(request: Request, effective: Effective, progress: Progress) -> Effective:
    """The options with what a person chose; only what nobody gave is asked."""
    if request.person is None or not effective.asks:
        return effective
    with progress.paused():
        for ask in effective.asks:
            if ask == "plan":
                chosen = request.person.choose("Which plan?", effective.plans, effective.plans[0])
                effective = replace(effective, plan_file=chosen)
            elif ask == "max-turns":
                turns = request.person.choose(texts.ASK_MAX_TURNS, ("5", "10", "20"), "10")
                effective = replace(effective, max_turns=int(turns))
            else:
                severity = request.person.choose(texts.ASK_SEVERITY, ("3", "5", "7"), "5")
                effective = replace(effective, severity=int(severity))
    return effective


def _plan(request: Request, place: Place, effective: Effective) -> tuple[bytes, Effective]:
    if effective.terminal is not None or effective.plan_file is None:
        return b"", effective
    content, problem = read_plan(_plan_path(request, place, effective))
    if problem:
        effective = replace(effective, terminal="FAILED_NO_PLAN", reason=problem)
    return content, effective


def _plan_path(request: Request, place: Place, effective: Effective) -> Path:
    """Where the plan lies: one that was named is relative to the caller's folder, a found one to the repository."""
    base = request.cwd if request.flags.plan_file is not None else place.repo.work_tree
    return (base / (effective.plan_file or "")).resolve()


def _no_plan(request: Request, effective: Effective, progress: Progress) -> int:
    progress.say(f"FAILED_NO_PLAN: {effective.reason}")
    block = Block("FAILED_NO_PLAN", turns_used=f"0 of {effective.max_turns}")
    finish.write_block(request.result, block, as_json=request.as_json)
    return EXIT_STATUS["FAILED_NO_PLAN"]


def _player(request: Request, loaded: Loaded, effective: Effective, progress: Progress) -> str | int:
    """The player's executor by name, or the exit status of a run that cannot begin for want of one."""
    try:
        return pick_player(effective.executor, loaded.settings, request.environ)
    except ExecutorError as error:
        progress.say(f"FAILED_RUN: {error}")
        block = Block("FAILED_RUN", turns_used=f"0 of {effective.max_turns}")
        finish.write_block(request.result, block, as_json=request.as_json)
        return EXIT_STATUS["FAILED_RUN"]


def _require_kept_plan(place: Place, ledger: Ledger) -> None:
    content, problem = read_plan(place.folder.plan)
    if problem or digest(content) != ledger.run.plan_digest:
        raise LedgerError(
            f"the run's own copy of the plan, {place.folder.plan}, is gone or changed",
            fix="Start a new run with --new; the work tree is left as it is.",
        )
