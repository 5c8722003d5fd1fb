"""The arguments of `touchline run`, judged before anything is touched (spec page 5, "arguments"). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from touchline import texts
from touchline.documents.duration import EXPECTED, parse_duration
from touchline.documents.ledger import Mode, RunOptions, Status
from touchline.errors import UsageError

DEFAULT_MAX_TURNS = 10
DEFAULT_SEVERITY = 5
DEFAULT_CI_TIMEOUT_S = 6 * 3600
BUDGET_CHOICES = (5, 10, 20)
SEVERITY_CHOICES = (3, 5, 7)

CiOwner = Literal["self", "caller", "none"]
Ask = Literal["plan", "max-turns", "severity"]

_INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)
_SHA = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags as typed; None where a flag was not given. Values are judged by `resolve`, not by the parser."""

    plan_file: str | None = None
    max_turns: str | None = None
    severity: str | None = None
    epic_context: str | None = None
    epic_quarantine: str | None = None
    ci_timeout: str | None = None
    no_pr: bool = False
    no_ci: bool = False
    target: str | None = None
    pr: str | None = None
    approved_head: str | None = None
    headless: bool = False
    resume_ci: bool = False
    executor: str | None = None
    reviewers: tuple[str, ...] = ()
    request_review: str | None = None
    forge: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the configuration gives; None where it says nothing."""

    max_turns: int | None = None
    severity: int | None = None
    executor: str | None = None
    reviewers: tuple[str, ...] = ()
    model: str | None = None
    forge: str | None = None
    ci_timeout_s: int | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the options depend on beside flags and configuration.

    `plans` are the discovered candidates (empty when `--plan-file` was given); `plan_problem` says why the given
    plan cannot be used, or "".
    """

    terminal: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    plans: Sequence[str] = ()
    plan_problem: str = ""


@dataclass(frozen=True, slots=True)
class Effective:
    """The options as they take effect.

    `asks` are what an interactive run will ask; `terminal` is set when the run is already decided (no plan) and
    `reason` says why. `notices` are printed once at the start.
    """

    mode: Mode
    ci: CiOwner
    max_turns: int
    severity: int
    ci_timeout_s: int
    plan_file: str | None
    plans: tuple[str, ...]
    target: str | None
    pr: str | None
    approved_head: str | None
    headless: bool
    startup_notice: str | None
    asks: tuple[Ask, ...]
    terminal: Status | None
    reason: str
    notices: tuple[str, ...]
    executor: str | None
    reviewers: tuple[str, ...]
    model: str | None
    forge: str | None
    request_review: str | None
    epic_context: str | None
    epic_quarantine: str | None

    def as_json(self, more: Mapping[str, object] | None = None) -> dict[str, object]:
        """The machine form that `run --dry-run --json` prints; `more` is added to what is in effect."""
        effective: dict[str, object] = {
            "mode": self.mode,
            "ci": self.ci,
            "maxTurns": self.max_turns,
            "severity": self.severity,
            "ciTimeoutSeconds": self.ci_timeout_s,
            "planFile": self.plan_file,
            "target": self.target,
            "startupNotice": self.startup_notice,
            "asks": list(self.asks),
        }
        if self.terminal is not None:
            effective["terminal"] = self.terminal
        return {"accepted": True, "effective": effective | dict(more or {})}

    def run_options(self, executor: str) -> RunOptions:
        """The options as the ledger keeps them; `executor` is the driver name that was picked."""
        return RunOptions(
            executor=executor,
            reviewers=list(self.reviewers),
            model=self.model,
            max_turns=self.max_turns,
            severity=self.severity,
            ci_timeout_seconds=self.ci_timeout_s,
            no_pr=self.mode == "no-pr",
            no_ci=self.ci == "caller",
            headless=self.headless,
            target=self.target,
            pr=self.pr,
            approved_head=self.approved_head,
            epic_context=self.epic_context,
            epic_quarantine=self.epic_quarantine,
            request_review=self.request_review,
            forge=self.forge,
        )


def duration_s(text: str, name: str) -> int:
    """Seconds of a duration; raises UsageError naming the flag or variable `name`."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{name} is {text!r}", fix=f"Give {EXPECTED}.") from error


def resolve(flags: Flags, defaults: Defaults, around: Surroundings) -> Effective:
    """Judge all arguments together.

    Raises UsageError for anything malformed or contradictory, before any change. A missing plan is no usage
    error: it decides the run as FAILED_NO_PLAN.
    """
    _refuse_combinations(flags)
    max_turns = _whole(flags.max_turns, "--max-turns", low=1)
    severity = _whole(flags.severity, "--severity", low=1, high=10)
    mode: Mode = "no-pr" if flags.no_pr else "resume-ci" if flags.resume_ci else "published"
    ci: CiOwner = "none" if flags.no_pr else "caller" if flags.no_ci else "self"
    headless = flags.headless or not around.terminal
    plan_file, problem, plan_asked = _plan(flags, around, headless=headless)
    asks: list[Ask] = ["plan"] if plan_asked else []
    if not headless:
        if max_turns is None and defaults.max_turns is None:
            asks.append("max-turns")
        if severity is None and defaults.severity is None:
            asks.append("severity")
    notices = [texts.NO_TERMINAL_HEADLESS] if headless and not flags.headless else []
    return Effective(
        mode=mode,
        ci=ci,
        max_turns=_first(max_turns, defaults.max_turns, DEFAULT_MAX_TURNS),
        severity=_first(severity, defaults.severity, DEFAULT_SEVERITY),
        ci_timeout_s=_ci_timeout_s(flags, around, defaults),
        plan_file=plan_file,
        plans=tuple(around.plans),
        target=flags.target,
        pr=_change_reference(flags.pr),
        approved_head=_full_sha(flags.approved_head),
        headless=headless,
        startup_notice=texts.NO_PR_NOTICE if flags.no_pr else None,
        asks=tuple(asks) if not problem else (),
        terminal="FAILED_NO_PLAN" if problem else None,
        reason=problem,
        notices=tuple(notices),
        executor=flags.executor or defaults.executor,
        reviewers=flags.reviewers or defaults.reviewers,
        model=flags.model or defaults.model,
        forge=flags.forge or defaults.forge,
        request_review=flags.request_review,
        epic_context=flags.epic_context,
        epic_quarantine=flags.epic_quarantine,
    )


def changed_options(old: RunOptions, new: RunOptions) -> list[str]:
    """The names of options that differ between an unfinished run and the flags of its continuation."""
    before, after = old.model_dump(by_alias=False), new.model_dump(by_alias=False)
    # Whether a person can be asked belongs to the process that runs now, not to the run.
    return sorted(name for name in after if name != "headless" and before.get(name) != after[name])


def _refuse_combinations(flags: Flags) -> None:
    if flags.resume_ci and flags.no_pr:
        raise UsageError(
            "--resume-ci and --no-pr exclude each other",
            fix="A resume works on an open change request; leave one of the two out.",
        )
    resume_only = {"--pr": flags.pr, "--approved-head": flags.approved_head}
    given = [name for name, value in resume_only.items() if value is not None]
    missing = [name for name, value in resume_only.items() if value is None]
    if flags.resume_ci and missing:
        raise UsageError(
            f"--resume-ci needs {' and '.join(missing)}",
            fix="Name the change request with --pr and the verified commit with --approved-head.",
        )
    if not flags.resume_ci and given:
        raise UsageError(f"{' and '.join(given)} only go with --resume-ci", fix="Add --resume-ci or leave them out.")
    for name, value in (("--target", flags.target), ("--executor", flags.executor), ("--model", flags.model)):
        if value is not None and not value.strip():
            raise UsageError(f"{name} is empty", fix="Give a value or leave the flag out.")


def _whole(text: str | None, name: str, *, low: int, high: int | None = None) -> int | None:
    if text is None:
        return None
    value = int(text) if _INTEGER.fullmatch(text) else -1
    if value < low or (high is not None and value > high):
        wanted = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise UsageError(f"{name} is {text!r}", fix=f"Give a whole number {wanted}.")
    return value


def _ci_timeout_s(flags: Flags, around: Surroundings, defaults: Defaults) -> int:
    if flags.ci_timeout is not None:
        return duration_s(flags.ci_timeout, "--ci-timeout")
    from_environment = around.environ.get("CI_CHECK_TIMEOUT", "")
    if from_environment:
        return duration_s(from_environment, "CI_CHECK_TIMEOUT")
    return _first(defaults.ci_timeout_s, DEFAULT_CI_TIMEOUT_S)


def _change_reference(reference: str | None) -> str | None:
    if reference is None:
        return None
    if _INTEGER.fullmatch(reference) and int(reference) >= 1:
        return str(int(reference))
    if re.fullmatch(r"https?://[^\s\x00-\x1f]+", reference):
        return reference
    raise UsageError(f"--pr is {reference!r}", fix="Give the number of the change request (1 or more) or its full URL.")


def _full_sha(sha: str | None) -> str | None:
    if sha is None:
        return None
    if not _SHA.fullmatch(sha):
        raise UsageError(
            f"--approved-head is {sha!r}, which is no full commit SHA",
            fix="Give all 40 (or 64) hexadecimal digits, for instance from `git rev-parse HEAD`.",
        )
    return sha.lower()


def _plan(flags: Flags, around: Surroundings, *, headless: bool) -> tuple[str | None, str, bool]:
    """(plan file, problem, whether a person has to choose)."""
    if flags.plan_file is not None:
        return flags.plan_file, around.plan_problem, False
    if len(around.plans) == 1:
        return around.plans[0], around.plan_problem, False
    if not around.plans:
        return None, around.plan_problem or texts.NO_PLAN_FOUND, False
    if headless:
        return None, texts.SEVERAL_PLANS.format(names=", ".join(around.plans)), False
    return None, "", True


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)
