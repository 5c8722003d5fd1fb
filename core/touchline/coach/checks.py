"""Who and what checks a run: judges, exerciser, tests, from configuration or by default (spec page 5)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from touchline.coach.executors import PREFERRED, build_executor
from touchline.documents.ledger import RunOptions
from touchline.documents.settings import ReviewerConfig, Settings
from touchline.errors import ConfigError, ExecutorError, PluginLoadError
from touchline.executor import Executor
from touchline.plugins.load import driver_names
from touchline.verify.detect import detect_in
from touchline.verify.request import TestPlan, Verifier
from touchline.verify.rules import Rules

CODEX_REVIEWER = "codex-reviewer"
OWN_REVIEWER = "reviewer"
EXERCISER = "exerciser"
NO_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Checks:
    """The verifiers of a run, fixed at its start; `lines` say so to a person."""

    judges: tuple[Verifier, ...]
    exerciser: Verifier | None
    tests: TestPlan | None
    rules: Rules = NO_RULES
    """The custom gates: those of the configuration and those of the trusted VERIFICATION.md."""
    player: Executor | None = None

    def lines(self) -> list[str]:
        """What the start of a run says about them."""
        judges = [one.name + _beside(one, self.player) for one in self.judges]
        exerciser = "off: the feature is not exercised, which never passes"
        if self.exerciser is not None:
            exerciser = " ".join(self.exerciser.command) or f"a fresh session of {_driver(self.exerciser.executor)}"
        tests = "none found: the verdict will say so"
        if self.tests is not None:
            tests = f"{' '.join(self.tests.command)} ({self.tests.origin})"
        rules = len(self.rules.exerciser) + len(self.rules.review)
        return [
            f"judge:     {', '.join(judges)} (the first that is available)",
            f"exerciser: {exerciser}",
            f"tests:     {tests}",
            *([f"gates:     {rules} rules of your own"] if rules else []),
        ]


def find_checks(
    settings: Settings,
    options: RunOptions,
    player: Executor,
    *,
    tests: TestPlan | None,
    environ: Mapping[str, str],
    rules: Rules = NO_RULES,
) -> Checks:
    """The checks in effect: what is configured, and for the rest what works on a stranger's repository.

    `rules` are the custom gates of the trusted VERIFICATION.md; those of the configuration go before them.
    """
    gates = settings.gates
    return Checks(
        judges=_judges(settings, options, player, environ),
        player=player,
        exerciser=_exerciser(settings, player, environ),
        tests=tests,
        rules=Rules(
            exerciser=tuple(dict.fromkeys((*gates.exerciser, *rules.exerciser))),
            review=tuple(dict.fromkeys((*gates.review, *rules.review))),
        ),
    )


def _beside(judge: Verifier, player: Executor | None) -> str:
    """What a person should know of a judge: why it cannot judge, or that it is of the player's own make."""
    if judge.problem:
        return f" ({judge.problem})"
    same = judge.executor is not None and player is not None and judge.executor.name == player.name
    return " (the player's own executor, in a fresh session)" if same else ""


def require_exerciser(settings: Settings) -> None:
    """Refuse a run that could never be approved. Raises ConfigError."""
    if not settings.exerciser.enabled:
        raise ConfigError(
            "exerciser.enabled is false: without an exerciser no run is ever approved",
            fix="Take the line out, or name a command that uses the feature: exerciser: {command: ./smoke-test}",
        )


def require_verifiers(checks: Checks) -> None:
    """Refuse a run whose turns nobody could judge or exercise, before one is spent. Raises ConfigError."""
    if all(judge.problem for judge in checks.judges):
        told = "; ".join(f"{judge.name}: {judge.problem}" for judge in checks.judges)
        raise ConfigError(
            f"no judge can be used ({told})",
            fix="Name one that can, or none (--reviewer, `reviewers` in the configuration): "
            "then a fresh session of the player's executor judges.",
        )
    if checks.exerciser is not None and checks.exerciser.problem:
        raise ConfigError(
            f"the exerciser cannot be used ({checks.exerciser.problem})",
            fix="Install it or log in to it, or name another one or a command under `exerciser` in the configuration.",
        )


def tests_at_start(settings: Settings, work_tree: Path, environ: Mapping[str, str]) -> TestPlan | None:
    """The test command of a new run: the configured one, else what the project's files tell before any turn."""
    config = settings.tests
    if not config.enabled:
        return None
    if config.command is not None:
        return TestPlan(config.command, config.timeout_s, "configured", config.baseline)
    found = detect_in(work_tree, path=environ.get("PATH"))
    return TestPlan(found.argv, config.timeout_s, found.why, config.baseline) if found is not None else None


def keep_tests(tests: TestPlan | None) -> dict[str, Any] | None:
    """The test command as the ledger keeps it for the whole run."""
    return asdict(tests) | {"command": list(tests.command)} if tests is not None else None


def kept_tests(kept: Any) -> TestPlan | None:
    """The test command that the ledger kept; None for a run that has none."""
    if not isinstance(kept, dict):
        return None
    return TestPlan(tuple(kept["command"]), float(kept["timeout_s"]), str(kept["origin"]), bool(kept["baseline"]))


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
    codex = _by_executor(CODEX_REVIEWER, "codex", settings, environ)
    own = Verifier(name=OWN_REVIEWER, executor=player, model=options.model)
    return (*_of_another_vendor(player, settings, environ), codex, own)


def _of_another_vendor(player: Executor, settings: Settings, environ: Mapping[str, str]) -> tuple[Verifier, ...]:
    """A judge that goes before codex where codex itself plays: the first other driver that is installed."""
    if player.name != "codex":
        return ()
    known = driver_names("executor", environ=environ)
    found = (
        _by_executor(f"{name}-reviewer", name, settings, environ)
        for name in PREFERRED
        if name != "codex" and name in known
    )
    return tuple(itertools.islice((one for one in found if not one.problem), 1))


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
    limits = settings.executors[executor].limits if executor in settings.executors else None
    idle_s = float(limits.idle_s) if limits is not None else 900.0
    return Verifier(
        name=name,
        executor=built,
        model=model,
        timeout_s=timeout_s,
        idle_s=min(idle_s, timeout_s),
        problem=readiness.hindrance,
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


def _driver(executor: Executor | None) -> str:
    return executor.name if executor is not None else "nobody"
