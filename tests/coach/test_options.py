from __future__ import annotations

from dataclasses import replace

import pytest

from touchline.coach.options import (
    Defaults,
    Effective,
    Flags,
    Surroundings,
    changed_options,
    duration_s,
    resolve,
)
from touchline.errors import UsageError

ONE_PLAN = Surroundings(terminal=True, plans=("docs/plans/a.md",))


def accepted(flags: Flags, around: Surroundings = ONE_PLAN, defaults: Defaults | None = None) -> Effective:
    return resolve(flags, defaults or Defaults(), around)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1", 1),
        ("90", 90),
        ("90s", 90),
        ("5m", 300),
        ("6h", 21600),
        ("007", 7),
        ("999999999h", 999999999 * 3600),
    ],
)
def test_a_duration_is_a_positive_whole_number_with_an_optional_unit(text: str, seconds: int) -> None:
    assert duration_s(text, "--ci-timeout") == seconds


@pytest.mark.parametrize("text", ["", "0", "0h", "-1", "1.5h", "1d", "h", "1 h", "١h", "1e3", "1" * 20])
def test_any_other_duration_is_a_usage_error_that_names_its_source(text: str) -> None:
    with pytest.raises(UsageError, match="CI_CHECK_TIMEOUT"):
        duration_s(text, "CI_CHECK_TIMEOUT")


@pytest.mark.parametrize("turns", ["0", "-1", "1.5", "ten", "", "1" * 40])
def test_max_turns_is_a_whole_number_of_at_least_one(turns: str) -> None:
    with pytest.raises(UsageError, match="--max-turns"):
        accepted(Flags(max_turns=turns))


@pytest.mark.parametrize("severity", ["0", "11", "-5", "5.0", "x"])
def test_severity_is_a_whole_number_from_one_to_ten(severity: str) -> None:
    with pytest.raises(UsageError, match="--severity"):
        accepted(Flags(severity=severity))


def test_the_ci_timeout_comes_from_the_flag_then_the_environment_then_six_hours() -> None:
    around = replace(ONE_PLAN, environ={"CI_CHECK_TIMEOUT": "30m"})
    assert accepted(Flags(ci_timeout="10"), around).ci_timeout_s == 10
    assert accepted(Flags(), around).ci_timeout_s == 1800
    assert accepted(Flags(), replace(ONE_PLAN, environ={"CI_CHECK_TIMEOUT": ""})).ci_timeout_s == 21600
    assert accepted(Flags()).ci_timeout_s == 21600


def test_a_malformed_environment_timeout_is_refused_only_where_it_would_be_used() -> None:
    around = replace(ONE_PLAN, environ={"CI_CHECK_TIMEOUT": "soon"})
    with pytest.raises(UsageError, match="CI_CHECK_TIMEOUT"):
        accepted(Flags(), around)
    assert accepted(Flags(ci_timeout="1m"), around).ci_timeout_s == 60


@pytest.mark.parametrize(
    "flags",
    [
        Flags(resume_ci=True, no_pr=True, pr="1", approved_head="a" * 40),
        Flags(resume_ci=True, pr="1"),
        Flags(resume_ci=True, approved_head="a" * 40),
        Flags(pr="1"),
        Flags(approved_head="a" * 40),
        Flags(no_pr=True, pr="1"),
        Flags(resume_ci=True, pr="0", approved_head="a" * 40),
        Flags(resume_ci=True, pr="-1", approved_head="a" * 40),
        Flags(resume_ci=True, pr="1", approved_head="a" * 39),
        Flags(resume_ci=True, pr="1", approved_head="g" * 40),
        Flags(resume_ci=True, pr="1", approved_head="a" * 41),
        Flags(target=" "),
    ],
)
def test_contradicting_or_malformed_arguments_are_refused(flags: Flags) -> None:
    with pytest.raises(UsageError):
        accepted(flags)


def test_a_resume_takes_a_full_sha_of_either_length_in_lower_case() -> None:
    for digits in (40, 64):
        effective = accepted(Flags(resume_ci=True, pr="7", approved_head="AB" * (digits // 2)))
        assert (effective.mode, effective.pr, effective.approved_head) == (
            "resume-ci",
            "7",
            "ab" * (digits // 2),
        )


@pytest.mark.parametrize(
    ("flags", "mode", "ci"),
    [
        (Flags(), "published", "self"),
        (Flags(no_ci=True), "published", "caller"),
        (Flags(no_pr=True), "no-pr", "none"),
        (Flags(no_pr=True, no_ci=True), "no-pr", "none"),
        (Flags(resume_ci=True, no_ci=True, pr="1", approved_head="a" * 40), "resume-ci", "caller"),
    ],
)
def test_mode_and_owner_of_ci_follow_from_the_flags_and_no_pr_beats_no_ci(flags: Flags, mode: str, ci: str) -> None:
    effective = accepted(flags)
    assert (effective.mode, effective.ci) == (mode, ci)
    assert (effective.startup_notice is not None) == flags.no_pr


def test_an_interactive_run_asks_only_for_what_nobody_gave() -> None:
    assert accepted(Flags()).asks == ("max-turns", "severity")
    assert accepted(Flags(max_turns="3")).asks == ("severity",)
    assert accepted(Flags(severity="3"), defaults=Defaults(max_turns=4)).asks == ()
    assert accepted(Flags(), replace(ONE_PLAN, plans=("a.md", "b.md"))).asks == (
        "plan",
        "max-turns",
        "severity",
    )


def test_headless_asks_nothing_and_uses_the_defaults() -> None:
    effective = accepted(Flags(headless=True))
    assert (effective.asks, effective.max_turns, effective.severity, effective.notices) == ((), 10, 5, ())


def test_without_a_terminal_the_run_is_headless_and_says_so_once() -> None:
    effective = accepted(Flags(), replace(ONE_PLAN, terminal=False))
    assert effective.headless
    assert len(effective.notices) == 1


def test_no_plan_decides_the_run_and_is_no_usage_error() -> None:
    for around in (Surroundings(terminal=True), Surroundings(plans=("a.md", "b.md"))):
        effective = accepted(Flags(), around)
        assert effective.terminal == "FAILED_NO_PLAN"
        assert effective.asks == ()
        assert effective.reason
    assert "a.md, b.md" in accepted(Flags(headless=True), Surroundings(plans=("a.md", "b.md"))).reason


def test_a_given_plan_that_cannot_be_used_decides_the_run() -> None:
    effective = accepted(Flags(plan_file="x.md"), Surroundings(plan_problem="the plan x.md is empty"))
    assert (effective.terminal, effective.reason) == ("FAILED_NO_PLAN", "the plan x.md is empty")


def test_flags_beat_configuration() -> None:
    defaults = Defaults(max_turns=4, severity=7, executor="codex")
    effective = accepted(Flags(max_turns="2", executor="claude"), defaults=defaults)
    assert (effective.max_turns, effective.severity, effective.executor) == (2, 7, "claude")


def test_the_dry_run_prints_exactly_these_keys() -> None:
    shown = accepted(Flags(no_pr=True)).as_json()
    assert shown["accepted"] is True
    assert list(shown["effective"]) == [  # type: ignore[call-overload]
        "mode", "ci", "maxTurns", "severity", "ciTimeoutSeconds", "planFile", "target", "startupNotice", "asks",
    ]  # fmt: skip


def test_changed_options_are_named_and_headless_is_none_of_them() -> None:
    old = accepted(Flags(no_pr=True)).run_options("claude")
    new = accepted(Flags(no_pr=True, headless=True, max_turns="3")).run_options("codex")
    assert changed_options(old, new) == ["executor", "max_turns"]
    assert changed_options(old, old) == []
