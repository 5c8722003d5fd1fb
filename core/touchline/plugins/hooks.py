"""Owns how hooks are called (spec page 8): typed, one plugin at a time, and none of them can end a run.

The coach calls the methods of `Hooks`, never a hook by its name. An observer or contributor that raises is
reported with its plugin's name and passed over; a gate that raises is a gate that is blocked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchline.documents.ledger import Ledger
from touchline.documents.report import CustomGate, Report
from touchline.executor import Event, PermissionAsked
from touchline.turn.settle import Role

if TYPE_CHECKING:
    import pluggy

    from touchline.plugins.hookspecs import BodySection


@dataclass(frozen=True, slots=True)
class BrokenHooks:
    """An installed hook plugin that could not be loaded, and why."""

    name: str
    reason: str


@dataclass(slots=True)
class Hooks:
    """All hook plugins of one process; without any, every call costs next to nothing.

    `say` shows one line to the person who runs touchline. `broken` are installed plugins that did not load: they
    might contribute gates, so each of them blocks the gates until it is repaired or switched off.
    """

    manager: pluggy.PluginManager | None = None
    broken: Sequence[BrokenHooks] = ()
    say: Callable[[str], None] = lambda line: None
    trace: bool = False
    _failed: set[tuple[str, str]] = field(default_factory=set)
    _callers: dict[str, list[tuple[str, pluggy.HookCaller]]] = field(default_factory=dict)

    def run_started(self, ledger: Ledger, folder: Path) -> None:
        """Tell that work on a run begins."""
        self._tell("touchline_run_started", ledger=ledger, folder=folder)

    def run_ended(self, ledger: Ledger, folder: Path, *, status: str, reason: str) -> None:
        """Tell how a run stopped."""
        self._tell("touchline_run_ended", ledger=ledger, folder=folder, status=status, reason=reason)

    def step_planned(self, ledger: Ledger, step: str) -> None:
        """Tell which step comes next."""
        self._tell("touchline_step_planned", ledger=ledger, step=step)

    def step_performed(self, ledger: Ledger, step: str, *, duration_s: float) -> None:
        """Tell which step was done."""
        self._tell("touchline_step_performed", ledger=ledger, step=step, duration_s=duration_s)

    def event(self, turn: int, event: Event) -> None:
        """Pass on one event of a turn."""
        self._tell("touchline_event", turn=turn, event=event)

    def permission_asked(self, turn: int, asked: PermissionAsked) -> None:
        """Tell that an executor asks for permission."""
        self._tell("touchline_permission_asked", turn=turn, asked=asked)

    def prompt_discipline(self, role: Role) -> list[str]:
        """The rules that plugins add to a prompt of that role; text that is empty or no text is left out."""
        texts = []
        for name, answer in self._ask("touchline_prompt_discipline", role=role):
            if isinstance(answer, str) and answer.strip():
                texts.append(answer)
            elif answer is not None and not isinstance(answer, str):
                self._report(name, "touchline_prompt_discipline", f"answered {type(answer).__name__}, expected text")
        return texts

    def body_sections(self, ledger: Ledger) -> list[BodySection]:
        """The sections that plugins add to the change request's body."""
        sections = []
        for name, answer in self._ask("touchline_body_section", ledger=ledger):
            match answer:
                case None:
                    continue
                case (str(title), str(text)):
                    from touchline.plugins.hookspecs import BodySection

                    sections.append(BodySection(title, text))
                case _:
                    self._report(name, "touchline_body_section", "did not answer with a title and a text")
        return sections

    def gates(self, ledger: Ledger, report: Report, work_tree: Path) -> list[CustomGate]:
        """The rows of all gates that plugins contribute; whatever goes wrong is a row with status BLOCKED."""
        rows = [_blocked(one.name, f"the plugin did not load: {one.reason}") for one in self.broken]
        hook = "touchline_gate"
        for name, answer in self._each(hook, ledger=ledger, report=report, work_tree=work_tree):
            if isinstance(answer, BaseException):
                rows.append(_blocked(name, f"{type(answer).__name__}: {answer}"))
                self._report(name, hook, f"{type(answer).__name__}: {answer}")
            elif isinstance(answer, list) and all(isinstance(row, CustomGate) for row in answer):
                rows.extend(answer)
            elif answer is not None:
                rows.append(_blocked(name, f"answered {type(answer).__name__}, expected a list of CustomGate"))
        return rows

    def _tell(self, hook: str, **arguments: Any) -> None:
        for _ in self._ask(hook, **arguments):
            pass

    def _ask(self, hook: str, **arguments: Any) -> Iterator[tuple[str, Any]]:
        """(plugin, answer) of each plugin that answered; failures are reported and left out."""
        for name, answer in self._each(hook, **arguments):
            if isinstance(answer, BaseException):
                self._report(name, hook, f"{type(answer).__name__}: {answer}")
            else:
                yield name, answer

    def _each(self, hook: str, **arguments: Any) -> Iterator[tuple[str, Any]]:
        """(plugin, answer or the exception that it raised), one plugin after the other.

        pluggy stops at the first exception, so each plugin is called through a caller that knows only that one.
        """
        for name, caller in self._callers_of(hook):
            begun = time.perf_counter()
            answer: Any
            try:
                answers = caller(**arguments)
                answer = answers[0] if answers else None
            except (Exception, SystemExit) as exc:  # noqa: BLE001  plugin isolation: a foreign fault ends no run
                answer = exc
            if self.trace:
                took_ms = (time.perf_counter() - begun) * 1000
                outcome = f" raised {type(answer).__name__}" if isinstance(answer, BaseException) else ""
                self.say(f"hook {hook} -> {name}{outcome} ({took_ms:.1f} ms)")
            yield name, answer

    def _callers_of(self, hook: str) -> list[tuple[str, pluggy.HookCaller]]:
        """(plugin, caller of that plugin alone), in pluggy's order; built once, plugins do not change."""
        if self.manager is None:
            return []
        if hook not in self._callers:
            manager = self.manager
            self._callers[hook] = [
                (one.plugin_name, manager.subset_hook_caller(hook, manager.get_plugins() - {one.plugin}))
                for one in reversed(getattr(manager.hook, hook).get_hookimpls())
            ]
        return self._callers[hook]

    def _report(self, name: str, hook: str, what: str) -> None:
        if (name, hook) not in self._failed:  # an event hook would fail many times a second
            self._failed.add((name, hook))
            self.say(f"hook plugin {name!r} failed in {hook}: {what} (said once; the run goes on)")


def _blocked(name: str, why: str) -> CustomGate:
    evidence = f"{why}. Repair the plugin, or switch it off with TOUCHLINE_DISABLE_PLUGINS={name}."
    return CustomGate(rule=f"plugin {name}", status="BLOCKED", evidence=evidence)
