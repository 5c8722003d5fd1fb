"""The end of a published run: the body says how it ended, once, and the host is asked what it shows (spec page 5)."""

from __future__ import annotations

from touchline.coach.publish.body import final_body, merged
from touchline.coach.publish.observed import observe, publishing_failed
from touchline.coach.publish.publication import Publication
from touchline.coach.run import Run
from touchline.documents.ledger import Status
from touchline.errors import ForgeError
from touchline.forge import ByUrl
from touchline.ledger import queries

APPROVED: frozenset[Status] = frozenset({"APPROVED_DRAFT_OPEN", "APPROVED_READY_OPEN", "READY_FOR_REVIEW"})
NOTHING_TO_PUBLISH = "no real commit to open a draft for"


def concluded(run: Run, publication: Publication, status: Status, reason: str) -> tuple[Status, str]:
    """Write the body of an open change request, and give the status that is true after that.

    A failed publication is sticky: no later success turns it into an approval. The first cause is kept.
    """
    ledger = run.store.read()
    if ledger.pr_url is None:
        cause = ledger.run.publish_failure or NOTHING_TO_PUBLISH
        return "FAILED_PUBLISH", cause
    if ledger.run.publish_failure is not None:
        status, reason = "FAILED_PUBLISH", ledger.run.publish_failure
    try:
        _update(run, publication, status, reason)
        status, reason = _observed(run, status, reason)
    except ForgeError as error:
        return "FAILED_PUBLISH", publishing_failed(run, str(error))
    return status, reason


def _update(run: Run, publication: Publication, status: Status, reason: str) -> None:
    ledger = run.store.read()
    forge = publication.binding.forge
    change = forge.inspect(ByUrl(ledger.pr_url or ""))
    observe(run, change)
    if not change.is_open:
        return
    last = queries.current_turn(ledger)
    body = final_body(
        ledger,
        run.store.folder.plan.read_text(encoding="utf-8", errors="replace"),
        status=status,
        reason=reason,
        unverified=(last.head_sha or "") if last is not None else "",
        sections=[(section.title, section.text) for section in run.hooks.body_sections(ledger)],
    )
    text = merged(change.body, publication.redactor.text("body", body).text)
    if text != change.body:
        change = forge.update(change, body=text)
    observe(run, change)


def _observed(run: Run, status: Status, reason: str) -> tuple[Status, str]:
    """An approval stands only if the host shows the approved head in the expected open state."""
    ledger = run.store.read()
    if status not in APPROVED:
        return status, reason
    approved = queries.last_verified_head(ledger)
    shown, state = ledger.run.remote_head_sha, ledger.run.pr_state
    if shown != approved:
        cause = f"the host shows the head {shown or 'none'}, approved was {approved or 'none'}"
    elif state not in ("draft", "ready"):
        cause = f"the change request is {state}"
    else:
        return ("APPROVED_READY_OPEN" if state == "ready" else "APPROVED_DRAFT_OPEN"), reason
    return "FAILED_PUBLISH", publishing_failed(run, cause)
