"""What one verification run is asked to do, and what it is given to do it with (spec page 5, "Verification")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from touchline.documents.base import Depth
from touchline.documents.ledger import Finding
from touchline.execution.host import Permit
from touchline.executor import Executor
from touchline.gates.reading import Reported
from touchline.git.repository import Repository
from touchline.process.cancel import Cancellation

ScopeMode = Literal["branch", "files", "staged", "unstaged"]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Verifier:
    """One judge, or the exerciser: an executor in fresh sessions of ours, or a command.

    `problem` says why it cannot be used at all (not installed, no such plugin); it is then not started. An
    executor may be the player's: it is given a session of its own, never the id of any other one.
    """

    name: str
    executor: Executor | None = None
    command: tuple[str, ...] = ()
    model: str | None = None
    timeout_s: float = 1800.0
    idle_s: float = 900.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TestPlan:
    """The test command; `origin` says where it comes from (configuration, or the file it was detected by)."""

    __test__ = False

    command: tuple[str, ...]
    timeout_s: float = 1800.0
    origin: str = ""
    baseline: bool = True
    """Whether the tests are counted at the base too."""


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """What to verify. Commits are full ids; paths are relative to the work tree, as git gives them.

    `base_commit` is where the change began: the merge base of a branch, the start of a local run ("" before the
    first commit). `base_ref` is set in branch scope only. `since` narrows what the judges look at to a delta; None
    is a full audit.
    """

    repo: Repository
    report_path: Path
    output_folder: Path
    """A private folder of this verification run for command output and records."""
    mode: ScopeMode
    head_sha: str
    base_commit: str
    base_ref: str | None = None
    files: tuple[str, ...] = ()
    """The paths of the scope `files`."""
    owned: tuple[str, ...] = ()
    """Paths that are hashed besides the tracked files: what the player added."""
    known_dirty: tuple[str, ...] = ()
    """Tracked files that were changed before the run and are tolerated (published runs)."""
    since: str | None = None
    depth: Depth = "light"
    verify_run: int = 1
    turn: int = 0
    threshold: int = 5
    plan: str = ""
    plan_path: Path | None = None
    epic_context: str = ""
    """Path of a text on the larger work; passed on, never read here."""
    known: tuple[Finding, ...] = ()
    """The ledger's findings: open ones are rechecked by id, settled ones are named so that nobody repeats them."""
    coach: tuple[Reported, ...] | None = None
    """What the coach itself noticed (`touchline.verify.tamper`); None: it is looked for here."""
    review_gates: tuple[str, ...] = ()
    exerciser_gates: tuple[str, ...] = ()
    tests: TestPlan | None = None
    workspace: Literal["in-place", "worktree"] = "in-place"
    setup: tuple[str, ...] = ()
    """Makes a clean checkout ready: the one of `workspace`, and the one of the base."""
    timeout_s: float = 3600.0
    cache_folder: Path | None = None
    """Where the test run at the base is kept between verification runs; None: run again each time."""


@dataclass(frozen=True, slots=True)
class VerifyServices:
    """Who verifies, and the services of the process. `judges` stand in the order of preference."""

    judges: tuple[Verifier, ...]
    exerciser: Verifier | None
    permit: Permit
    """The permission policy of the profile "verifier"."""
    cancel: Cancellation
    run_id: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    say: Say = lambda text: None
