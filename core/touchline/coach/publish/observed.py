"""What was seen at the host and what failed there, kept in the ledger as it was (spec page 5)."""

from __future__ import annotations

from touchline.coach.run import Run
from touchline.forge import Change


def observe(run: Run, change: Change) -> None:
    """Keep what the host showed: never an expected state."""
    ledger = run.store.read()
    state = ledger.run.model_copy(update={"pr_state": change.state, "remote_head_sha": change.head_sha or None})
    run.store.write(ledger.model_copy(update={"pr_url": change.url, "run": state}))


def publishing_failed(run: Run, cause: str) -> str:
    """Write down why publishing failed and give the cause that counts: the first one is kept to the end."""
    publication = run.publication
    text = publication.redactor.text("failure", cause).text if publication is not None else cause
    run.progress.say(f"publishing failed: {text}")
    first = run.store.read().run.publish_failure
    if first is None:
        run.update_run(publish_failure=text)
    return first or text
