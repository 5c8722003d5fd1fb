"""Owns the command line's frame (spec page 8): the table of commands and how every error is shown.

Commands are imported only when they are called: this module imports click and cheap parts of the standard
library, so that `--help` costs little more than a bare interpreter.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

from touchline.commands.globals import Globals

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
MAX_WIDTH = 100

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("touchline.commands.run:run", "Work on a plan until the verdict."),
    "demo": ("touchline.commands.demo:demo", "Run the whole loop on a small example, without key or network."),
    "reply": ("touchline.commands.reply:command", "Answer a waiting permission request or question of a run."),
    "rehearse": (
        "touchline.commands.rehearse:rehearse",
        "Try your agent CLI against a local scripted model, at no cost.",
    ),
    "runs": ("touchline.commands.runs:runs", "List the runs on this machine, the newest first."),
    "show": ("touchline.commands.show:show", "Show the turns, verifications and findings of a run."),
    "verify": (
        "touchline.commands.verify:verify",
        "Verify a change once: judges, exerciser, tests; nothing is changed.",
    ),
    "pr": (
        "touchline.commands.pr:pr",
        "Inspect, push, open, update, comment on or make ready one change request.",
    ),
    "replay": (
        "touchline.commands.replay:command",
        "Decide and plan a recorded run once more, without an executor, and compare.",
    ),
    "gates": ("touchline.commands.gates:command", "Decide the gates for a ledger and a report; nothing is written."),
    "turn-loop": (
        "touchline.commands.turn_loop:command",
        "Run several turns of one session, without a model unless an executor is named.",
    ),
    "bootstrap": (
        "touchline.commands.bootstrap:command",
        "Run one turn without a model, store it and print its report.",
    ),
    "load-session": (
        "touchline.commands.load_session:command",
        "Print a stored session of `bootstrap` or `turn-loop`.",
    ),
    "route": ("touchline.commands.route:command", "Print the commands and tools that a prompt is routed to."),
    "init": ("touchline.commands.init:init", "Write a commented touchline.yaml."),
    "config": ("touchline.commands.config:config", "Show, check and change the configuration."),
    "plugins": ("touchline.commands.plugins:plugins", "List executors, forges and hook plugins."),
    "doctor": ("touchline.commands.doctor:doctor", "Check this machine and say how to fix what is missing."),
    "schema": ("touchline.commands.schema:schema", "Print the JSON Schema of a document."),
    "completion": ("touchline.commands.completion:completion", "Print the shell's completion script."),
}
"""Name -> ("module:command", one-line help). The help is the command's own; a test holds the two together."""


class ReaderGone(Exception):
    """Whoever read our output went away, which is nobody's error."""


class LazyGroup(click.Group):
    """A group whose commands are imported only when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            raise click.UsageError(f"no command {name!r}{_nearest(name)}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as exc:
            # click itself would end the process with status 1, which means that a run failed.
            raise ReaderGone from exc

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        # Not the group's own: it would import every command for its help.
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--debug", is_flag=True, help="Show a traceback with every error.")
@click.option("-p", "hook_modules", metavar="MODULE", multiple=True, help="Load a hook plugin; repeatable.")
@click.version_option(package_name="touchline", prog_name="touchline", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool, hook_modules: tuple[str, ...]) -> None:
    """Run coding agents unattended and publish only what was proved."""
    chosen = ctx.ensure_object(Globals)
    chosen.debug, chosen.hook_modules = debug, hook_modules
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; every error becomes one message on stderr.

    `argv` is without the program's name; None takes the process's own. What a command returns is its status.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    chosen = Globals()
    _open_closed_streams()
    try:
        status = cli.main(args, prog_name="touchline", standalone_mode=False, obj=chosen, terminal_width=_width())
        sys.stdout.flush()
    except (KeyboardInterrupt, click.exceptions.Abort):
        return _said("touchline: interrupted", EXIT_INTERRUPTED)
    except click.ClickException as exc:
        return _said(_usage_text(exc), exc.exit_code)
    except (BrokenPipeError, ReaderGone):
        _drop_output()
        return EXIT_BROKEN_PIPE
    except Exception as exc:  # noqa: BLE001  the last border
        _traceback(wanted=chosen.debug)
        return _failed(exc, args)
    return status if isinstance(status, int) else 0


def _width() -> int:
    """Columns of the help, as click would choose them; to find out it would import half a dozen modules."""
    columns = 0
    with suppress(ValueError):
        columns = int(os.environ.get("COLUMNS", ""))
    if columns <= 0:
        with suppress(AttributeError, ValueError, OSError):  # no standard output, or no terminal
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
    return max(min(columns if columns > 0 else 80, MAX_WIDTH) - 2, 50)


def _failed(exc: Exception, args: Sequence[str]) -> int:
    from touchline.errors import TouchlineError  # only now: nothing that goes well needs it

    if isinstance(exc, TouchlineError):
        # A message may name what a repository or a model chose: nothing in it is for the terminal to obey.
        from touchline.turn.shown import printable_lines

        return _said(printable_lines(f"touchline: {exc}"), exc.exit_code)
    if isinstance(exc, OSError) and exc.errno in (errno.ENOSPC, errno.EDQUOT):
        _drop_output()
        return _said(f"touchline: {exc.strerror}: {exc.filename or 'the output'}\n  Make room and try again.", 1)
    # What is left is our own fault, and said as such.
    from touchline.commands.internal_error import report

    return _said(report(exc, list(args)), EXIT_INTERNAL)


def _said(text: str, status: int) -> int:
    click.echo(text, err=True)
    return status


def _open_closed_streams() -> None:
    """Put the null device where whoever started us closed a standard stream.

    Otherwise the next file that is opened, a ledger or a lock, would get that number and so be a child's stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            stream = open(number, "r" if number == 0 else "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _drop_output() -> None:
    """What stdout still holds goes nowhere; Python would complain about it once more while it shuts down."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_text(exc: click.ClickException) -> str:
    where = exc.ctx.command_path if isinstance(exc, click.UsageError) and exc.ctx else "touchline"
    text = exc.format_message()
    return text if text.startswith("Usage:") else f"touchline: {text}\n  See `{where} --help`."


def _traceback(*, wanted: bool) -> None:
    if wanted:
        import traceback

        traceback.print_exc()
