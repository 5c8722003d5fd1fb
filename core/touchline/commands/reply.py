"""`touchline reply` (spec page 8): answer a waiting permission request or question of a run from elsewhere."""

from __future__ import annotations

import click


@click.command(name="reply")
@click.argument("run")
@click.option("--ticket", required=True, metavar="T", help="Number of the ticket.")
@click.option("--approve", is_flag=True, help="Allow the request, and the byte-identical one later in this run.")
@click.option("--deny", is_flag=True, help="Refuse the request; needs --reason.")
@click.option("--reason", metavar="TEXT", help="Why it is refused; the model reads it.")
@click.option("--answer", metavar="TEXT", help="The answer to a question.")
@click.option("--show", is_flag=True, help="Print the ticket's full text and answer nothing.")
def command(
    *,
    run: str,
    ticket: str,
    approve: bool,
    deny: bool,
    reason: str | None,
    answer: str | None,
    show: bool,
) -> None:
    """Answer a waiting permission request or question of a run."""
    import os
    from datetime import UTC, datetime

    from touchline.commands.run_folders import find_run
    from touchline.errors import UsageError
    from touchline.permissions.tickets import Answer, TicketFolder
    from touchline.turn.shown import printable_lines

    chosen = [name for name, given in _given(approve, deny, answer, show) if given]
    if len(chosen) != 1:
        raise UsageError(
            "one kind of reply is needed",
            fix="Give exactly one of --approve, --deny --reason TEXT, --answer TEXT and --show.",
        )
    if deny != bool(reason and reason.strip()):
        raise UsageError("--deny and --reason belong together", fix="Say why: --deny --reason TEXT.")
    if answer is not None and not answer.strip():
        raise UsageError("the answer is empty", fix="Give it: --answer TEXT.")
    tickets = TicketFolder(find_run(run, os.environ).path)
    if show:
        click.echo(printable_lines(tickets.read(ticket).to_bytes().decode()), nl=False)
        return
    decision = {"--approve": "approve", "--deny": "deny", "--answer": "answer"}[chosen[0]]
    said = {"decision": decision, "text": (reason or answer or "").strip()}
    tickets.answer(ticket, Answer.model_validate({**said, "at": datetime.now(UTC).isoformat(), "by": "reply"}))
    click.echo(f"ticket {ticket}: {decision}", err=True)


def _given(approve: bool, deny: bool, answer: str | None, show: bool) -> list[tuple[str, bool]]:
    return [("--approve", approve), ("--deny", deny), ("--answer", answer is not None), ("--show", show)]
