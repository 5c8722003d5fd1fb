"""The options before the command's name; `click.Context.obj` of every command (`@click.pass_obj`)."""

from __future__ import annotations


class Globals:
    """`hook_modules` are the modules named with -p, in their order."""

    # No dataclass: its module is the only thing that `--help` would import for it.
    __slots__ = ("debug", "hook_modules")

    def __init__(self) -> None:
        self.debug = False
        self.hook_modules: tuple[str, ...] = ()
