"""The debug step: which failures were there before the change (spec page 5, "Debug step"; page 4, quarantine).

Pure: compares the failures of this verification with those of one run of the same command at the base. Proof is the
same named failure there; without a whole run at the base nothing is proved, and a command that failed as a whole
proves nothing about a change. Touched is decided on the safe side: a path of the change that the failure's place or
text so much as mentions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from touchline.documents.report import Diagnosis
from touchline.gates.reading import Reported
from touchline.git.quoting import quote_path
from touchline.turn.text import tail
from touchline.verify.mirror import mentions
from touchline.verify.tester import is_whole
from touchline.verify.testrun import TestsResult

EXCERPT = 2000
THE_PLAN = "(named by the plan)"
_REPRODUCIBLE = ("test-failure", "environment")


def diagnose(
    reported: Sequence[Reported],
    result: TestsResult | None,
    at_base: TestsResult | None,
    *,
    base_commit: str,
    changed: Sequence[str],
    threshold: int,
    work_tree: Path,
    plan: str = "",
) -> list[Diagnosis]:
    """One diagnosis for each blocking failure with a signature; `at_base` is None where nothing could be run.

    A failure at the base in which code of the run's own `work_tree` took part proves nothing. A test that the plan
    names is what the change is about, however long it has been failing: it counts as touched.
    """
    now = {failure.signature: failure for failure in result.failures} if result is not None else {}
    before = {failure.signature: failure for failure in at_base.failures} if at_base is not None else {}
    found = []
    for one in reported:
        signature = one.issue.signature
        if not signature or one.issue.class_ not in _REPRODUCIBLE or one.finding.severity < threshold:
            continue
        failure, same, mixed = now.get(signature), before.get(signature), False
        text = "\n".join(
            (one.issue.evidence or "", failure.message if failure else "", failure.text if failure else "")
        )
        if same is not None and mentions(f"{same.message}\n{same.text}", work_tree):
            same, mixed = None, True
        absent = failure is not None and not mixed and at_base is not None and is_whole(at_base)
        found.append(
            Diagnosis(
                issue_id=one.issue.id,
                pre_existing="yes" if same else "no" if absent else "unknown",
                touched_by_diff=[
                    *(quote_path(path) for path in changed if path == one.path or path in text),
                    *([THE_PLAN] if named_by_plan(plan, one.path, failure.name if failure else "") else []),
                ],
                reproduced_at=base_commit if same else "",
                command=str(at_base.command) if at_base is not None else "",
                output_excerpt=tail(same.text or same.message, EXCERPT) if same else "",
            )
        )
    return found


def named_by_plan(plan: str, path: str | None, name: str) -> bool:
    """Whether the plan speaks of a test: of its file, of a folder that holds it, or of the test itself."""
    own = re.split(r"::|[.\s(]", name)[-1 if "::" in name else 0]
    words = {own} if len(own) > len("test") else set()
    if path:
        folders = path.split("/")[:-1]
        words |= {path, path.rpartition("/")[2], *("/".join(folders[: n + 1]) + "/" for n in range(len(folders)))}
    return any(re.search(rf"(?<![\w/.-]){re.escape(word)}(?![\w-])", plan) for word in words if word)
