"""One verification run from request to report (spec page 5, "Verification"; the report: page 4).

Order: tests, judges, exerciser (which is shown what the judges found), then the debug step. Each is followed by the
proof that it changed nothing. The report is honest about what did not run: whether that is enough is for the gates.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from touchline.documents.report import CustomGates, Report, SkillResult
from touchline.errors import GitError
from touchline.gates.reading import Reported
from touchline.git.repository import Repository
from touchline.git.trees import snapshot
from touchline.git.worktrees import throwaway_worktree
from touchline.ledger.atomic import atomic_write
from touchline.process.environment import clean_environment
from touchline.state import make_private_folder
from touchline.verify import reporting, tester
from touchline.verify.answers import ExerciserAnswer, JudgeAnswer
from touchline.verify.baseline import AtBase, tests_at_base
from touchline.verify.coachfacts import gather_facts
from touchline.verify.consulting import Consulted, Place, Purpose, consult
from touchline.verify.debug import diagnose
from touchline.verify.folding import fold, from_answer, number
from touchline.verify.judging import Judged, judge
from touchline.verify.masked import mask_files, masked_report
from touchline.verify.noticed import plan_gaps, to_weigh, unanswered, weighed
from touchline.verify.prompts import Brief, exerciser_prompt, judge_prompt
from touchline.verify.proof import Proofs, ReadOnlyProof
from touchline.verify.reporting import EXERCISER, Exercised
from touchline.verify.request import TestPlan, Verifier, VerifyRequest, VerifyServices
from touchline.verify.scope import Material, compared_trees, gather
from touchline.verify.setup import make_ready
from touchline.verify.tamper import coach_issues
from touchline.verify.tester import RanTests
from touchline.verify.testrun import TestCommand
from touchline.verify.tests import run_tests


class _Stopped(Exception):
    """The verification cannot go on; its text says why, for the report."""


def verify(request: VerifyRequest, services: VerifyServices) -> Report:
    """The report of one verification run, also written to `request.report_path` in one step.

    What cannot be done stands in the report as `blocked` or `error`, never as a verdict. Raises LedgerError when
    the report or the output cannot be written.
    """
    try:
        try:
            report = _Verification(request, services).report()
        finally:
            mask_files(request.output_folder, services.secrets)
    except _Stopped as stopped:
        report = reporting.failed_report(request, "blocked", str(stopped))
    except GitError as error:
        report = reporting.failed_report(request, "error", error.what)
    except OSError as error:
        report = reporting.failed_report(request, "error", f"a file could not be read or written: {error}")
    report = masked_report(report, services.secrets)
    atomic_write(request.report_path, report.to_bytes())
    return report


class _Verification:
    """One run: what was asked for, and its stages."""

    def __init__(self, request: VerifyRequest, services: VerifyServices) -> None:
        self._request = request
        self._services = services
        self._folder = request.output_folder
        self._deadline = time.monotonic() + request.timeout_s

    def report(self) -> Report:
        """Goes through every stage."""
        request = self._request
        make_private_folder(self._folder)
        material = gather(request, snapshot(request.repo, request.owned))
        with self._workspace() as repo, contextlib.closing(self._proofs(repo)) as proof:
            base = self._tests_at_base()
            tests = self._tests(repo, base, proof)
            self._go_on()
            noticed = [*self._coach(material), *tests.reported]
            brief = self._brief(material, tests, noticed)
            judged = judge(
                self._services.judges,
                request.depth,
                lambda judge: self._ask_judge(judge, brief, repo),
                proof,
                self._services.say,
            )
            self._go_on()
            found = number(fold(self._found(noticed, brief, judged)))
            exercised = self._exercise(brief, found, repo, proof)
            self._go_on()
        return self._assembled(material, tests, base, judged, found, exercised)

    def _go_on(self) -> None:
        if self._services.cancel.is_set():
            raise _Stopped(f"the verification was stopped: {self._services.cancel.reason}")

    @contextlib.contextmanager
    def _workspace(self) -> Iterator[Repository]:
        """Where the verifiers work: the work tree itself, or a clean checkout of the head, made ready."""
        request = self._request
        if request.workspace == "in-place" or request.mode != "branch":
            yield request.repo
            return
        with throwaway_worktree(request.repo, request.head_sha, self._folder / "worktree") as clean:
            problem = make_ready(
                request.setup,
                clean.path,
                timeout_s=self._left_s(request.timeout_s),
                output=self._folder / "setup.log",
                run_id=self._services.run_id,
                cancel=self._services.cancel,
            )
            if problem:
                raise _Stopped(problem)
            yield clean.repository

    def _proofs(self, repo: Repository) -> Proofs:
        own = ReadOnlyProof(self._request.repo, self._request.owned, self._folder / "proof")
        if repo is self._request.repo:
            return Proofs(own)
        return Proofs(own, ReadOnlyProof(repo, (), self._folder / "proof-worktree"))

    def _tests_at_base(self) -> AtBase:
        plan = self._request.tests
        if plan is None or not plan.baseline:
            return AtBase(None, "tests are not run at the base")
        if not self._request.base_commit:
            return AtBase(None, "there was no commit before the change")
        self._services.say(f"tests at the base {self._request.base_commit[:12]}")
        return tests_at_base(
            self._request.repo,
            self._request.base_commit,
            _command(plan),
            setup=self._request.setup,
            timeout_s=self._left_s(plan.timeout_s),
            folder=self._folder,
            cache_folder=self._request.cache_folder,
            run_id=self._services.run_id,
            cancel=self._services.cancel,
        )

    def _tests(self, repo: Repository, base: AtBase, proof: Proofs) -> RanTests:
        plan = self._request.tests
        if plan is None:
            return tester.not_run("no test command is configured and none was found")
        self._services.say(f"tests: {' '.join(plan.command)}")
        result = run_tests(
            _command(plan),
            cwd=repo.work_tree,
            timeout_s=self._left_s(plan.timeout_s),
            output_path=self._folder / "tests.log",
            env=clean_environment(os.environ, run_id=self._services.run_id),
            run_id=self._services.run_id,
            cancel=self._services.cancel,
            baseline=base.result.counts if base.result is not None else None,
        )
        checked = proof.check()
        if checked.broke:
            return tester.discarded(
                f"the test command {checked.broke}; what it changed is put back and its result discarded. "
                "Let tests write only files that git ignores"
            )
        notes = [checked.noted] if checked.noted else []
        if base.problem and plan.baseline:
            notes.append(f"the tests at the base are not known: {base.problem}")
        return tester.from_result(result, threshold=self._request.threshold, notes=notes)

    def _coach(self, material: Material) -> tuple[Reported, ...]:
        request = self._request
        if request.coach is not None:
            return request.coach
        base, target = compared_trees(request)
        facts = gather_facts(request.repo, base, material.changed, threshold=request.threshold, target=target)
        return tuple(coach_issues(facts))

    def _brief(self, material: Material, tests: RanTests, noticed: Sequence[Reported]) -> Brief:
        request = self._request
        return Brief(
            task_id=f"verification {request.verify_run} of turn {request.turn}",
            plan=request.plan,
            plan_path=request.plan_path,
            material=material,
            epic_context=request.epic_context,
            known=request.known,
            noticed=to_weigh(noticed),
            tests=tests.line,
        )

    def _ask_judge(self, verifier: Verifier, brief: Brief, repo: Repository) -> Consulted[JudgeAnswer]:
        gates = self._request.review_gates
        place = self._place(verifier, repo, "judge")
        return consult(
            verifier,
            JudgeAnswer,
            lambda complaint: judge_prompt(brief, gates, complaint=complaint),
            place,
            self._services,
            purpose="judge",
            missing=lambda answer: unanswered(answer, len(brief.noticed)),
        )

    def _exercise(self, brief: Brief, found: Sequence[Reported], repo: Repository, proof: Proofs) -> Exercised:
        verifier = self._services.exerciser
        if verifier is None:
            row = SkillResult(skill=EXERCISER, status="SKIPPED", notes="switched off: the feature was not used")
            return Exercised(row)
        self._services.say("exerciser: " + (" ".join(verifier.command) or "a fresh session"))
        gates = self._request.exerciser_gates
        outcome = consult(
            verifier,
            ExerciserAnswer,
            lambda complaint: exerciser_prompt(brief, gates, found, complaint=complaint),
            self._place(verifier, repo, "exerciser"),
            self._services,
            purpose="exerciser",
        )
        checked = proof.check()
        if checked.broke:
            notes = f"it {checked.broke}; what it changed is put back and its answer discarded"
            return Exercised(SkillResult(skill=EXERCISER, status="BLOCKED", notes=notes))
        answer = outcome.answer
        said = (answer.notes if answer is not None else outcome.notes, checked.noted, _only_said(outcome))
        row = SkillResult(
            skill=EXERCISER,
            status=answer.status if answer is not None else outcome.word,
            notes="\n".join(part for part in said if part),
        )
        return Exercised(row, answer)

    def _place(self, verifier: Verifier, repo: Repository, purpose: Purpose) -> Place:
        request = self._request
        facts = {
            "TOUCHLINE_HEAD_SHA": request.head_sha,
            "TOUCHLINE_BASE_SHA": request.base_commit,
            "TOUCHLINE_SCOPE": request.mode,
        }
        readable = []
        if request.plan_path is not None:
            readable.append(request.plan_path)
            facts["TOUCHLINE_PLAN_FILE"] = str(request.plan_path)
        if request.epic_context:
            readable.append(Path(request.epic_context).absolute())
        return Place(
            repo=repo,
            head_sha=request.head_sha,
            folder=self._folder / f"{purpose}-{verifier.name}",
            task_id=f"verify-{request.verify_run}-{purpose}",
            turn=request.turn,
            readable=tuple(readable),
            deadline=self._deadline,
            facts=facts,
        )

    def _found(self, noticed: Sequence[Reported], brief: Brief, judged: Judged) -> list[Reported]:
        """What everybody but the exerciser found; the coach and the tests first, so that they keep their words."""
        found = weighed(noticed, brief.noticed, judged.answers)
        for name, answer in judged.answers:
            found += [*self._from(answer, name), *plan_gaps(name, answer)]
        return found

    def _from(self, answer: JudgeAnswer | ExerciserAnswer, source: str) -> list[Reported]:
        known = {finding.id for finding in self._request.known}
        work_tree = self._request.repo.work_tree
        return [from_answer(issue, source, work_tree=work_tree, known=known) for issue in answer.issues]

    def _assembled(
        self,
        material: Material,
        tests: RanTests,
        base: AtBase,
        judged: Judged,
        found: list[Reported],
        exercised: Exercised,
    ) -> Report:
        request = self._request
        own = self._from(exercised.answer, EXERCISER) if exercised.answer is not None else []
        reported = number(fold(own, into=found))
        opened = {finding.id for finding in request.known if finding.disposition == "open"}
        diagnoses = diagnose(
            reported,
            tests.result,
            base.result,
            base_commit=request.base_commit,
            changed=material.changed,
            threshold=request.threshold,
            work_tree=request.repo.work_tree,
            plan=request.plan,
        )
        tests = tester.excused(tests, diagnoses, reported)
        rechecked = tester.rechecks(tests.result, request.known)
        told = {recheck.ledger_id for recheck in rechecked}
        answers = [(name, answer.gates) for name, answer in judged.answers]
        used = [(EXERCISER, exercised.answer.gates)] if exercised.answer is not None else []
        return reporting.whole_report(
            material.scope,
            [tests.row, *judged.rows, exercised.row],
            judged.skipped,
            reported,
            seen=reporting.seen_rows(exercised.answer, found),
            gates=CustomGates(
                exerciser=reporting.gate_rows(request.exerciser_gates, used),
                review=reporting.gate_rows(request.review_gates, answers),
            ),
            rechecks=[*rechecked, *reporting.judged_rechecks(judged.answers, opened - told)],
            diagnoses=diagnoses,
        )

    def _left_s(self, timeout_s: float) -> float:
        return max(1.0, min(timeout_s, self._deadline - time.monotonic()))


def _only_said(outcome: Consulted[ExerciserAnswer]) -> str:
    """What can be told by machine of an exerciser that answers without having done anything."""
    if outcome.answer is None or outcome.tool_calls != 0:
        return ""
    return "no tool call of it was seen: that the feature was used is its word alone"


def _command(plan: TestPlan) -> TestCommand:
    return TestCommand(plan.command, plan.origin)
