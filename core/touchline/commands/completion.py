"""`touchline completion` (spec page 8): the script that makes a shell complete touchline's commands."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the shell's completion script.

    \b
    bash:  touchline completion bash >> ~/.bashrc
    zsh:   touchline completion zsh >> ~/.zshrc
    fish:  touchline completion fish > ~/.config/fish/completions/touchline.fish
    """
    script = get_completion_class(shell)
    assert script is not None
    completer = script(ctx.find_root().command, {}, "touchline", "_TOUCHLINE_COMPLETE")
    # The base class only fills the template; bash's own `source` would start a shell to ask for its version.
    click.echo(ShellComplete.source(completer))
