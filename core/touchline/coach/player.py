"""What the player is told, and what is kept of its answer (spec page 5, "The player"). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from touchline import texts
from touchline.turn import render_prompt

EMBED_MAX_BYTES = 64 * 1024
TEXT_MAX = 2000
LIST_MAX = 50


@dataclass(frozen=True, slots=True)
class FeedbackGiven:
    """The rendered feedback of one turn: where it lies, its text, and the number K of blocking items in it."""

    path: str
    text: str
    items: int
    gates: int


@dataclass(frozen=True, slots=True)
class PlayerReport:
    """The player's own report as claimed; None where it said nothing. Bounded, never trusted."""

    build: str | None = None
    tests: str | None = None
    app: str | None = None
    concerns: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def player_prompt(
    *,
    task_id: str,
    turn: int,
    max_turns: int,
    severity: int,
    plan_path: str,
    plan: str,
    feedback: FeedbackGiven | None,
    discipline: str = "",
    continues: str = "",
) -> str:
    """The whole prompt of one player turn.

    `continues` is set when this same turn was begun before: what to say about it. Plan and feedback are embedded
    up to 64 KiB each; a longer one says where the rest is.
    """
    parts = [
        texts.PLAYER_HEADER.format(turn=turn, max_turns=max_turns, plan_file=plan_path, severity=severity),
        _task(feedback),
    ]
    if continues:
        parts.append(continues)
    parts.append(render_prompt(task_id, _embedded(plan, plan_path), role="player", discipline=discipline))
    if feedback is not None:
        parts.append(f"# Feedback file\n\n{_embedded(feedback.text, feedback.path)}")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def player_report(report: Mapping[str, object] | None) -> PlayerReport:
    """The fields of a trailer's report that have the right shape; every other one is unknown."""
    if report is None:
        return PlayerReport()
    changed = report.get("changed")
    paths = [item.get("path") for item in changed if isinstance(item, dict)] if isinstance(changed, list) else []
    return PlayerReport(
        build=_text(report.get("build")),
        tests=_text(report.get("tests")),
        app=_text(report.get("app")),
        concerns=_texts(report.get("concerns")),
        changed=_texts(paths),
    )


def claim_differences(report: PlayerReport, changed_paths: Sequence[str]) -> list[str]:
    """Where the claimed changes and what git shows differ; recorded as concerns, git wins."""
    claimed, real = set(report.changed), set(changed_paths)
    if not claimed:
        return []
    lines = []
    if missing := sorted(claimed - real):
        lines.append(f"reported as changed, but git shows no change: {_few(missing)}")
    if silent := sorted(real - claimed):
        lines.append(f"changed according to git, but not reported: {_few(silent)}")
    return lines


def _task(feedback: FeedbackGiven | None) -> str:
    if feedback is None:
        return texts.PLAYER_FROM_SCRATCH
    template = texts.PLAYER_FEEDBACK if feedback.items else texts.PLAYER_ONLY_GATES
    return template.format(feedback_file=feedback.path, items=feedback.items)


def _embedded(text: str, path: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= EMBED_MAX_BYTES:
        return text
    head = data[:EMBED_MAX_BYTES].decode("utf-8", "ignore")
    return f"{head}\n\n[cut here after {EMBED_MAX_BYTES // 1024} KiB; the whole text is in {path}]"


def _text(value: object) -> str | None:
    return value[:TEXT_MAX] if isinstance(value, str) and value.strip() else None


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(item[:TEXT_MAX] for item in value[:LIST_MAX] if isinstance(item, str) and item.strip())


def _few(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
