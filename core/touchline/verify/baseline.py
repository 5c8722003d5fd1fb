"""The tests at the base: run once in a throw-away worktree, and kept (spec page 5, "Debug step", "fewer tests").

What comes out serves two questions: is there less testing than before, and did this failure exist before. A run that
could not be made answers neither, and says why.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from touchline.errors import GitError, LedgerError
from touchline.git.repository import Repository
from touchline.git.worktrees import throwaway_worktree
from touchline.ledger.atomic import atomic_write, read_regular
from touchline.process.cancel import Cancellation
from touchline.process.environment import clean_environment
from touchline.verify.mirror import base_environment
from touchline.verify.setup import make_ready
from touchline.verify.testrun import TestCommand, TestsResult
from touchline.verify.tests import run_tests

_RESULT = TypeAdapter(TestsResult)


@dataclass(frozen=True, slots=True)
class AtBase:
    """The result at the base, or why there is none."""

    result: TestsResult | None
    problem: str = ""


def tests_at_base(
    repo: Repository,
    commit: str,
    command: TestCommand,
    *,
    setup: tuple[str, ...],
    timeout_s: float,
    folder: Path,
    cache_folder: Path | None,
    run_id: str,
    cancel: Cancellation,
) -> AtBase:
    """The outcome of `command` at `commit`; `folder` is private and takes the worktree and the output."""
    kept = cache_folder / _name(commit, command, setup) if cache_folder is not None else None
    if kept is not None and (known := _read(kept)) is not None:
        return AtBase(known)
    try:
        with throwaway_worktree(repo, commit, folder / "base-worktree") as base:
            problem = make_ready(
                setup,
                base.path,
                timeout_s=timeout_s,
                output=folder / "base-setup.log",
                run_id=run_id,
                cancel=cancel,
            )
            if problem:
                return AtBase(None, problem)
            result = run_tests(
                command,
                cwd=base.path,
                timeout_s=timeout_s,
                output_path=folder / "base-tests.log",
                env=base_environment(
                    command.argv,
                    clean_environment(os.environ, run_id=run_id),
                    work_tree=repo.work_tree,
                    base=base.path,
                ),
                run_id=run_id,
                cancel=cancel,
            )
    except GitError as error:
        return AtBase(None, error.what)
    if kept is not None and result.status != "BLOCKED":
        atomic_write(kept, _RESULT.dump_json(result))
    return AtBase(result, result.reason if result.status == "BLOCKED" else "")


def _name(commit: str, command: TestCommand, setup: tuple[str, ...]) -> str:
    key = hashlib.sha256("\0".join((commit, *command.argv, "", *setup)).encode("utf-8", "surrogateescape"))
    return f"tests-at-base-{key.hexdigest()[:24]}.json"


def _read(path: Path) -> TestsResult | None:
    if not path.exists():
        return None
    try:
        return _RESULT.validate_json(read_regular(path))
    except (ValidationError, LedgerError):  # a broken cache is no cache
        return None
