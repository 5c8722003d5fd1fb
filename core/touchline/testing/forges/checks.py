"""Scenarios: CI as raw facts for one exact commit; unknown is never green (spec page 6, "CI evidence")."""

from __future__ import annotations

import pytest

from touchline.documents.evidence import CiEvidence
from touchline.errors import ForgeError
from touchline.forge import Change, Check, Forge, ForgeCapability, ReportsChecks, RepositoryId
from touchline.testing.forges.backdoor import Backdoor
from touchline.testing.forges.base import TARGET, Desk, ForgeContractBase, foreign_commit, needs, tip

READ, REPORT = ForgeCapability.READ_CI, ForgeCapability.REPORT_CHECK
CHANGES = (ForgeCapability.INSPECT, ForgeCapability.CREATE_DRAFT)


class CheckScenarios(ForgeContractBase):
    """What is reported, for which commit, and what is not known."""

    @needs(READ)
    def test_commit_without_any_report_has_no_checks(self, forge: Forge, repo: RepositoryId, head: str) -> None:
        evidence = forge.read_ci(repo, head, None)
        assert (evidence.requested_head, evidence.checks, evidence.pr) == (head, [], None)
        assert not evidence.within_settle_window
        assert not evidence.timeout_reached

    @needs(READ)
    @pytest.mark.parametrize(
        ("status", "conclusion"),
        [
            ("queued", None),
            ("in_progress", None),
            ("completed", "success"),
            ("completed", "failure"),
            ("completed", "skipped"),
            ("completed", "neutral"),
            ("completed", "cancelled"),
            ("completed", "action_required"),
        ],
    )
    def test_report_is_told_in_its_own_words(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, head: str, status: str, conclusion: str | None
    ) -> None:
        backdoor.leave_check(head, "unit tests", status=status, conclusion=conclusion)
        evidence = forge.read_ci(repo, head, None)
        (check,) = evidence.checks
        assert (check.name, check.status, check.conclusion) == ("unit tests", status, conclusion)
        assert evidence.checks_readable
        assert evidence.ci_configured

    @needs(READ)
    def test_every_one_of_many_checks_is_told(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, head: str
    ) -> None:
        for number in range(45):
            conclusion = "failure" if number == 39 else "success"
            backdoor.leave_check(head, f"job {number}", status="completed", conclusion=conclusion)
        checks = forge.read_ci(repo, head, None).checks
        assert {check.name for check in checks} == {f"job {number}" for number in range(45)}
        assert [check.name for check in checks if check.conclusion == "failure"] == ["job 39"]

    @needs(READ)
    def test_reports_of_another_commit_prove_nothing(
        self, forge: Forge, backdoor: Backdoor, desk: Desk, repo: RepositoryId, head: str
    ) -> None:
        backdoor.leave_check(head, "unit", status="completed", conclusion="success")
        second = desk.commit("two")
        forge.push(repo, second, "feature/one")
        assert forge.read_ci(repo, second, None).checks == []

    @needs(READ, *CHANGES)
    def test_facts_of_the_change_stand_beside_the_checks(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change
    ) -> None:
        facts = forge.read_ci(repo, change.head_sha, change).pr
        assert facts is not None
        assert (facts.head_sha, facts.is_draft, facts.target_branch) == (change.head_sha, True, TARGET)
        assert facts.target_sha == tip(backdoor, TARGET)

    @needs(READ, *CHANGES)
    def test_head_that_moved_is_told(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change
    ) -> None:
        theirs = foreign_commit(backdoor)
        evidence = forge.read_ci(repo, change.head_sha, change)
        assert evidence.pr is not None
        assert (evidence.requested_head, evidence.pr.head_sha) == (change.head_sha, theirs)

    @needs(READ, *CHANGES)
    def test_target_that_moved_on_is_told(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change
    ) -> None:
        assert forge.read_ci(repo, change.head_sha, change).head_contains_target == "yes"
        foreign_commit(backdoor, TARGET)
        assert forge.read_ci(repo, change.head_sha, change).head_contains_target == "no"

    @needs(READ, *CHANGES)
    def test_evidence_survives_the_disk(
        self, forge: Forge, backdoor: Backdoor, repo: RepositoryId, change: Change
    ) -> None:
        backdoor.leave_check(change.head_sha, "unit", status="completed", conclusion="success")
        evidence = forge.read_ci(repo, change.head_sha, change)
        assert CiEvidence.model_validate_json(evidence.to_bytes()) == evidence

    @needs(READ, REPORT)
    def test_reported_check_is_read_again_and_a_newer_attempt_replaces_it(
        self, forge: Forge, repo: RepositoryId, head: str
    ) -> None:
        assert isinstance(forge, ReportsChecks)
        for app in (None, "another app"):
            forge.report_check(repo, head, Check("Unit — 漢字", "in_progress", app=app))
        forge.report_check(repo, head, Check("Unit — 漢字", "completed", "failure"))
        forge.report_check(repo, head, Check("Unit — 漢字", "completed", "success", attempt=2))
        checks = {check.app: check for check in forge.read_ci(repo, head, None).checks}
        assert (checks[None].conclusion, checks[None].run_attempt) == ("success", 2)
        assert (checks["another app"].status, checks["another app"].conclusion) == ("in_progress", None)

    @needs(READ, REPORT)
    def test_late_report_of_an_older_attempt_is_refused(self, forge: Forge, repo: RepositoryId, head: str) -> None:
        assert isinstance(forge, ReportsChecks)
        forge.report_check(repo, head, Check("unit", "completed", "failure", attempt=2))
        with pytest.raises(ForgeError):
            forge.report_check(repo, head, Check("unit", "completed", "success", attempt=1))
        (check,) = forge.read_ci(repo, head, None).checks
        assert check.conclusion == "failure"
