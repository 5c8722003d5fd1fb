"""CI results kept in the remote itself (spec page 6, "Generic forge"): facts in, facts out, no verdict.

A record that cannot be read makes the whole reading unreadable: what it says could be a failure.
"""

from __future__ import annotations

from typing import Literal

from touchline.api import (
    Change,
    Check,
    CheckFact,
    CheckPolicy,
    CiEvidence,
    ForgeConflict,
    ForgeError,
    ForgeForbiddenError,
    ForgeHost,
    ForgeUnavailable,
    PullRequestFacts,
    RepositoryId,
)
from touchline_forges.git_objects import GitObjects
from touchline_forges.git_remote import GitRemotes, Refs, Swap
from touchline_forges.git_words import Refusal
from touchline_forges.records import (
    CHECK_FILE,
    CI,
    POLICY,
    POLICY_FILE,
    CheckRecord,
    check_ref,
    parse_record,
    policy_refs,
)

Tristate = Literal["yes", "no", "unknown"]

REPORT_ATTEMPTS = 4


class RecordedChecks:
    """The CI results and check policies of repositories that keep them as refs."""

    def __init__(self, remotes: GitRemotes, objects: GitObjects, host: ForgeHost) -> None:
        self._remotes = remotes
        self._objects = objects
        self._host = host

    def read(self, repo: RepositoryId, sha: str, target: str) -> CiEvidence:
        """The evidence for `sha`, without the change: results, and the policy of `target` ("" for none)."""
        refs = self._remotes.refs(repo, f"{CI}*", f"{POLICY}*", "refs/heads/*")
        checks, readable = self._checks(repo, refs, sha)
        policy = self._policy(repo, refs, target)
        target_sha = refs.branch(target) if target else ""
        return CiEvidence(
            requested_head=sha,
            pr=None,
            ci_configured=bool(policy.required) or any(ref.startswith(CI) for ref in refs.at),
            policy=policy,
            head_contains_target=self._contains(repo, refs, sha, target_sha),
            checks=checks,
            checks_readable=readable,
        )

    def target_tip(self, repo: RepositoryId, target: str) -> str | None:
        """The tip of a target branch, None where it is gone."""
        return self._remotes.refs(repo, f"refs/heads/{target}").branch(target) or None

    def report(self, repo: RepositoryId, sha: str, check: Check) -> None:
        """Leave a result, unless a later attempt has left one already."""
        ref = check_ref(sha, check.name, check.app)
        record = CheckRecord(
            name=check.name,
            app=check.app,
            status=check.status,
            conclusion=check.conclusion,
            started_at=check.started_at,
            completed_at=check.completed_at,
            run_attempt=check.attempt,
            url=check.url,
        )
        blob = self._objects.write(record.to_bytes())
        for _ in range(REPORT_ATTEMPTS):
            old = self._remotes.refs(repo, ref).at.get(ref, "")
            self._require_newest(repo, ref, old, check)
            parent = old if old and self._objects.kind(old) == "commit" else ""
            commit = self._objects.write_commit({CHECK_FILE: blob}, parent=parent, message=f"Report {check.status}")
            pushed = self._remotes.swap(repo, Swap(ref, old, commit))
            if pushed.refusal is Refusal.DECLINED:
                raise ForgeForbiddenError(
                    f"{repo} does not take {ref}: {pushed.words}", fix=f"Let the host accept pushes to {CI}*."
                )
            now = self._remotes.refs_after(repo, pushed, ref).at.get(ref, "")
            if now == commit:
                return
            if pushed.refusal is Refusal.UNTOLD and now == old:
                raise ForgeUnavailable(f"{pushed.words}; the result was not left there", fix="Report it again.")
        raise ForgeConflict(
            f"{ref} was changed by others {REPORT_ATTEMPTS} times meanwhile", fix="Report one result at a time."
        )

    def _require_newest(self, repo: RepositoryId, ref: str, old: str, check: Check) -> None:
        if not old:
            return
        self._remotes.bring(repo, [old])
        try:
            there = self._record(old, ref)
        except ForgeError:
            return  # What cannot be read is better replaced by a result that can.
        if (there.run_attempt or 1) > check.attempt:
            raise ForgeConflict(
                f"{check.name} has a result of attempt {there.run_attempt} already; this one is of {check.attempt}",
                fix="Report the newest attempt only.",
            )

    def _checks(self, repo: RepositoryId, refs: Refs, sha: str) -> tuple[list[CheckFact], bool]:
        prefix = f"{CI}{sha}/"
        found = {ref: value for ref, value in sorted(refs.at.items()) if ref.startswith(prefix)}
        self._remotes.bring(repo, found.values())
        facts = []
        readable = True
        for ref, value in found.items():
            try:
                record = self._record(value, ref)
            except ForgeError as error:
                self._host.say(str(error))
                readable = False
                continue
            facts.append(
                CheckFact(
                    kind="job",
                    name=record.name,
                    app=record.app,
                    id=ref.removeprefix(prefix),
                    status=record.status.lower(),
                    conclusion=record.conclusion.lower() if record.conclusion else None,
                    started_at=record.started_at,
                    completed_at=record.completed_at,
                    run_attempt=record.run_attempt,
                )
            )
        return facts, readable

    def _policy(self, repo: RepositoryId, refs: Refs, target: str) -> CheckPolicy:
        there = next((ref for ref in policy_refs(target) if ref in refs.at), "")
        if not there:
            return CheckPolicy(readable=True)
        value = refs.at[there]
        self._remotes.bring(repo, [value])
        try:
            return parse_record(CheckPolicy, self._content(value, POLICY_FILE), there)
        except ForgeError as error:
            self._host.say(str(error))
            return CheckPolicy(readable=False)

    def _record(self, value: str, ref: str) -> CheckRecord:
        return parse_record(CheckRecord, self._content(value, CHECK_FILE), ref)

    def _content(self, value: str, file: str) -> bytes:
        if self._objects.kind(value) == "blob":
            return self._objects.read(value)
        blob = self._objects.files(value).get(file, "")
        if not blob:
            raise ForgeError(f"the record {value} holds no {file}", fix="Write it as `touchline ci-report` does.")
        return self._objects.read(blob)

    def _contains(self, repo: RepositoryId, refs: Refs, sha: str, target_sha: str) -> Tristate:
        if not target_sha:
            return "unknown"
        named = [value for value in (sha, target_sha) if value in refs.at.values()]
        self._remotes.bring(repo, named)
        answer = self._objects.contains(sha, target_sha)
        return "unknown" if answer is None else "yes" if answer else "no"


def with_change(evidence: CiEvidence, change: Change, target_sha: str | None) -> CiEvidence:
    """The evidence with what is known about the change."""
    facts = PullRequestFacts(
        head_sha=change.head_sha,
        is_draft=change.state == "draft",
        mergeable=change.mergeable.answer,
        mergeable_reason=change.mergeable.reason,
        review=change.review.state,
        review_reason=change.review.reason,
        target_branch=change.target,
        target_sha=target_sha,
    )
    return evidence.model_copy(update={"pr": facts})
