"""The end of a published run: the body says how it ended, once, and the host is asked what it shows (spec page 5).

Asked first and written after: a body never claims what the host no longer shows. What somebody does between the two
is seen right after the writing, and the body written once more.
"""

from __future__ import annotations

from dataclasses import dataclass

from touchline.coach.publish.body import final_body, merged
from touchline.coach.publish.observed import cleaned, deviation, observe, publishing_failed
from touchline.coach.publish.publication import Publication
from touchline.coach.publish.takeup import keep_transport, tip_at_host
from touchline.coach.run import Run
from touchline.documents.decision import Context
from touchline.documents.ledger import Ledger, Status
from touchline.errors import ForgeConflict, ForgeError, ForgeNotFoundError
from touchline.forge import ByBranch, ByUrl, Change
from touchline.gates.reading import Reading, read_report
from touchline.ledger import queries

APPROVED: frozenset[Status] = frozenset({"APPROVED_DRAFT_OPEN", "APPROVED_READY_OPEN", "READY_FOR_REVIEW"})
NOTHING_TO_PUBLISH = "no real commit to open a draft for"
WRITINGS_MAX = 4
"""How often the body is written anew because somebody acted meanwhile."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A status with its reason."""

    status: Status
    reason: str


def concluded(run: Run, publication: Publication, status: Status, reason: str) -> tuple[Status, str]:
    """Write the body of an open change request, and give the status that is true after that.

    A failed publication is sticky: no later success turns it into an approval. The first cause is kept. Raises
    ForgeError when the run is being cancelled: then it has not ended.
    """
    ledger = run.store.read()
    planned = Ending(status, reason)
    if ledger.run.publish_failure is not None:
        planned = Ending("FAILED_PUBLISH", ledger.run.publish_failure)
    keep_transport(run)
    try:
        if ledger.pr_url is None:
            _find_draft(run, publication, ledger)
        if run.store.read().pr_url is None:
            return "FAILED_PUBLISH", ledger.run.publish_failure or NOTHING_TO_PUBLISH
        ending = _write(run, publication, planned)
    except ForgeError as error:
        if run.cancel.is_set():
            raise
        return "FAILED_PUBLISH", publishing_failed(run, error)
    return ending.status, ending.reason


def _find_draft(run: Run, publication: Publication, ledger: Ledger) -> None:
    """Look for the draft whose opening broke off after it took place. Only one just like ours is taken for it.

    Without one, the branch that was pushed for it is looked at once more.
    """
    binding, branch = publication.binding, ledger.run.source_branch or ""
    if ledger.run.remote_head_sha is None:
        return
    head = binding.head if binding.head != binding.base else None
    try:
        change = binding.forge.inspect(ByBranch(binding.base, branch, head))
    except ForgeNotFoundError:
        run.update_run(remote_head_sha=tip_at_host(binding, branch) or None)
        return
    if change.state == "draft" and change.target == ledger.run.target_branch:
        observe(run, change)


def _write(run: Run, publication: Publication, planned: Ending) -> Ending:
    """Bring the body to what is true, and give the ending that it tells. Raises ForgeError."""
    forge = publication.binding.forge
    change = forge.inspect(ByUrl(run.store.read().pr_url or ""))
    bodies: dict[Ending, str] = {}
    conflict: ForgeConflict | None = None
    for _ in range(WRITINGS_MAX):
        ending = _seen(run, change, planned)
        if not change.is_open:
            return ending
        if ending not in bodies:
            bodies[ending] = _body(run, publication, ending)
        text = merged(change.body, bodies[ending])
        if text == change.body:
            return ending
        try:
            change = forge.update(change, body=text)
        except ForgeConflict as error:
            conflict = error
            change = forge.inspect(ByUrl(change.url))
    raise conflict or ForgeConflict(
        f"{change.url} was changed by others each time its text was written",
        fix="Wait until they are done, then start again.",
        operation="update",
        observed=change.observed(),
    )


def _body(run: Run, publication: Publication, ending: Ending) -> str:
    ledger = run.store.read()
    last = queries.current_turn(ledger)
    body = final_body(
        ledger,
        run.store.folder.plan.read_text(encoding="utf-8", errors="replace"),
        status=ending.status,
        reason=ending.reason,
        unverified=(last.head_sha or "") if last is not None else "",
        sections=[(section.title, section.text) for section in run.hooks.body_sections(ledger)],
        reading=_reading(run, ledger),
    )
    return cleaned(run, publication, "body", body)


def _reading(run: Run, ledger: Ledger) -> Reading | None:
    """What the last decided verification reported, as far as it may be believed."""
    row = queries.current_verification(ledger)
    if row is None or row.state != "decided":
        return None
    try:
        report = (run.store.folder.path / row.report_path).read_bytes()
    except OSError:
        return None  # the decision was taken without it too, and says so
    return read_report(report, Context.model_validate(row.context))


def _seen(run: Run, change: Change, planned: Ending) -> Ending:
    """Keep what the host shows, and give the ending that is true with it.

    An approval stands only for the approved head in the open change to the verified target; another ending stands
    whatever others did, and tells it.
    """
    observe(run, change)
    ledger = run.store.read()
    if ledger.run.publish_failure is not None:
        return Ending("FAILED_PUBLISH", ledger.run.publish_failure)
    approved = planned.status in APPROVED
    last = queries.current_turn(ledger)
    head = queries.last_verified_head(ledger) if approved else last.head_sha if last is not None else None
    cause = deviation(ledger, change, head)
    if cause and approved:
        return Ending("FAILED_PUBLISH", publishing_failed(run, cause))
    if cause:
        return Ending(planned.status, f"{planned.reason}; {cause}" if planned.reason else cause)
    if approved:
        return Ending("APPROVED_READY_OPEN" if change.state == "ready" else "APPROVED_DRAFT_OPEN", planned.reason)
    return planned
