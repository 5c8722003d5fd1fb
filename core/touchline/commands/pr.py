"""`touchline pr` (spec page 6): one operation on a change request by hand, with the forge that a run would use.

stdout carries one block alone, of success or of failure; what to do next is on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from touchline.commands.pr_block import Done
    from touchline.commands.pr_steps import Desk

MAX_TEXT_BYTES = 1024 * 1024
_REFERENCE = click.argument("reference", required=False)
_BODY = click.option("--body-file", metavar="FILE", help="The text; - reads it from stdin.")
_TITLE = click.option("--title", metavar="TEXT", help="The title.")
_REVIEW = click.option(
    "--request-review", "reviewers", metavar="WHO", multiple=True, help="A person to ask for a review; repeatable."
)


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the block as one JSON object."),
        click.option("--forge", metavar="NAME", help="Forge driver; default: the one of the remote's host."),
        click.option(
            "--config", "config_file", metavar="PATH", type=click.Path(path_type=Path), help="One more config file."
        ),
        click.option("--repo", metavar="PATH", type=click.Path(path_type=Path), default=Path(), help="The repository."),
    ):
        command = option(command)
    return command


@click.group(short_help="Inspect, push, open, update, comment on or make ready one change request.")
def pr() -> None:
    """Inspect, push, open, update, comment on or make ready one change request.

    REFERENCE is its URL, its number, or its branch; without one, the open change of the present branch is meant.
    """


@pr.command()
@_REFERENCE
@_common
def inspect(*, reference: str | None, **common: Any) -> int:
    """Show a change request as it is now."""
    from touchline.commands import pr_steps

    return _performed("inspect", lambda desk: pr_steps.inspect(desk, reference), **common)


@pr.command()
@_common
def push(**common: Any) -> int:
    """Push HEAD to the present branch at the host; never by force."""
    from touchline.commands import pr_steps

    return _performed("push", pr_steps.push, **common)


@pr.command()
@click.option("--title", metavar="TEXT", required=True, help="The title.")
@click.option("--target", metavar="BRANCH", help="Where the change goes; default: the host's default branch.")
@_BODY
@_REVIEW
@_common
def draft(*, title: str, target: str | None, body_file: str | None, reviewers: tuple[str, ...], **common: Any) -> int:
    """Push the present branch and open its draft; an open draft is found, not doubled."""
    from touchline.commands import pr_steps

    _require_title(title)
    body = _read(body_file) if body_file is not None else ""
    return _performed(
        "draft",
        lambda desk: pr_steps.draft(desk, title=title, body=body, target=target, reviewers=reviewers),
        **common,
    )


@pr.command()
@_REFERENCE
@click.option("--head", metavar="SHA", help="The full head that it must be at; default: HEAD of the work tree.")
@_REVIEW
@_common
def ready(*, reference: str | None, head: str | None, reviewers: tuple[str, ...], **common: Any) -> int:
    """Take a draft out of draft, at exactly one head."""
    from touchline.commands import pr_steps
    from touchline.errors import UsageError

    if head is not None and (len(head) not in (40, 64) or set(head.lower()) - set("0123456789abcdef")):
        raise UsageError("--head is no full commit id", fix="Give all 40 (or 64) hexadecimal digits.")
    wanted = head.lower() if head is not None else None
    return _performed("ready", lambda desk: pr_steps.ready(desk, reference, head=wanted, reviewers=reviewers), **common)


@pr.command()
@_REFERENCE
@_BODY
@click.option("--key", metavar="TEXT", help="What makes the comment the same one; default: its text.")
@_common
def comment(*, reference: str | None, body_file: str | None, key: str | None, **common: Any) -> int:
    """Add a comment; the same one again finds the first."""
    from touchline.commands import pr_steps
    from touchline.errors import UsageError

    if body_file is None:
        raise UsageError("a comment needs a text", fix="Give --body-file FILE, or - to read it from stdin.")
    body = _read(body_file)
    return _performed("comment", lambda desk: pr_steps.comment(desk, reference, body=body, key=key), **common)


@pr.command()
@_REFERENCE
@_BODY
@_TITLE
@_common
def update(*, reference: str | None, body_file: str | None, title: str | None, **common: Any) -> int:
    """Replace the text or the title of a change request, and nothing else."""
    from touchline.commands import pr_steps
    from touchline.errors import UsageError

    if body_file is None and title is None:
        raise UsageError("there is nothing to update", fix="Give --body-file FILE, --title TEXT, or both.")
    if title is not None:
        _require_title(title)
    body = _read(body_file) if body_file is not None else None
    return _performed("update", lambda desk: pr_steps.update(desk, reference, body=body, title=title), **common)


def _performed(
    operation: str,
    perform: Callable[[Desk], Done],
    *,
    repo: Path,
    config_file: Path | None,
    forge: str | None,
    as_json: bool,
) -> int:
    """Do it and print its block; gives the exit status."""
    from touchline.commands.pr_block import failure_rows, rendered, success_rows
    from touchline.commands.pr_steps import masked, open_desk
    from touchline.errors import ForgeError, GitError, Observed, UsageError
    from touchline.process.cancel import on_signals
    from touchline.turn.shown import told

    def say(text: str) -> None:
        click.echo(told(masked(repo.absolute(), text), 4000), err=True)

    with on_signals() as cancel:
        provider = forge or "none"
        try:
            desk = open_desk(
                repo.absolute(), config_file=config_file, forge=forge, environ=os.environ, cancel=cancel, say=say
            )
            provider = desk.binding.provider
            done = perform(desk)
        except (ForgeError, GitError) as error:
            if error.exit_code == UsageError.exit_code:
                raise
            seen = error.observed if isinstance(error, ForgeError) else Observed()
            known = error.provider if isinstance(error, ForgeError) else ""
            say(f"touchline: {error}")
            rows = failure_rows(operation, known or provider, masked(repo.absolute(), error.what), seen)
            click.echo(rendered(rows, as_json=as_json), nl=False)
            return 130 if cancel.is_set() else ForgeError.exit_code
    click.echo(rendered(success_rows(done, desk.binding), as_json=as_json), nl=False)
    return 0


def _require_title(title: str) -> None:
    from touchline.errors import UsageError

    if not title.strip() or not title.isprintable():
        raise UsageError("a title is one line of text that can be shown", fix="Give another --title.")


def _read(place: str) -> str:
    """A text from a file or stdin. Raises UsageError for one that cannot be read, is no UTF-8 or too long."""
    from touchline.errors import UsageError

    try:
        if place == "-":
            raw = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
        else:
            with Path(place).open("rb") as file:
                raw = file.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}", fix="Name a readable file.") from error
    if len(raw) > MAX_TEXT_BYTES:
        raise UsageError(f"{place} is longer than {MAX_TEXT_BYTES} bytes", fix="Shorten the text.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8", fix="Convert the text to UTF-8.") from error
