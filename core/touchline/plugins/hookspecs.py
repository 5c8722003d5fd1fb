"""Every hook that touchline calls (spec page 8): when, how often, and what a failure of it does.

A hook plugin is a module or an object that declares `api_version = 1` and has functions marked with
`touchline.api.hookimpl`; it is found by the entry-point group `touchline.hooks`, by `-p MODULE`, or by
`hooks.modules` in the configuration. A function may take fewer arguments than are offered here, by name.

    import sys
    from touchline.api import hookimpl

    api_version = 1

    @hookimpl
    def touchline_run_ended(status, reason):
        print(status, reason, file=sys.stderr)

Hooks run in touchline's own process, events of parallel judges perhaps in several threads, and have no time
limit: a hook that does not return holds up the run. Standard output belongs to the terminal block.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import pluggy

from touchline.documents.ledger import Ledger
from touchline.documents.report import CustomGate, Report
from touchline.executor import Event, PermissionAsked
from touchline.turn.settle import Role

PROJECT: Final = "touchline"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin as the implementation of the hook of the same name."""


class BodySection(NamedTuple):
    """A section for the change request's body: plain text, escaped before it is published."""

    title: str
    text: str


@hookspec
def touchline_run_started(ledger: Ledger, folder: Path) -> None:
    """Called once for each process that works on a run, after its ledger was written and before the first step.

    `folder` is the ledger folder. A failure is logged.
    """


@hookspec
def touchline_run_ended(ledger: Ledger, folder: Path, status: str, reason: str) -> None:
    """Called once when a run stops with a status, before the terminal block is printed.

    INTERRUPTED and FAILED_RUN are among the statuses; such a run may go on in another process. A failure is
    logged.
    """


@hookspec
def touchline_step_planned(ledger: Ledger, step: str) -> None:
    """Called before each step; `step` is its name, such as "PlayTurn". A failure is logged."""


@hookspec
def touchline_step_performed(ledger: Ledger, step: str, duration_s: float) -> None:
    """Called after each step with the ledger as it is now on disk; `duration_s` in seconds. A failure is logged."""


@hookspec
def touchline_event(turn: int, event: Event) -> None:
    """Called for every event of an executor's turn, text deltas included, often many a second.

    `turn` counts from 1. A failure is logged once for each plugin; later events still reach it.
    """


@hookspec
def touchline_permission_asked(turn: int, asked: PermissionAsked) -> None:
    """Called when an executor asks for permission, before the policy decides; it cannot change the decision.

    A failure is logged.
    """


@hookspec
def touchline_prompt_discipline(role: Role) -> str | None:
    """Called once for each prompt; a text is added to the rules of that role, after touchline's own.

    It adds rules and cannot remove any. A failure is logged and adds nothing.
    """


@hookspec
def touchline_gate(ledger: Ledger, report: Report, work_tree: Path) -> list[CustomGate] | None:
    """Called once for each complete verification, before the gates decide; each row becomes a gate of the run.

    A row's status is PASS, FAIL, BLOCKED or NOT CHECKED. Fails closed: a failure, and an answer that is no list
    of rows, becomes a row with the status BLOCKED.
    """


@hookspec
def touchline_body_section(ledger: Ledger) -> BodySection | tuple[str, str] | None:
    """Called when the change request's body is written; title and text of a section of its own.

    A failure is logged and adds nothing.
    """
