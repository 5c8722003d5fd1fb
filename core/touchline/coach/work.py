"""The services of one process around a run that is open: put together once, then the loop (spec page 5)."""

from __future__ import annotations

from touchline.coach.announce import announcement
from touchline.coach.checks import find_checks, kept_tests
from touchline.coach.executors import secret_values
from touchline.coach.loop import drive
from touchline.coach.progress import Progress
from touchline.coach.publish.publication import Publication
from touchline.coach.request import Request
from touchline.coach.run import Run
from touchline.coach.services import permission_gates, run_executors
from touchline.coach.start import Place, trusted_rules
from touchline.config.load import Loaded
from touchline.documents.ledger import Ledger
from touchline.forge import remote_secrets
from touchline.ledger.store import LedgerStore, utc_now
from touchline.plugins.hook_loading import load_hooks
from touchline.process.cancel import Cancellation
from touchline.turn.record import TurnRecord


def work(
    request: Request,
    place: Place,
    store: LedgerStore,
    ledger: Ledger,
    loaded: Loaded,
    progress: Progress,
    cancel: Cancellation,
    *,
    publication: Publication | None = None,
) -> int:
    """Work on the open run until it ends or this process has to stop; gives the exit status."""
    known = (*secret_values(loaded.settings, request.environ), *remote_secrets(place.repo))
    secrets = tuple(sorted(dict.fromkeys(known)))
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
            publication=publication,
        )
        for line in announcement(ledger, place, checks=checks.lines()):
            progress.say(line)
        run.hooks.run_started(ledger, place.folder.path)
        return drive(run)
