"""Owns when a failure counts as proven pre-existing, and when that proof lapses (spec page 4). Pure.

Only verification knows quarantine; CI never does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from touchline.documents.ledger import Finding, Provenance, QuarantineEntry
from touchline.documents.report import Diagnosis
from touchline.gates.identified import Identified
from touchline.gates.reading import Reported
from touchline.gates.text import MAX_LINE_CHARS, bounded
from touchline.ledger import queries
from touchline.ledger.identity import next_id, normalise_path, slug


@dataclass(frozen=True, slots=True)
class Ground:
    """What a proof stands on: the merge base and the paths (normalised) that differ from it."""

    merge_base: str | None
    diff_paths: frozenset[str]
    verify_run: int


@dataclass(frozen=True, slots=True)
class Quarantined:
    """The entries after this verification, and the entry that each quarantined issue (by its id) matched."""

    entries: list[QuarantineEntry]
    matched: dict[str, str]


def judge_quarantine(
    entries: Sequence[QuarantineEntry],
    reported: Sequence[Identified],
    *,
    diagnoses: Sequence[Diagnosis],
    known: dict[str, Finding],
    ground: Ground,
) -> Quarantined:
    """Close what lapsed, open what is proved, then match every reported issue."""
    closed = [_closed(entry, reported, known=known, ground=ground) for entry in entries]
    current = _opened(closed, [one.reported for one in reported], diagnoses=diagnoses, ground=ground)
    matched: dict[str, str] = {}
    for one in reported:
        entry = next((entry for entry in current if entry.active and _covers(entry, one, known)), None)
        if entry is not None:
            matched[one.reported.issue.id] = entry.id
    raised = set(matched.values())
    return Quarantined(
        [
            entry.model_copy(update={"reraise_count": entry.reraise_count + 1}) if entry.id in raised else entry
            for entry in current
        ],
        matched,
    )


def diagnosis_spent(entries: Sequence[QuarantineEntry], signature: str, path: str | None) -> bool:
    """Whether a failure was quarantined, lapsed, and had its one new diagnosis: it is an ordinary finding now."""
    same = [entry for entry in entries if queries.covers(entry, signature=signature, path=path)]
    return bool(same) and not same[-1].active and same[-1].rediagnosed


def signature_of(reported: Reported) -> str:
    """The failure signature of an issue as the ledger keeps it; "" without one."""
    return bounded((reported.issue.signature or "").strip())


def _covers(entry: QuarantineEntry, one: Identified, known: dict[str, Finding]) -> bool:
    # A report that names no signature or place this time does not take back those that the finding has.
    finding = known.get(one.finding_id)
    signature, path = signature_of(one.reported), one.reported.path
    if finding is not None:
        signature = signature or finding.signature or ""
        path = path or (finding.location.path if finding.location else None)
    return queries.covers(entry, signature=signature, path=path)


def _paths(entry: QuarantineEntry) -> set[str | None]:
    return {plain for path in entry.paths if (plain := normalise_path(path)) is not None}


def _closed(
    entry: QuarantineEntry, reported: Sequence[Identified], *, known: dict[str, Finding], ground: Ground
) -> QuarantineEntry:
    if not entry.active:
        return entry
    touched = sorted(path for path in _paths(entry) if path in ground.diff_paths and path is not None)
    if entry.provenance.reproduced_at != ground.merge_base:
        why = f"the merge base moved to {ground.merge_base}"
    elif touched:
        why = f"the diff touches {touched[0]}"
    elif _signature_changed(entry, reported, known):
        why = "the signature of the failure changed"
    else:
        return entry
    return entry.model_copy(update={"active": False, "invalidated_by": bounded(why, MAX_LINE_CHARS)})


def _signature_changed(entry: QuarantineEntry, reported: Sequence[Identified], known: dict[str, Finding]) -> bool:
    """The same failure, by identity or by title, comes with another signature and no longer with the old one."""
    if any(_covers(entry, one, known) for one in reported):
        return False
    for one in reported:
        if not signature_of(one.reported) or one.reported.path not in _paths(entry):
            continue
        finding = known.get(one.finding_id)
        if finding is not None and finding.quarantine_id == entry.id:
            return True
        if slug(one.reported.finding.title) == slug(entry.title) != "":
            return True
    return False


def _opened(
    entries: list[QuarantineEntry],
    reported: Sequence[Reported],
    *,
    diagnoses: Sequence[Diagnosis],
    ground: Ground,
) -> list[QuarantineEntry]:
    current = list(entries)
    by_id = {one.issue.id: one for one in reported}
    for diagnosis in diagnoses:
        subject = by_id.get(diagnosis.issue_id)
        if subject is None:
            continue
        signature, path = signature_of(subject), subject.path
        if diagnosis_spent(current, signature, path):
            continue
        title = slug(subject.finding.title)
        current = [
            entry.model_copy(update={"rediagnosed": True})
            if not entry.active
            and path in _paths(entry)
            and (entry.signature.strip() == signature or slug(entry.title) == title)
            else entry
            for entry in current
        ]
        known = any(entry.active and queries.covers(entry, signature=signature, path=path) for entry in current)
        if not known and _is_proof(diagnosis, subject, ground):
            current.append(_entry(current, diagnosis, subject, ground))
    return current


def _is_proof(diagnosis: Diagnosis, subject: Reported, ground: Ground) -> bool:
    """Reproduced at this merge base, and neither it nor its evidence touches a path of the diff."""
    path = subject.path
    return (
        diagnosis.pre_existing == "yes"
        and diagnosis.touched_by_diff == []
        and ground.merge_base is not None
        and diagnosis.reproduced_at == ground.merge_base
        and bool(signature_of(subject))
        and path is not None
        and path not in ground.diff_paths
        and not _names_any(_evidence(diagnosis, subject), ground.diff_paths)
    )


def _evidence(diagnosis: Diagnosis, subject: Reported) -> str:
    parts = (diagnosis.output_excerpt, subject.issue.evidence, subject.issue.signature)
    return "\n".join(part for part in parts if part).replace("\\", "/")


def _names_any(text: str, paths: Collection[str]) -> bool:
    return any(path in text and _names(text, path) for path in paths)


def _names(text: str, path: str) -> bool:
    # A traceback shows absolute paths, so a path with folders may follow a `/`; a bare name must stand alone.
    before = r"(?<![\w.-])" if "/" in path else r"(?<![\w./-])(?:\./)?"
    return re.search(before + re.escape(path) + r"(?![\w/-]|\.\w)", text) is not None


def _entry(
    entries: Sequence[QuarantineEntry], diagnosis: Diagnosis, subject: Reported, ground: Ground
) -> QuarantineEntry:
    return QuarantineEntry(
        id=next_id("Q", (entry.id for entry in entries)),
        title=bounded(subject.finding.title, MAX_LINE_CHARS),
        signature=signature_of(subject),
        paths=[subject.path] if subject.path is not None else [],
        diagnosis=bounded(subject.issue.root_cause),
        provenance=Provenance(
            reproduced_at=diagnosis.reproduced_at,
            command=bounded(diagnosis.command),
            output_excerpt=bounded(diagnosis.output_excerpt),
        ),
        first_seen=ground.verify_run,
    )
