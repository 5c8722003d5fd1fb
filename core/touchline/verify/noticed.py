"""What a judge says to what the coach noticed, and to the parts of the plan (DESIGN.md; spec page 5). Pure.

Each changed check that the judges are shown must be answered: asked for by the plan, or not. Silence is no answer, so
a judge that is silent did not complete its review. What is not asked for counts 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from touchline.gates.reading import Reported
from touchline.verify.answers import JudgeAnswer
from touchline.verify.folding import COACH, make_reported

NOT_ASKED_FOR = 8
MAX_ASKED = 100
"""Items that a judge is asked about; of more, the rest stand as they are."""
PLAN_INCOMPLETE = "plan-incomplete"


def to_weigh(found: Iterable[Reported]) -> tuple[Reported, ...]:
    """What the judges have to weigh: the coach's findings that do not yet count as not asked for."""
    own = (one for one in found if COACH in one.finding.sources and one.finding.severity < NOT_ASKED_FOR)
    return tuple(own)[:MAX_ASKED]


def unanswered(answer: JudgeAnswer, asked: int) -> str:
    """What an answer leaves out of the `asked` items, in words for the judge; "" when it is whole."""
    given = {one.item for one in answer.noticed}
    missing = [str(number) for number in range(1, asked + 1) if number not in given]
    return f"`noticed` has no answer to item {', '.join(missing[:20])}" if missing else ""


def weighed(
    found: Sequence[Reported], asked: Sequence[Reported], answers: Iterable[tuple[str, JudgeAnswer]]
) -> list[Reported]:
    """`found` with the severity that the judges' answers give to what they were asked about."""
    places = {id(one): number for number, one in enumerate(asked, 1)}
    denied: dict[int, list[tuple[str, str]]] = {}
    for who, answer in answers:
        for row in answer.noticed:
            if not row.asked_for:
                denied.setdefault(row.item, []).append((who, row.evidence))
    return [_denied(one, denied.get(places.get(id(one), 0), [])) for one in found]


def _denied(one: Reported, by: Sequence[tuple[str, str]]) -> Reported:
    if not by:
        return one
    said = [f"{who}: the plan does not ask for it. {evidence}" for who, evidence in by]
    evidence = "\n".join([text for text in (one.issue.evidence,) if text] + said)
    sources = list(dict.fromkeys([*one.finding.sources, *(who for who, _ in by)]))
    severity = max(one.finding.severity, NOT_ASKED_FOR)
    return Reported(
        one.issue.model_copy(update={"evidence": evidence}),
        one.finding.model_copy(update={"severity": severity, "sources": sources}),
    )


def plan_gaps(source: str, answer: JudgeAnswer) -> list[Reported]:
    """The parts of the plan that a judge calls missing without reporting one of them, as one finding."""
    if any(issue.class_ == "plan-completeness" for issue in answer.issues):
        return []
    gaps = [part for part in answer.plan if part.status in ("partial", "missing")]
    if not gaps:
        return []
    rows = "\n".join(f"{part.status}: {part.part}. {part.evidence}".rstrip() for part in gaps)
    return [
        make_reported(
            title="The plan is not carried out in full",
            severity=NOT_ASKED_FOR,
            class_="plan-completeness",
            source=source,
            mechanism=PLAN_INCOMPLETE,
            description=rows,
            root_cause="parts of the plan are missing",
            evidence=rows,
        )
    ]
