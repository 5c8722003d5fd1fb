"""The judges of one verification: one after the other until one completes, or all at once (spec page 5).

Light: by preference, and one that does not complete is followed by the next. Deep: every one, in parallel; since a
change of the work tree cannot then be laid at one door, it discards the answers of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from touchline.documents.base import Depth
from touchline.documents.report import SkillResult
from touchline.verify.answers import JudgeAnswer
from touchline.verify.consulting import Consulted
from touchline.verify.proof import Proofs
from touchline.verify.request import Say, Verifier

MAX_PARALLEL = 4


@dataclass(frozen=True, slots=True)
class Judged:
    """The rows of the judges that were asked, the answers of those that completed, and who was not asked."""

    rows: tuple[SkillResult, ...]
    answers: tuple[tuple[str, JudgeAnswer], ...]
    skipped: tuple[str, ...]


Ask = Callable[[Verifier], Consulted[JudgeAnswer]]


def judge(judges: Sequence[Verifier], depth: Depth, ask: Ask, proof: Proofs, say: Say) -> Judged:
    """What the judges say. Raises GitError if what one of them changed cannot be put back."""
    if depth == "deep":
        return _all(judges, ask, proof, say)
    rows: list[SkillResult] = []
    for place, verifier in enumerate(judges):
        if not verifier.problem:  # why one cannot be used is said once, at the start of a run
            say(f"judge: {verifier.name}")
        outcome = _proved(ask(verifier), proof)
        rows.append(_row(verifier, outcome))
        if outcome.word == "ANSWERED":
            skipped = tuple(other.name for other in judges[place + 1 :])
            return Judged(tuple(rows), _answers([(verifier, outcome)]), skipped)
        if not verifier.problem:
            say(f"judge {verifier.name}: {outcome.word}: {outcome.notes}")
    return Judged(tuple(rows), (), ())


def _all(judges: Sequence[Verifier], ask: Ask, proof: Proofs, say: Say) -> Judged:
    say(f"judges {', '.join(verifier.name for verifier in judges)}")
    with ThreadPoolExecutor(max_workers=MAX_PARALLEL) as pool:
        outcomes = list(pool.map(lambda verifier: _completed(ask(verifier)), judges))
    checked = proof.check()
    if checked.broke:
        outcomes = [
            Consulted("BLOCKED", f"one of the judges {checked.broke}") if one.word == "ANSWERED" else one
            for one in outcomes
        ]
    pairs = list(zip(judges, outcomes, strict=True))
    return Judged(tuple(_row(*pair) for pair in pairs), _answers(pairs), ())


def _proved(outcome: Consulted[JudgeAnswer], proof: Proofs) -> Consulted[JudgeAnswer]:
    outcome = _completed(outcome)
    checked = proof.check()
    if checked.broke:
        return Consulted("BLOCKED", f"it {checked.broke}; its answer is discarded")
    if checked.noted:
        return Consulted(
            outcome.word, "; ".join(part for part in (outcome.notes, checked.noted) if part), outcome.answer
        )
    return outcome


def _completed(outcome: Consulted[JudgeAnswer]) -> Consulted[JudgeAnswer]:
    """A command that ends with exit status 0 has nothing to say; with another one it did not complete a review."""
    if outcome.word == "PASSED":
        return Consulted("ANSWERED", outcome.notes, JudgeAnswer(issues=[]))
    if outcome.word == "FAILED":
        return Consulted("BLOCKED", f"it gave no JSON: {outcome.notes}")
    return outcome


def _row(verifier: Verifier, outcome: Consulted[JudgeAnswer]) -> SkillResult:
    status = "COMPLETED" if outcome.word == "ANSWERED" else outcome.word
    return SkillResult(skill=verifier.name, status=status, notes=outcome.notes)


def _answers(pairs: Sequence[tuple[Verifier, Consulted[JudgeAnswer]]]) -> tuple[tuple[str, JudgeAnswer], ...]:
    return tuple((verifier.name, outcome.answer) for verifier, outcome in pairs if outcome.answer is not None)
