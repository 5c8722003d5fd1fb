"""The options before the command's name; `click.Context.obj` of every command (`@click.pass_obj`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Globals:
    """`hook_modules` are the modules named with -p, in their order."""

    debug: bool = False
    hook_modules: tuple[str, ...] = ()
