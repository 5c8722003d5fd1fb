"""Who and what checks a run: judges, exerciser, tests, from configuration or by default (spec page 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline.coach.executors import build_executor
from touchline.documents.ledger import RunOptions
from touchline.documents.settings import ReviewerConfig, Settings
from touchline.errors import ExecutorError, PluginLoadError
from touchline.executor import Executor
from touchline.verify.detect import detect_tests
from touchline.verify.request import TestPlan, Verifier

CODEX_REVIEWER = "codex-reviewer"
OWN_REVIEWER = "reviewer"
EXERCISER = "exerciser"


@dataclass(frozen=True, slots=True)
class Checks:
    """The verifiers of a run, fixed at its start; `lines` say so to a person."""

    judges: tuple[Verifier, ...]
    exerciser: Verifier | None
    tests: TestPlan | None

    def lines(self) -> list[str]:
        """What the start of a run says about them."""
        judges = [f"{one.name}" + (f" ({one.problem})" if one.problem else "") for one in self.judges]
        exerciser = "off: the feature is not exercised, which never passes"
        if self.exerciser is not None:
            exerciser = " ".join(self.exerciser.command) or f"a fresh session of {_driver(self.exerciser.executor)}"
        tests = "none found: the verdict will say so"
        if self.tests is not None:
            tests = f"{' '.join(self.tests.command)} ({self.tests.origin})"
        return [
            f"judge:     {', '.join(judges)} (the first that is available)",
            f"exerciser: {exerciser}",
            f"tests:     {tests}",
        ]


def find_checks(
    settings: Settings, options: RunOptions, player: Executor, *, work_tree: Path, environ: Mapping[str, str]
) -> Checks:
    """The checks in effect: what is configured, and for the rest what works on a stranger's repository."""
    return Checks(
        judges=_judges(settings, options, player, environ),
        exerciser=_exerciser(settings, player, environ),
        tests=_tests(settings, work_tree),
    )


def _judges(
    settings: Settings, options: RunOptions, player: Executor, environ: Mapping[str, str]
) -> tuple[Verifier, ...]:
    configured = {one.name: one for one in settings.reviewers}
    if options.reviewers:
        return tuple(
            _configured(configured[name], settings, environ)
            if name in configured
            else _by_executor(name, name, settings, environ)
            for name in options.reviewers
        )
    if configured:
        return tuple(_configured(one, settings, environ) for one in settings.reviewers)
    return (
        _by_executor(CODEX_REVIEWER, "codex", settings, environ),
        Verifier(name=OWN_REVIEWER, executor=player, model=options.model),
    )


def _configured(config: ReviewerConfig, settings: Settings, environ: Mapping[str, str]) -> Verifier:
    if config.command is not None:
        return Verifier(name=config.name, command=config.command, timeout_s=config.timeout_s)
    return _by_executor(
        config.name,
        config.executor or config.name,
        settings,
        environ,
        model=config.model,
        timeout_s=config.timeout_s,
    )


def _by_executor(
    name: str,
    executor: str,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    model: str | None = None,
    timeout_s: float = 1800.0,
) -> Verifier:
    try:
        built = build_executor(executor, settings, environ)
        readiness = built.check()
    except (PluginLoadError, ExecutorError) as error:
        return Verifier(name=name, problem=error.what)
    problem = "" if readiness.installed else readiness.problem or "not installed"
    limits = settings.executors[executor].limits if executor in settings.executors else None
    idle_s = float(limits.idle_s) if limits is not None else 900.0
    return Verifier(
        name=name, executor=built, model=model, timeout_s=timeout_s, idle_s=min(idle_s, timeout_s), problem=problem
    )


def _exerciser(settings: Settings, player: Executor, environ: Mapping[str, str]) -> Verifier | None:
    config = settings.exerciser
    if not config.enabled:
        return None
    if config.command is not None:
        return Verifier(name=EXERCISER, command=config.command, timeout_s=config.timeout_s)
    if config.executor is not None:
        return _by_executor(
            EXERCISER, config.executor, settings, environ, model=config.model, timeout_s=config.timeout_s
        )
    return Verifier(name=EXERCISER, executor=player, model=config.model, timeout_s=config.timeout_s)


def _tests(settings: Settings, work_tree: Path) -> TestPlan | None:
    config = settings.tests
    if not config.enabled:
        return None
    if config.command is not None:
        return TestPlan(config.command, config.timeout_s, "configured", config.baseline)
    found = detect_tests(work_tree)
    return TestPlan(found.command, config.timeout_s, found.reason, config.baseline) if found is not None else None


def _driver(executor: Executor | None) -> str:
    return executor.name if executor is not None else "nobody"
