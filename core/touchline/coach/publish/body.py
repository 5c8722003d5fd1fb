"""The text of a change request as a whole: its parts in order, its markers, its length (spec page 6, "Body"). Pure.

Everything of ours stands between two markers; what people wrote around them is kept byte for byte. A text that is
too long for a host loses sections from its end, never the final state and never what people wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from touchline.coach.announce import plan_summary
from touchline.coach.publish import sections as part
from touchline.coach.publish.inert import ZERO_WIDTH, inert, inert_title
from touchline.coach.publish.sections import STATE_BEGIN, STATE_END
from touchline.documents.ledger import Ledger, Status
from touchline.gates.reading import Reading

__all__ = ["BEGIN", "BODY_MAX", "END", "STATE_BEGIN", "STATE_END", "final_body", "first_body", "merged"]

BEGIN = "<!-- touchline:begin -->"
END = "<!-- touchline:end -->"
HINT = "<!-- This part is written anew from the run's ledger. Write above or below it. -->"
CUT_NOTE = "*This text was longer than the host allows and is cut here.*"
BODY_MAX = 60_000
"""In code points; hosts take a little more."""
OURS_MIN = 2_000
"""What our part may have however long the text of people is."""

_OURS = re.compile(f"{re.escape(BEGIN)}(?:(?!{re.escape(BEGIN)}).)*?{re.escape(END)}", re.DOTALL)
_SECTION = re.compile(r"\n\n(?=## )")


def first_body(ledger: Ledger, plan: str) -> tuple[str, str]:
    """(title, body) of the draft, before anything was verified."""
    work = ["*Work in progress: nothing of this was verified yet.*"]
    return inert_title(plan_summary(plan)), _whole([*part.summary(plan), *work, *part.what_changed(ledger)])


def final_body(
    ledger: Ledger,
    plan: str,
    *,
    status: Status,
    reason: str,
    unverified: str = "",
    sections: Sequence[tuple[str, str]] = (),
    reading: Reading | None = None,
) -> str:
    """Our part of the body at the end of a run. `unverified` is a local commit that was never verified.

    `sections` are titles and texts of plugins; `reading` is what the last decided verification reported.
    """
    parts = [
        *part.summary(plan),
        *part.what_changed(ledger),
        *part.reviewer_guide(ledger),
        *part.testing_plan(ledger, reading),
        *part.journey(ledger),
        *part.final_state(ledger, status, reason, unverified),
        *part.friction_log(ledger),
        *part.below_threshold(ledger),
        *part.ci_history(ledger),
        *part.contributed(sections),
    ]
    return _whole([_without_place(text, ledger.run.repo) for text in parts])


def merged(present: str, ours: str) -> str:
    """The present body with our part replaced; a body without our markers keeps its text, ours comes after it.

    The first pair of markers with none of them between is ours: one that somebody wrote elsewhere is their text.
    """
    found = _OURS.search(present)
    before, after = (present[: found.start()], present[found.end() :]) if found else (present, "")
    if found is None and before.strip():
        before += "\n\n"
    elif found is None:
        before = ""
    room = max(BODY_MAX - len(before) - len(after), OURS_MIN)
    return before + fitted(ours.rstrip("\n"), room) + after


def fitted(ours: str, limit: int) -> str:
    """Our part in at most about `limit` code points: sections go from the end, the final state stays."""
    if len(ours) <= limit:
        return ours
    first, *others = _SECTION.split(ours.rstrip("\n").removesuffix(f"\n\n{END}"))
    kept = [text for text in others if STATE_BEGIN in text]
    room = limit - len(first) - len(END) - 2 - sum(len(text) + 2 for text in kept) - len(CUT_NOTE) - 2
    if room < 0:
        kept = [_cut_state(text, room) for text in kept]
    shown: list[str] = []
    full = False
    for text in others:
        if STATE_BEGIN in text:
            shown += kept
        elif not full and len(text) + 2 <= room:
            shown.append(text)
            room -= len(text) + 2
        elif not full:
            full = True
            shown.append(f"{_cut_lines(text, max(room, 0))}\n\n{CUT_NOTE}".lstrip("\n"))
    return "\n\n".join([first, *shown, END])


def _whole(parts: Sequence[str]) -> str:
    return fitted("\n\n".join([BEGIN, HINT, *parts, END]), BODY_MAX) + "\n"


def _without_place(text: str, work_tree: str) -> str:
    """`text` with paths in the work tree as the repository names them: where it lies is no business of a host."""
    if work_tree.count("/") < 2:  # too short to be told from other words
        return text
    place = re.escape(inert(work_tree, 4000).lstrip(ZERO_WIDTH))
    return re.sub(rf"{place}(?![\w-])", ".", re.sub(rf"{place}/", "", text))


def _cut_lines(text: str, limit: int) -> str:
    """The whole lines of a section that fit; nothing where its heading alone would be left."""
    cut = text[:limit].rpartition("\n")[0].rstrip() if len(text) > limit else text
    return cut if "\n" in cut else ""


def _cut_state(text: str, missing: int) -> str:
    """The final state with fewer of its last lines, its markers kept; its first lines are never left out."""
    whole = text.removesuffix(f"\n{STATE_END}").split("\n")
    lines = list(whole)
    while missing < 0 and lines[-1].startswith(("- Blocking", "- and ")):
        missing += len(lines.pop()) + 1
    more = [f"- and {len(whole) - len(lines)} more lines"] if len(lines) < len(whole) else []
    return "\n".join([*lines, *more, STATE_END])
