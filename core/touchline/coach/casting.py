"""Who would play, judge, exercise and test in a run that is not begun yet: what `run --dry-run` adds (spec page 5).

Only the programs themselves are asked whether they are there, as at the start of a run; nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline.coach.checks import Checks, find_checks, tests_at_start
from touchline.coach.executors import build_executor, pick_player
from touchline.coach.options import Effective
from touchline.coach.start import find_place
from touchline.config import places
from touchline.documents.settings import Settings
from touchline.errors import ConfigError, ExecutorError, NotARepositoryError, PluginLoadError
from touchline.ledger.store import LedgerStore
from touchline.verify.request import TestPlan, Verifier
from touchline.verify.rules import Rules, verification_rules


@dataclass(frozen=True, slots=True)
class Cast:
    """The parts as they would be filled; `problem` is why a run could not begin with them, "" if it could.

    `player` is None where no executor can play; then nobody knows the default judge and exerciser.
    """

    player: str | None
    model: str | None
    problem: str
    checks: Checks | None
    tests: TestPlan | None

    def as_json(self) -> dict[str, object]:
        """What is added to the documented keys."""
        checks = self.checks
        return {
            "player": self.player,
            "model": self.model,
            "playerProblem": self.problem or None,
            "judges": [_judge(one) for one in checks.judges] if checks is not None else [],
            "exerciser": _exerciser(checks.exerciser) if checks is not None else None,
            "tests": {"command": list(self.tests.command), "origin": self.tests.origin} if self.tests else None,
            "rules": len(checks.rules.exerciser) + len(checks.rules.review) if checks is not None else 0,
        }

    def as_rows(self) -> dict[str, object]:
        """The same for people."""
        player = self.player or "none"
        told: dict[str, object] = {
            "player": f"{player} (cannot play: {self.problem})" if self.problem else player,
            "model": self.model,
        }
        if self.checks is None:
            tests = f"{' '.join(self.tests.command)} ({self.tests.origin})" if self.tests is not None else None
            return told | {"tests": tests}
        return told | {key: text.strip() for key, _, text in (line.partition(":") for line in self.checks.lines())}


def casting(effective: Effective, settings: Settings, work_tree: Path, environ: Mapping[str, str]) -> Cast:
    """The parts of a run with these options in this work tree. What cannot be used is said, not raised."""
    tests = tests_at_start(settings, work_tree, environ)
    name: str | None = effective.executor
    try:
        name = pick_player(effective.executor, settings, environ)
        player = build_executor(name, settings, environ)
        checks = find_checks(
            settings, effective.run_options(name), player, tests=tests, environ=environ, rules=_rules(work_tree)
        )
        problem = player.check().hindrance
    except (ExecutorError, PluginLoadError, ConfigError) as error:
        return Cast(None, effective.model, f"{error.what}. {error.fix}".strip(), None, tests)
    return Cast(name, effective.model, problem, checks, tests)


def continued(repo: Path, environ: Mapping[str, str], *, published: bool) -> str | None:
    """The number of the unfinished run that a start on the present branch would go on with, its options included."""
    try:
        place = find_place(repo, environ, published=published)
    except NotARepositoryError:
        return None
    store = LedgerStore(place.folder.path)
    ledger = store.read() if store.exists() else None
    return ledger.run_number if ledger is not None and ledger.terminal is None else None


def _rules(work_tree: Path) -> Rules:
    text = places.read_optional(work_tree / "VERIFICATION.md")
    return verification_rules(text.decode("utf-8", "replace")) if text is not None else Rules()


def _judge(judge: Verifier) -> dict[str, object]:
    return {"name": judge.name, "by": _by(judge), "problem": judge.problem or None}


def _exerciser(exerciser: Verifier | None) -> dict[str, object] | None:
    return None if exerciser is None else {"by": _by(exerciser), "problem": exerciser.problem or None}


def _by(verifier: Verifier) -> str | None:
    """The command, or the driver of the executor that would be asked."""
    if verifier.command:
        return " ".join(verifier.command)
    return verifier.executor.name if verifier.executor is not None else None
