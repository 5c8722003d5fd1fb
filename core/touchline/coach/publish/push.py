"""Bringing a turn's commit to the host (spec page 5): pushed, the draft opened with the first one, the head proved.

Nothing is pushed into a change that is no longer the one of this run, nothing is forced, nothing is deleted. Each step
can be repeated: a push that was done is observed, a draft that is open is found.
"""

from __future__ import annotations

from touchline.coach.publish.body import first_body
from touchline.coach.publish.observed import cleaned, deviation, observe
from touchline.coach.publish.publication import Publication
from touchline.coach.run import Run
from touchline.documents.ledger import Ledger
from touchline.forge import ByUrl, Change, Draft
from touchline.git.diff import merge_base
from touchline.git.fingerprint import compare_fingerprints, take_fingerprint
from touchline.ledger import queries

SETTINGS_NAMED = 10


class PublishStopped(Exception):
    """Publishing failed for good; the text is the first cause, without any secret."""


def is_unpublished(run: Run, head: str) -> bool:
    """Whether the host lacks commits of the branch or their draft: this turn's, or what an earlier run left undone."""
    ledger = run.store.read()
    shown = ledger.pr_url is not None and head == ledger.run.remote_head_sha
    return not shown and merge_base(run.repo, ledger.merge_base, head) != head


def publish(run: Run, publication: Publication, sha: str) -> None:
    """Push the turn's commit; open the draft with the first one; require the host to show exactly this head."""
    _name_changed_settings(run)
    ledger = run.store.read()
    binding, branch = publication.binding, ledger.run.source_branch or ""
    forge = binding.forge
    expected = ledger.run.remote_head_sha or ""
    if ledger.pr_url is not None:
        # Nothing is pushed into a change that is no longer the one that this run works on.
        change = forge.inspect(ByUrl(ledger.pr_url))
        observe(run, change)
        _require(ledger, change, sha if change.head_sha == sha else expected)
    pushed = forge.push(binding.head, sha, branch, expected=None if expected == sha else expected)
    run.update_run(remote_head_sha=pushed.sha)
    if ledger.pr_url is not None:
        change = forge.inspect(ByUrl(ledger.pr_url))
    else:
        change = forge.create_draft(_draft(run, publication, ledger, sha))
        run.progress.say(f"draft opened: {change.url}")
    observe(run, change)
    _require(ledger, change, sha)
    if ledger.pr_url is None and change.state != "draft":
        raise PublishStopped(f"the change request is {change.state} right after it was opened as a draft")


def _require(ledger: Ledger, change: Change, head: str) -> None:
    if wrong := deviation(ledger, change, head):
        raise PublishStopped(wrong)


def _draft(run: Run, publication: Publication, ledger: Ledger, sha: str) -> Draft:
    binding = publication.binding
    title, body = first_body(ledger, run.store.folder.plan.read_text(encoding="utf-8", errors="replace"))
    return Draft(
        base=binding.base,
        source=ledger.run.source_branch or "",
        target=ledger.run.target_branch or "",
        title=cleaned(run, publication, "title", title),
        body=cleaned(run, publication, "body", body),
        head_sha=sha,
        head=binding.head if binding.head != binding.base else None,
    )


def _name_changed_settings(run: Run) -> None:
    """Say before a push which settings or hooks of git differ from the start of the run, and keep it with the turn.

    The push itself does not read them (see `git.transport`); whether they may stay is the verification's finding.
    """
    changed = compare_fingerprints(run.memory.load_fingerprint(), take_fingerprint(run.repo))
    row = queries.current_turn(run.store.read())
    if not changed or row is None:
        return
    told = (
        f"git settings differ from the start of the run, and no push uses them: {'; '.join(changed[:SETTINGS_NAMED])}"
    )
    if told not in row.concerns:
        run.progress.say(told)
        run.update_turn(row.turn, concerns=[*row.concerns, told])
