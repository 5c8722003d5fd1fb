"""What one call of `touchline run` was given, and what follows from it before a ledger exists (spec page 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TextIO

from touchline import texts
from touchline.coach import finish
from touchline.coach.checks import find_checks, require_verifiers
from touchline.coach.executors import build_executor, pick_player
from touchline.coach.options import Defaults, Effective, Flags, Surroundings, resolve
from touchline.coach.plan import DEFAULT_PLAN_FOLDER, find_plans, read_plan
from touchline.coach.progress import Progress
from touchline.coach.services import Console
from touchline.coach.start import find_place
from touchline.coach.terminal import EXIT_STATUS, Block, block_of
from touchline.config.layers import Level
from touchline.config.load import Loaded
from touchline.documents.ledger import Ledger, Status
from touchline.errors import ExecutorError, GitError, LedgerError
from touchline.ledger.store import LedgerStore
from touchline.plugins.hook_loading import load_hooks
from touchline.process.cancel import interrupts_raised


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
    allow_dirty: bool = False
    cwd: Path = field(default_factory=Path.cwd)


def effective_options(request: Request, loaded: Loaded, root: Path, *, unfinished: Ledger | None = None) -> Effective:
    """The options in effect. Raises UsageError for anything that is refused before a change."""
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


def beginning(
    request: Request, work_tree: Path, loaded: Loaded, effective: Effective, progress: Progress
) -> tuple[Effective, bytes, str] | int:
    """(options, plan, player) of a new run, or the exit status of one that cannot begin."""
    effective = _ask_person(request, effective, progress)
    plan, effective = _chosen_plan(request, work_tree, effective)
    if effective.terminal is not None:
        return end_without_ledger(request, effective, progress, effective.terminal, effective.reason)
    player = _player(request, loaded, effective, progress)
    return player if isinstance(player, int) else (effective, plan, player)


def _ask_person(request: Request, effective: Effective, progress: Progress) -> Effective:
    """The options with what a person chose; only what nobody gave is asked."""
    if request.person is None or not effective.asks:
        return effective
    with progress.paused(), interrupts_raised():
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


def _chosen_plan(request: Request, work_tree: Path, effective: Effective) -> tuple[bytes, Effective]:
    """The plan's text, and the options as they are when it cannot be used."""
    if effective.terminal is not None or effective.plan_file is None:
        return b"", effective
    content, problem = read_plan(plan_path(request, work_tree, effective))
    if problem:
        effective = replace(effective, terminal="FAILED_NO_PLAN", reason=problem)
    return content, effective


def plan_path(request: Request, work_tree: Path, effective: Effective) -> Path:
    """Where the plan lies: one that was named is relative to the caller's folder, a found one to the repository."""
    base = request.cwd if request.flags.plan_file is not None else work_tree
    return (base / (effective.plan_file or "")).resolve()


def end_without_ledger(request: Request, effective: Effective, progress: Progress, status: Status, reason: str) -> int:
    """Print the block of a run that ended before it had a ledger; gives the exit status."""
    return _end(request, progress, Block(status, turns_used=f"0 of {effective.max_turns}"), reason)


def end_before_loop(request: Request, progress: Progress, status: Status, reason: str) -> int:
    """Print the block of a run that could not be opened: an unfinished one as its ledger knows it."""
    given = request.flags.max_turns
    block = Block(status, turns_used=f"0 of {given}") if given and given.isdecimal() else Block(status)
    try:
        place = find_place(request.repo, request.environ, published=not request.flags.no_pr)
        store = LedgerStore(place.folder.path)
        ledger = store.read() if store.exists() else None
        if ledger is not None and ledger.terminal is None:
            block = block_of(ledger, status, current_head=place.repo.head().commit)
    except (GitError, LedgerError) as error:
        progress.say(f"what the run had done is not known: {error.what}")
    return _end(request, progress, block, reason)


def _end(request: Request, progress: Progress, block: Block, reason: str) -> int:
    progress.say(f"{block.status}: {reason}")
    with progress.paused():
        finish.write_block(request.result, block, as_json=request.as_json)
    return EXIT_STATUS[block.status]


def _player(request: Request, loaded: Loaded, effective: Effective, progress: Progress) -> str | int:
    """The player's executor by name, or the exit status of a run that cannot begin for want of one.

    Everybody else whom the run needs is looked for too, so that a name that is wrong leaves no run behind that
    keeps it. Raises PluginLoadError or ConfigError for what is not there.
    """
    settings, environ = loaded.settings, request.environ
    try:
        name = pick_player(effective.executor, settings, environ)
        player = build_executor(name, settings, environ)
        require_verifiers(find_checks(settings, effective.run_options(name), player, tests=None, environ=environ))
        load_hooks([*request.hook_modules, *settings.hooks.modules], environ=environ)
        readiness = player.check()
        if readiness.hindrance:
            raise ExecutorError(f"executor {name!r}: {readiness.hindrance}", fix=readiness.fix)
        return name
    except ExecutorError as error:
        return end_without_ledger(request, effective, progress, "FAILED_RUN", str(error))
