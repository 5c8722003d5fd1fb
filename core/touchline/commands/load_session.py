"""`touchline load-session` (spec page 7): what a stored session of the probe holds."""

from __future__ import annotations

import click


@click.command(name="load-session")
@click.argument("session_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the session as it is on disk.")
def command(*, session_id: str, as_json: bool) -> None:
    """Print a stored session of `bootstrap` or `turn-loop`."""
    from touchline.probe.sessions import load_session
    from touchline.turn.shown import printable

    stored = load_session(session_id)
    if as_json:
        click.echo(stored.to_bytes().decode(), nl=False)
        return
    click.echo(stored.session_id)
    click.echo(f"{len(stored.messages)} messages")
    click.echo(f"in={stored.usage.input_tokens} out={stored.usage.output_tokens}")
    for number, turn in enumerate(stored.turns, start=1):
        denied = f" denials={len(turn.permission_denials)}" if turn.permission_denials else ""
        click.echo(f"- turn {number}: {printable(turn.prompt, 200)} stop_reason={turn.stop_reason}{denied}")
