"""Every ending of a run: clean-up, the terminal status, the block on stdout, in that order (spec pages 3 and 5)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TextIO

from touchline.coach import local
from touchline.coach.publish.conclude import concluded
from touchline.coach.run import Run
from touchline.coach.terminal import Block, block_of
from touchline.documents.ledger import LastExit, Ledger, Status, Terminal
from touchline.errors import GitError
from touchline.ledger import queries


def finish(run: Run, status: Status, reason: str) -> None:
    """Clean up after a local run, or tell the change request; then write the terminal status.

    The block is printed by `report`.
    """
    local.clean_up(run.repo, run.store.read(), run.memory)
    if run.publication is not None:
        status, reason = concluded(run, run.publication, status, reason)
    ledger = run.store.read()
    run.store.write(ledger.model_copy(update={"terminal": Terminal(status=status, reason=reason)}))


def report(run: Run) -> None:
    """Print the block of a terminal ledger, remember that it was printed, remove `private/`."""
    ledger = run.store.read()
    terminal = ledger.terminal
    if terminal is None:
        return
    run.progress.say(f"{terminal.status}: {terminal.reason}" if terminal.reason else terminal.status)
    run.hooks.run_ended(ledger, run.store.folder.path, status=terminal.status, reason=terminal.reason)
    print_block(run, ledger, terminal.status)
    run.store.write(ledger.model_copy(update={"terminal": terminal.model_copy(update={"reported": True})}))
    remove_private(run.store.folder.private)


def stop(run: Run, status: Status, reason: str) -> None:
    """End this process but not the run: the block is printed, `terminal` stays unset, `private/` is kept."""
    exit_ = LastExit(status=status, reason=reason, at=run.now())
    ledger = run.update_run(last_exit=exit_)
    try:
        local.clean_up(run.repo, ledger, run.memory)
    except GitError as error:
        # Often the very fault that stops the run; the next start clears the index once more.
        run.progress.say(f"the index was not put back: {error}")
    run.progress.say(f"{status}: {reason}")
    run.hooks.run_ended(ledger, run.store.folder.path, status=status, reason=reason)
    print_block(run, ledger, status)


def print_block(run: Run, ledger: Ledger, status: Status) -> None:
    """The block, alone on stdout, flushed."""
    try:
        head = run.repo.head().commit
    except GitError:  # a repository that is damaged or gone; the block is due all the same
        head = ""
    with run.progress.paused():  # on a terminal, stdout and the live line share the screen
        write_block(run.result, block_of(ledger, status, current_head=head), as_json=run.as_json)


def write_block(stream: TextIO, block: Block, *, as_json: bool) -> None:
    """Write the block in the form that was asked for, flushed."""
    stream.write(block.as_json() if as_json else block.as_text())
    stream.flush()


def remove_private(folder: Path) -> None:
    """Remove what had to outlive a crash but not the run."""
    if folder.is_dir():
        shutil.rmtree(folder)


def summary(ledger: Ledger) -> list[str]:
    """What a person should look at after the run, one line each."""
    open_findings = queries.blocking(ledger)
    below = [f for f in ledger.findings if f.disposition == "accepted-below-threshold"]
    lines = [f"still blocking: {f.id} {f.title} (severity {f.severity})" for f in open_findings]
    if below:
        lines.append(f"below the threshold: {len(below)} (see `touchline show`)")
    return lines
