"""From arguments to exit status: one process's work on one run (spec page 5).

Everything that can be refused is refused before anything is touched; the terminal block is the only thing that is
written to the result stream.
"""

from __future__ import annotations

import json

from touchline import texts
from touchline.coach.announce import changes_before
from touchline.coach.casting import casting, continued
from touchline.coach.checks import require_exerciser
from touchline.coach.opening import opening, refuse_changed_options
from touchline.coach.options import Defaults, Effective, Surroundings, resolve
from touchline.coach.progress import Progress, progress_on
from touchline.coach.published import launch_published
from touchline.coach.request import (
    Request,
    beginning,
    effective_options,
    end_before_loop,
    plan_path,
)
from touchline.coach.start import Place, find_place, open_ledger, read_settings, require_kept_plan
from touchline.coach.work import work
from touchline.config import places
from touchline.config.load import load_settings
from touchline.errors import ExecutorError, ForgeError, GitError, UsageError
from touchline.ledger.lock import RunLock
from touchline.ledger.store import LedgerStore
from touchline.process.cancel import Cancellation, on_signals
from touchline.turn.shown import visible

__all__ = ["Request", "dry_run", "launch"]


def dry_run(request: Request) -> int:
    """Judge the options and say what would happen and who would do it; touches nothing (spec page 5)."""
    root = places.repository_root(request.repo) or request.repo
    try:
        loaded = load_settings(
            user_file=places.user_file(request.environ),
            repo_file=root / places.REPOSITORY_FILE,
            config_file=request.config_file,
            environ=request.environ,
        )
        effective = effective_options(request, loaded, root)
        unfinished = continued(request.repo, request.environ, published=not request.flags.no_pr)
    except UsageError as error:
        if not request.as_json:
            raise
        request.result.write(json.dumps({"accepted": False, "reason": str(error)}) + "\n")
        return UsageError.exit_code
    for notice in effective.notices:
        print(notice, file=request.told)
    cast = casting(effective, loaded.settings, root, request.environ)
    goes_on = {"continues": unfinished if not request.new else None}
    if request.as_json:
        request.result.write(json.dumps(effective.as_json(cast.as_json() | goes_on)) + "\n")
    else:
        rows: dict[str, object] = effective.as_json()["effective"]  # type: ignore[assignment]
        for key, value in (rows | cast.as_rows() | goes_on).items():
            shown = ", ".join(value) if isinstance(value, list) else value
            request.result.write(f"{key}: {'none' if shown in (None, '') else visible(str(shown))}\n")
    return 0


def launch(request: Request) -> int:
    """Work on the run until it ends or this process has to stop; gives the exit status.

    Raises the error family for what is refused before a run exists, and for a ledger that cannot be trusted.
    """
    if not request.flags.no_pr:
        _refuse_what_is_missing(request)
    with on_signals() as cancel, progress_on(request.told) as progress:
        try:
            if not request.flags.no_pr:
                return launch_published(request, progress, cancel)
            place = find_place(request.repo, request.environ)
            with RunLock(place.folder.path):
                return _local(request, place, progress, cancel)
        except (ExecutorError, ForgeError, GitError) as error:
            if error.exit_code == UsageError.exit_code:
                raise
            # The loop ends with a block of its own; this is a fault on the way to it.
            return end_before_loop(request, progress, "INTERRUPTED" if cancel.is_set() else "FAILED_RUN", str(error))


def _local(request: Request, place: Place, progress: Progress, cancel: Cancellation) -> int:
    store = LedgerStore(place.folder.path)
    found = store.read() if store.exists() else None
    what = opening(found, new=request.new)
    unfinished = found if what in ("continue", "report") else None
    loaded = read_settings(place, config_file=request.config_file, environ=request.environ, unfinished=unfinished)
    effective = effective_options(request, loaded, place.repo.work_tree, unfinished=unfinished)
    for notice in (*effective.notices, effective.startup_notice):
        if notice:
            progress.say(notice)
    require_exerciser(loaded.settings)
    plan = b""
    if unfinished is None:
        begun = beginning(request, place.repo.work_tree, loaded, effective, progress)
        if isinstance(begun, int):
            return begun
        effective, plan, player = begun
        for line in changes_before(place.repo):
            progress.say(line)
    else:
        if what == "continue":
            refuse_changed_options(unfinished, request.flags, effective)
            require_kept_plan(place, unfinished)
        player = unfinished.run.options.executor
    ledger = open_ledger(
        place,
        store,
        effective,
        settings=loaded,
        executor=player,
        plan=plan,
        plan_path=plan_path(request, place.repo.work_tree, effective),
        new=request.new,
    )
    return work(request, place, store, ledger, loaded, progress, cancel)


def _refuse_what_is_missing(request: Request) -> None:
    """Raise UsageError for the forms of a published run that this version does not have."""
    around = Surroundings(environ=request.environ, plans=("plan.md",))
    effective: Effective = resolve(request.flags, Defaults(), around)
    if effective.mode == "published" and effective.ci == "caller":
        return
    raise UsageError(
        f"{texts.CI_NOT_BUILT}: a {effective.mode} run whose CI touchline owns cannot be started",
        fix="Add --no-ci (published as a draft, CI is yours), or --no-pr (everything stays local).",
    )
