"""From answers to the report's findings and issues: bound to the work tree, folded, numbered (spec page 5). Pure.

Two verifiers that report one defect give one finding: the highest severity, the sources of both. Two findings of
one verifier are never folded, since it told them apart; nor are two failures of different signatures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from touchline.documents.base import FindingClass, Location
from touchline.documents.report import Issue, ReportFinding
from touchline.gates.reading import Reported
from touchline.ledger.identity import FindingIndex, Traits, normalise_path
from touchline.verify.answers import AnswerIssue

COACH = "coach"


def make_reported(
    *,
    title: str,
    severity: int,
    class_: FindingClass,
    source: str,
    mechanism: str,
    description: str,
    root_cause: str = "",
    location: Location | None = None,
    evidence: str | None = None,
    signature: str | None = None,
    symbol: str | None = None,
    symptom: str | None = None,
) -> Reported:
    """A finding with its issue; the id is given by `number`."""
    issue = Issue.model_validate(
        {
            "id": "",
            "class": class_,
            "rootCause": root_cause or description,
            "mechanism": mechanism,
            "symbol": symbol,
            "symptom": symptom,
            "signature": signature,
            "evidence": evidence,
        }
    )
    finding = ReportFinding(
        title=title, severity=severity, description=description, sources=[source], location=location
    )
    return Reported(issue, finding)


def from_answer(found: AnswerIssue, source: str, *, work_tree: Path, known: Collection[str]) -> Reported:
    """What a verifier answered, with nothing in it that points outside the work tree or to an unknown id."""
    path = _inside(found.path, work_tree)
    issue = Issue.model_validate(
        {
            "id": "",
            "class": found.class_,
            "rootCause": found.root_cause,
            "mechanism": found.mechanism,
            "symbol": found.symbol,
            "symptom": found.symptom,
            "firstOrder": found.first_order,
            "newHarmEvidence": found.new_harm_evidence,
            "evidence": found.evidence,
            "matches": found.matches if found.matches in known else None,
        }
    )
    finding = ReportFinding(
        title=found.title,
        severity=found.severity,
        description=found.description,
        sources=[source],
        location=Location(path=path, line=found.line, end_line=found.end_line) if path else None,
    )
    return Reported(issue, finding)


def fold(reported: Iterable[Reported], *, into: Sequence[Reported] = ()) -> list[Reported]:
    """`into` (already folded), then the rest, with those of different sources that are one defect made one."""
    index = FindingIndex((), {})
    folded = list(into)
    for place, one in enumerate(folded):
        index.add(f"I-{place}", _traits(one))
    for one in reported:
        match = index.match(_traits(one), None)
        same = int(match.finding_id.removeprefix("I-")) if match else _cited(folded, one)
        if same is not None and _may_fold(folded[same], one):
            folded[same] = _merged(folded[same], one)
        else:
            index.add(f"I-{len(folded)}", _traits(one))
            folded.append(one)
    return folded


def number(reported: Iterable[Reported]) -> list[Reported]:
    """The same findings with the ids VI-1 and on."""
    return [
        Reported(one.issue.model_copy(update={"id": f"VI-{place}"}), one.finding)
        for place, one in enumerate(reported, 1)
    ]


def _inside(path: str | None, work_tree: Path) -> str | None:
    plain = normalise_path(path)
    if plain is None:
        return None
    root = f"{work_tree.as_posix()}/"
    plain = plain.removeprefix(root)
    outside = plain.startswith(("/", "../")) or plain == ".."
    return None if outside else plain


def _traits(one: Reported) -> Traits:
    return Traits(
        path=one.path,
        mechanism=one.issue.mechanism,
        symbol=one.issue.symbol or "",
        symptom=one.issue.symptom or "",
        title=one.finding.title,
        root_cause=one.issue.root_cause,
    )


def _cited(folded: list[Reported], one: Reported) -> int | None:
    """The finding that cites the same ledger finding in the same file."""
    for place, other in enumerate(folded):
        if one.issue.matches and other.issue.matches == one.issue.matches and other.path == one.path:
            return place
    return None


def _may_fold(first: Reported, second: Reported) -> bool:
    signatures = {first.issue.signature, second.issue.signature} - {None}
    cites = {first.issue.matches, second.issue.matches} - {None}
    same_source = set(first.finding.sources) & set(second.finding.sources)
    return not same_source and len(signatures) < 2 and len(cites) < 2


def _merged(first: Reported, second: Reported) -> Reported:
    """Text and class of the more severe one; a `coverage` never lowers what somebody calls another kind."""
    high, low = (second, first) if second.finding.severity > first.finding.severity else (first, second)
    class_ = low.issue.class_ if high.issue.class_ == "coverage" else high.issue.class_
    evidence = [text for text in (high.issue.evidence, low.issue.evidence) if text]
    issue = high.issue.model_copy(
        update={
            "class_": class_,
            "symbol": high.issue.symbol or low.issue.symbol,
            "symptom": high.issue.symptom or low.issue.symptom,
            "signature": high.issue.signature or low.issue.signature,
            "first_order": high.issue.first_order or low.issue.first_order,
            "new_harm_evidence": high.issue.new_harm_evidence or low.issue.new_harm_evidence,
            "evidence": "\n\n".join(dict.fromkeys(evidence)) or None,
            "matches": high.issue.matches or low.issue.matches,
        }
    )
    finding = high.finding.model_copy(
        update={
            "sources": list(dict.fromkeys([*first.finding.sources, *second.finding.sources])),
            "location": high.finding.location or low.finding.location,
        }
    )
    return Reported(issue, finding)
