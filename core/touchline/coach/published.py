"""A published run from its arguments to its exit status (spec page 5, phase 0).

The forge, the credential, the target and the whole life cycle are tried before a turn is spent. Whatever of that
fails ends with FAILED_PUBLISH, and nothing was changed at the host.
"""

from __future__ import annotations

import os

from touchline.coach.checks import require_exerciser
from touchline.coach.finish import write_block
from touchline.coach.opening import opening, refuse_changed_options
from touchline.coach.options import Effective
from touchline.coach.progress import Progress
from touchline.coach.publish.binding import Binding, bind
from touchline.coach.publish.branch import branch_name, common_base, open_branch, refuse_dirty
from touchline.coach.publish.publication import Publication
from touchline.coach.publish.takeup import left_at_host, require_kept_transport, tip_at_host, with_unclaimed
from touchline.coach.request import (
    Request,
    beginning,
    effective_options,
    end_without_ledger,
    plan_path,
)
from touchline.coach.start import (
    Place,
    Target,
    find_place,
    open_ledger,
    read_settings,
    require_kept_plan,
)
from touchline.coach.terminal import EXIT_STATUS, block_of
from touchline.coach.work import work
from touchline.config.load import Loaded
from touchline.documents.ledger import LastExit, Ledger, Status
from touchline.errors import ForgeError, GitError, TouchlineError
from touchline.forge import LocalForgeHost, remote_secrets
from touchline.git.hooks import require_identity
from touchline.git.quoting import unquote_path
from touchline.ledger.lock import RunLock
from touchline.ledger.store import LedgerStore, timestamp, utc_now
from touchline.process.cancel import Cancellation
from touchline.secrets.key import run_key
from touchline.secrets.redact import Redactor
from touchline.secrets.scan import Scanner
from touchline.secrets.trusted import read_allowances, read_gitleaks_config
from touchline.turn.masking import Masker


def launch_published(request: Request, progress: Progress, cancel: Cancellation) -> int:
    """Continue the run of the present branch, or begin a new one on a branch of its own."""
    place = find_place(request.repo, request.environ, published=True)
    store = LedgerStore(place.folder.path)
    if store.exists():
        with RunLock(place.folder.path):
            return _on_own_branch(request, place, store, progress, cancel)
    return _on_new_branch(request, place, progress, cancel)


def _on_own_branch(request: Request, place: Place, store: LedgerStore, progress: Progress, cancel: Cancellation) -> int:
    """The branch has a ledger, so it is this task's: go on with its run, or begin another one on it."""
    found = store.read()
    what = opening(found, new=request.new)
    unfinished = found if what in ("continue", "report") else None
    loaded = read_settings(
        place,
        config_file=request.config_file,
        environ=request.environ,
        unfinished=unfinished,
        base=found.merge_base,
    )
    effective = effective_options(request, loaded, place.repo.work_tree, unfinished=unfinished)
    require_exerciser(loaded.settings)
    for notice in effective.notices:
        progress.say(notice)
    if what == "continue":
        refuse_changed_options(found, request.flags, effective)
        require_kept_plan(place, found)
    if what == "report":
        # Only its block is due, and that is in the ledger: the host is not needed.
        return work(request, place, store, found, loaded, progress, cancel)
    try:
        if what != "continue":
            require_identity(place.repo)
        _require_kept_transport(request, place)
        binding = _bind(request, place, loaded, effective, progress, cancel)
        target = _target(binding, effective, found)
        left = None if what == "continue" else left_at_host(binding, place.repo, found, target.branch)
    except (ForgeError, GitError) as error:
        if unfinished is not None:
            return _pause(request, place, store, progress, _told(place, error), cancelled=cancel.is_set())
        return end_without_ledger(request, effective, progress, _refused(cancel), _told(place, error))
    if unfinished is not None:
        ledger = _open(request, place, store, effective, loaded, unfinished.run.options.executor, b"", target)
    else:
        begun = beginning(request, place.repo.work_tree, loaded, effective, progress)
        if isinstance(begun, int):
            return begun
        effective, plan, player = begun
        ledger = _open(request, place, store, effective, loaded, player, plan, target)
    if left is not None:
        ledger = store.write(with_unclaimed(place.repo, left.kept(ledger), target.sha))
    return _publish(request, place, store, ledger, loaded, binding, progress, cancel)


def _require_kept_transport(request: Request, place: Place) -> None:
    """Before anybody is contacted. `--new` says that a person has looked at the settings."""
    if not request.new:
        require_kept_transport(place.repo, place.folder.path.parent.parent)


def _refused(cancel: Cancellation) -> Status:
    """How a start ends whose preflight failed; a call that was broken off for us says nothing about the host."""
    return "INTERRUPTED" if cancel.is_set() else "FAILED_PUBLISH"


def _told(place: Place, error: TouchlineError) -> str:
    """An error as it may be shown: a host may repeat the credential that it was sent."""
    return Masker(remote_secrets(place.repo)).mask(str(error))


def _pause(
    request: Request, place: Place, store: LedgerStore, progress: Progress, reason: str, *, cancelled: bool
) -> int:
    """End this process before the unfinished run could go on: its block as the ledger knows it, the run untouched."""
    status: Status = "INTERRUPTED" if cancelled else "FAILED_RUN"
    found = store.read()
    exit_ = LastExit(status=status, reason=reason, at=timestamp(utc_now()))
    ledger = store.write(found.model_copy(update={"run": found.run.model_copy(update={"last_exit": exit_})}))
    progress.say(f"{status}: {reason}")
    block = block_of(ledger, status, current_head=place.repo.head().commit)
    write_block(request.result, block, as_json=request.as_json)
    return EXIT_STATUS[status]


def _on_new_branch(request: Request, here: Place, progress: Progress, cancel: Cancellation) -> int:
    """No ledger knows the present branch: the change gets a branch of its own, from the fetched target."""
    head = here.repo.head().commit
    loaded = read_settings(
        here, config_file=request.config_file, environ=request.environ, unfinished=None, base=head or None
    )
    effective = effective_options(request, loaded, here.repo.work_tree)
    require_exerciser(loaded.settings)
    for notice in effective.notices:
        progress.say(notice)
    begun = beginning(request, here.repo.work_tree, loaded, effective, progress)
    if isinstance(begun, int):
        return begun
    effective, plan, player = begun
    refuse_dirty(here.repo, allowed=request.allow_dirty)
    try:
        require_identity(here.repo)
        _require_kept_transport(request, here)
        binding = _bind(request, here, loaded, effective, progress, cancel)
        target = _target(binding, effective, None)
        allowed = read_allowances(here.repo, target.sha, patterns=loaded.settings.secrets.patterns)
        redactor = Redactor(Scanner(os.urandom(32), allowed, work_tree=here.repo.work_tree))
        name = redactor.branch(here.repo, branch_name(plan.decode("utf-8", "replace"))).text
        branch = open_branch(here.repo, name, target.sha, at_host=lambda taken: bool(tip_at_host(binding, taken)))
    except (ForgeError, GitError) as error:
        return end_without_ledger(request, effective, progress, _refused(cancel), _told(here, error))
    progress.say(f"branch {branch} from {target.base_ref} at {target.sha[:12]}")
    place = find_place(request.repo, request.environ, published=True)
    # What steers the run comes from the base of the change, whatever the branch was that it was started on.
    loaded = read_settings(
        place, config_file=request.config_file, environ=request.environ, unfinished=None, base=target.sha
    )
    store = LedgerStore(place.folder.path)
    with RunLock(place.folder.path):
        ledger = _open(request, place, store, effective, loaded, player, plan, target)
        return _publish(request, place, store, ledger, loaded, binding, progress, cancel)


def _open(
    request: Request,
    place: Place,
    store: LedgerStore,
    effective: Effective,
    loaded: Loaded,
    player: str,
    plan: bytes,
    target: Target,
) -> Ledger:
    return open_ledger(
        place,
        store,
        effective,
        settings=loaded,
        executor=player,
        plan=plan,
        plan_path=plan_path(request, place.repo.work_tree, effective),
        new=request.new,
        target=target,
    )


def _bind(
    request: Request,
    place: Place,
    loaded: Loaded,
    effective: Effective,
    progress: Progress,
    cancel: Cancellation,
) -> Binding:
    masker = Masker(remote_secrets(place.repo))
    host = LocalForgeHost(
        place.repo, environ=request.environ, say=lambda text: progress.say(masker.mask(text)), cancel=cancel
    )
    return bind(host, loaded.settings, named=effective.forge, environ=request.environ, preflight=True)


def _target(binding: Binding, effective: Effective, found: Ledger | None) -> Target:
    """The exact target, fetched now. An unfinished run keeps its own."""
    kept = found.run.target_branch if found is not None and found.terminal is None else None
    branch = kept or effective.target or binding.forge.default_target(binding.base)
    sha = binding.forge.fetch_branch(binding.base, branch)
    return Target(branch, sha, binding.base_remote, binding.push_remote)


def _publish(
    request: Request,
    place: Place,
    store: LedgerStore,
    ledger: Ledger,
    loaded: Loaded,
    binding: Binding,
    progress: Progress,
    cancel: Cancellation,
) -> int:
    common_base(place.repo, ledger.merge_base, place.repo.head().commit)
    scanner = Scanner(
        run_key(place.folder.private),
        read_allowances(place.repo, ledger.merge_base, patterns=loaded.settings.secrets.patterns),
        scratch=place.folder.private,
        work_tree=place.repo.work_tree,
        gitleaks_config=read_gitleaks_config(place.repo, ledger.merge_base),
    )
    publication = Publication(
        binding,
        scanner,
        Redactor(scanner),
        ledger.run.target_branch or "",
        frozenset(unquote_path(path) for path in ledger.run.dirty_at_start),
    )
    return work(request, place, store, ledger, loaded, progress, cancel, publication=publication)
