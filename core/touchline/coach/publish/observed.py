"""What was seen at the host and what failed there, kept in the ledger as it was (spec page 5)."""

from __future__ import annotations

from touchline.coach.publish.publication import Publication
from touchline.coach.run import Run
from touchline.documents.ledger import Ledger
from touchline.errors import ForgeError
from touchline.forge import Change
from touchline.ledger import queries
from touchline.turn.masking import Masker


def observe(run: Run, change: Change) -> None:
    """Keep what the host showed: never an expected state. A branch that is gone has no head."""
    ledger = run.store.read()
    head = change.head_sha if change.source_exists else ""
    state = ledger.run.model_copy(update={"pr_state": change.state, "remote_head_sha": head or None})
    run.store.write(ledger.model_copy(update={"pr_url": change.url, "run": state}))


def deviation(ledger: Ledger, change: Change, head_sha: str | None) -> str:
    """How the change differs from the open one of this run at `head_sha`, in words; "" where it does not. Pure."""
    if change.state not in ("draft", "ready"):
        return f"the change request is {change.state}"
    if not change.source_exists:
        return f"the branch {change.source} is gone from the host"
    if change.head_sha != head_sha:
        return f"the host shows the head {change.head_sha or 'none'}, not {head_sha or 'one of this run'}"
    target = ledger.run.target_branch or ""
    if change.target != target:
        return f"the change request goes to {change.target} now, not to {target} as it was verified"
    return ""


def cleaned(run: Run, publication: Publication, name: str, text: str) -> str:
    """A text as it may leave this machine: without the secrets that this run knows and those that look like one."""
    return publication.redactor.text(name, Masker(run.secrets).mask(text)).text


def publishing_failed(run: Run, cause: Exception | str, *, turn: bool = False, head_sha: str = "") -> str:
    """Write down why publishing failed and give the cause that counts: the first one is kept to the end.

    With `turn`, the row of the present turn is closed in the same write, so that no kill can leave one without the
    other. What the host showed last is kept too.
    """
    publication = run.publication
    text = cleaned(run, publication, "failure", str(cause)) if publication is not None else str(cause)
    run.progress.say(f"publishing failed: {text}")
    ledger = run.store.read()
    values: dict[str, object] = {"publish_failure": ledger.run.publish_failure or text}
    if isinstance(cause, ForgeError) and cause.observed.head_sha:
        values["remote_head_sha"] = cause.observed.head_sha
    closing = queries.current_turn(ledger) if turn else None
    closed = {"state": "recorded", "head_sha": head_sha or None}
    rows = [row.model_copy(update=closed) if row is closing else row for row in ledger.turns]
    run.store.write(ledger.model_copy(update={"run": ledger.run.model_copy(update=values), "turns": rows}))
    return ledger.run.publish_failure or text
