"""Phase 0 of a local run: repository, folder, lock, configuration, ledger (spec pages 3 and 5)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline import state
from touchline.coach import local
from touchline.coach.checks import keep_tests, tests_at_start
from touchline.coach.memory import Memory
from touchline.coach.opening import Start, first_ledger, next_run, opening
from touchline.coach.options import Effective
from touchline.coach.plan import digest, read_plan
from touchline.config import places
from touchline.config.load import Loaded, load_settings
from touchline.documents.ledger import Ledger, RunState
from touchline.documents.settings import Settings
from touchline.errors import LedgerError, UsageError
from touchline.git.fingerprint import transport_digest
from touchline.git.hooks import keep_commit_setup
from touchline.git.index import read_status
from touchline.git.quoting import quote_path
from touchline.git.remotes import remote_url
from touchline.git.repository import Repository
from touchline.git.worktrees import remove_leftovers
from touchline.ledger import queries
from touchline.ledger.epic import EpicQuarantine, seeded, unrecorded
from touchline.ledger.pruning import prune
from touchline.ledger.store import LedgerStore, atomic_write, new_run_number, timestamp, utc_now
from touchline.process.environment import inside_run
from touchline.process.sweep import sweep
from touchline.state import RunFolder
from touchline.verify.rules import Rules, verification_rules

MAX_TRUSTED_BYTES = 4 * 1024 * 1024
TRUSTED_FILES = ("touchline.yaml", "VERIFICATION.md")
"""Files of the repository that steer touchline; a run works with the copies from its start."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a local run of this work tree lives."""

    repo: Repository
    project: str
    change_key: str
    folder: RunFolder


@dataclass(frozen=True, slots=True)
class Target:
    """What a published run is against: branch, fetched tip, and the remotes by local name."""

    branch: str
    sha: str
    base_remote: str
    push_remote: str

    @property
    def base_ref(self) -> str:
        """The target as reports name it."""
        return f"{self.base_remote}/{self.branch}"


def find_place(path: Path, environ: Mapping[str, str], *, published: bool = False) -> Place:
    """The place of the run for the present branch of the work tree that holds `path`; creates nothing.

    Raises NotARepositoryError, UsageError inside another run, ConfigError for an unusable state folder.
    """
    if run := inside_run(environ):
        raise UsageError(
            f"this process belongs to run {run}: touchline does not run inside a run",
            fix="Start it from a shell of your own.",
        )
    repo = Repository.open(path)
    head = repo.head()
    root = state.state_root(environ)
    state.require_outside(root, repo.work_tree)
    project = state.project_key(remote_url(repo), repo.common_dir)
    branch = None if head.detached else head.branch
    key = state.change_key(branch, local=not published, detached_sha=head.commit or None)
    return Place(repo, project, key, state.run_folder(root, project, key))


def read_settings(
    place: Place,
    *,
    config_file: Path | None,
    environ: Mapping[str, str],
    unfinished: Ledger | None,
    base: str | None = None,
) -> Loaded:
    """The configuration in effect; an unfinished run keeps the repository's file from its own start.

    With `base`, a commit, the repository's file is the one of that commit (published runs).
    """
    kept = place.folder.path / "trusted" / "touchline.yaml"
    file: Path | bytes | None = kept if unfinished is not None else place.repo.work_tree / places.REPOSITORY_FILE
    if base is not None and unfinished is None:
        file = committed_file(place.repo, base, places.REPOSITORY_FILE)
    return load_settings(user_file=places.user_file(environ), repo_file=file, config_file=config_file, environ=environ)


def open_ledger(
    place: Place,
    store: LedgerStore,
    effective: Effective,
    *,
    settings: Loaded,
    executor: str,
    plan: bytes,
    plan_path: Path,
    new: bool,
    target: Target | None = None,
) -> Ledger:
    """Create, continue or renew the ledger; call it while holding the run's lock.

    Leftovers of an earlier process (programs, intent-to-add entries) are cleared first.
    """
    found = store.read() if store.exists() else None
    if found is not None:
        sweep(place.folder.process_mark(found.run_number))
        local.clear_intents(place.repo, found)
        for folder in sorted(place.folder.output.glob("verify-*")):
            remove_leftovers(place.repo, folder)
    # The root of this run alone: the user's own, beside the demo's, is none of its business.
    prune(place.folder.path.parents[1], now=utc_now())
    what = opening(found, new=new)
    if found is not None and what in ("continue", "report"):
        _share_again(found)
        if found.run.last_exit is not None:
            found = store.write(found.model_copy(update={"run": found.run.model_copy(update={"last_exit": None})}))
        return found
    taken = queries.taken_run_numbers(found) if found is not None else set()
    now = utc_now()
    start = Start(
        project=place.project,
        change_key=place.change_key,
        run_number=new_run_number(now, taken),
        now=timestamp(now),
        plan_file=effective.plan_file or "",
        run=_run_state(
            place,
            effective,
            settings=settings,
            executor=executor,
            plan=plan,
            plan_path=plan_path,
            earlier=found,
            target=target,
        ),
        base_ref=target.base_ref if target is not None else None,
        merge_base=target.sha if target is not None else None,
    )
    atomic_write(place.folder.plan, plan)
    _keep_trusted(place, target)
    ledger = _seeded(first_ledger(start) if found is None else next_run(found, start))
    # What later writes to the ledger no longer show; a replay begins here.
    atomic_write(place.folder.start(ledger.run_number), ledger.to_bytes())
    return store.create(ledger) if found is None else store.write(ledger)


def _seeded(ledger: Ledger) -> Ledger:
    """The ledger with the proven failures that the runs of an epic share; each is checked again before it counts."""
    path = ledger.run.options.epic_quarantine
    return ledger if path is None else seeded(ledger, EpicQuarantine(Path(path)).read())


def _share_again(ledger: Ledger) -> None:
    """Bring into the shared file what a killed process had proved but not shared yet."""
    path = ledger.run.options.epic_quarantine
    if path is not None:
        shared = EpicQuarantine(Path(path))
        shared.record(unrecorded(ledger, shared.read()))


def _run_state(
    place: Place,
    effective: Effective,
    *,
    settings: Loaded,
    executor: str,
    plan: bytes,
    plan_path: Path,
    earlier: Ledger | None,
    target: Target | None,
) -> RunState:
    head = place.repo.head()
    status = read_status(place.repo)
    memory = Memory(place.folder.private)
    owned = local.inherited_paths(place.repo, earlier) if target is None else []
    tree = local.remember_start(place.repo, memory, owned)
    transport = None
    if target is not None:
        keep_commit_setup(place.repo, memory.commit_setup)
        transport = transport_digest(memory.load_fingerprint())
    options = effective.run_options(executor)
    budgets = settings.settings.run.budgets
    options = options.model_copy(
        update={
            "turn_max_tokens": budgets.turn.max_tokens,
            "turn_max_cost": budgets.turn.max_cost,
            "run_max_tokens": budgets.run.max_tokens,
            "run_max_cost": budgets.run.max_cost,
        }
    )
    return RunState(
        options=options,
        mode="no-pr" if target is None else "published",
        repo=str(place.repo.work_tree),
        source_branch=None if head.detached else head.branch,
        target_branch=target.branch if target is not None else None,
        base_remote=target.base_remote if target is not None else None,
        push_remote=target.push_remote if target is not None else None,
        dirty_at_start=[quote_path(path) for path in status.dirty_tracked],
        start_head=head.commit,
        start_tree=tree.digest,
        untracked_at_start=[quote_path(path) for path in status.untracked if path not in owned],
        owned_paths=[quote_path(path) for path in owned],
        staged_at_start=[quote_path(path) for path in status.staged],
        plan_digest=digest(plan),
        plan_path=str(plan_path),
        configuration={
            "digest": _settings_digest(settings.settings),
            "repositoryFile": settings.repository_digest,
            "tests": keep_tests(tests_at_start(settings.settings, place.repo.work_tree, os.environ)),
            "transport": transport,
        },
    )


def require_kept_plan(place: Place, ledger: Ledger) -> None:
    """Raise LedgerError when the run's copy of the plan is not the one that it began with."""
    content, problem = read_plan(place.folder.plan)
    if problem or digest(content) != ledger.run.plan_digest:
        raise LedgerError(
            f"the run's own copy of the plan, {place.folder.plan}, is gone or changed",
            fix="Start a new run with --new; the work tree is left as it is.",
        )


def trusted_rules(place: Place) -> Rules:
    """The custom gates of `VERIFICATION.md` as it stood at the start of the run."""
    text = places.read_optional(place.folder.path / "trusted" / "VERIFICATION.md")
    return verification_rules(text.decode("utf-8", "replace")) if text is not None else Rules()


def committed_file(repo: Repository, commit: str, path: str) -> bytes | None:
    """The content of a file in a commit; None where it is not there."""
    done = repo.run("cat-file", "blob", f"{commit}:{path}", max_output_bytes=MAX_TRUSTED_BYTES)
    return done.stdout if done.returncode == 0 and not done.truncated else None


def _keep_trusted(place: Place, target: Target | None) -> None:
    for name in TRUSTED_FILES:
        kept = place.folder.path / "trusted" / name
        if target is None:
            content = places.read_optional(place.repo.work_tree / name)
        else:
            content = committed_file(place.repo, target.sha, name)
        if content is not None:
            atomic_write(kept, content)
        else:
            kept.unlink(missing_ok=True)


def _settings_digest(settings: Settings) -> str:
    return f"sha256:{hashlib.sha256(settings.model_dump_json().encode()).hexdigest()}"
