"""What the coach itself notices about a change: the checks that it moved instead of passing (DESIGN.md; spec page 5).

Pure: facts in, findings with source `coach` out. Changed tests and checks stay one below the threshold: whether the
plan asks for them is for a judge to say (`touchline.verify.noticed`), and then they count 8. Git's own settings,
hooks, what takes the test runner's place, and the plan itself are nothing that a plan asks for, so they block. (Fewer
tests than at the base: `touchline.verify.tester_rows`.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from touchline.documents.base import FindingClass, Location
from touchline.gates.reading import Reported
from touchline.git.quoting import quote_path
from touchline.verify.folding import COACH, make_reported
from touchline.verify.tamper_settings import MIXED, WORDS, changed_settings
from touchline.verify.tamper_shadows import MANIFESTS, shadows
from touchline.verify.tamper_tests import is_test_file, weakenings

BLOCKING = 8
MAX_NAMED = 20

_HIDING = re.compile(
    r"\s(?:-diff|diff=|binary\b|linguist-generated(?!=false)|linguist-vendored(?!=false)|filter=|working-tree-encoding=)"
)
_RUN_STATE = re.compile(
    r"(?:^|/)\.(?:player-coach|touchline)/|(?:^|/)player-coach/[^/]+/[^/]+/|(?:^|/)feedback/[^/]+/turn-\d+\.md$"
)
_SOURCE = re.compile(r"\.(?:py|js|cjs|mjs|ts|rb|go|php)\Z")
_FORGING = re.compile(
    r"\bos\._exit\s*\(|\bos\.(?:kill|abort)\s*\(|\bprocess\.reallyExit\s*\(|\bexit!\s*(?:\(|$)"
    r"|\bRan \d+ tests? in\b|=+ ?\d+ passed|^\s*(?:print\()?[\"']?(?:ok|not ok) \d+\b"
)
"""Ends the process past everything that a test runner does, or prints what a runner prints."""
_REDIRECTING = ("go.mod", "Cargo.toml", "requirements.txt")


@dataclass(frozen=True, slots=True)
class CoachFacts:
    """What is known of a change against its base. `texts` has the two sides of the files that `needs_text` names."""

    changed: Sequence[str]
    threshold: int
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Path -> text at the base, text now; "" where the file is not there."""
    added: Sequence[str] = ()
    """Those of `changed` that the base does not have."""
    present: Collection[str] = ()
    """Every path of the tree now."""
    manifests: Mapping[str, str] = field(default_factory=dict)
    """The files that name dependencies (`MANIFESTS`), as the base has them."""
    not_read: Sequence[str] = ()
    """Files that should have been looked into and were too much."""
    git_settings: Sequence[str] = ()
    """What differs in `.git/config`, hooks and the like since the start of the run (`touchline.git.fingerprint`)."""
    plan_changed: str = ""
    """The plan's own path, if a turn changed it."""


def coach_issues(facts: CoachFacts) -> list[Reported]:
    """The findings of the coach, in a fixed order."""
    noticed = max(1, facts.threshold - 1)
    added = set(facts.added)
    found = []
    for path in sorted(facts.changed):
        texts = facts.texts.get(path)
        for kind in changed_settings(path, texts):
            found.append(_issue(f"changed-{kind}", f"the change touches {WORDS[kind]}", noticed, path=path))
        hidden = _hiding_lines(path, texts)
        if hidden:
            what = "a change of attributes can hide files from review"
            found.append(_issue("hidden-from-review", what, noticed, path=path, evidence="\n".join(hidden)))
        forging = _forging_lines(path, texts)
        if forging:
            what = "code that is no test ends the process at once, or prints a test runner's own words"
            evidence = "\n".join(forging)
            found.append(
                _issue("forges-test-result", what, noticed, path=path, evidence=evidence, class_="correctness")
            )
        if (path in added and _RUN_STATE.search(path)) or _is_ledger(path, texts):
            found.append(_issue("run-state", "state of a run lies in the repository", noticed, path=path))
    found += _on_tests(facts, noticed)
    for shadow in shadows(facts.added, facts.texts, present=facts.present, manifests=facts.manifests):
        severity = BLOCKING if shadow.blocks else noticed
        mechanism = f"shadows {shadow.what}"
        what = shadow.what
        found.append(_issue(mechanism, what, severity, path=shadow.path, evidence=shadow.evidence, class_="security"))
    for name in facts.git_settings:
        what = f"git's own settings or hooks were changed: {quote_path(name)}"
        found.append(_issue(f"git-settings {name}", what, BLOCKING, class_="security"))
    if facts.plan_changed:
        what = "the plan itself was changed; the copy from the start of the run counts"
        found.append(_issue("changed-plan", what, BLOCKING, path=facts.plan_changed, class_="plan-completeness"))
    return found


def needs_text(path: str) -> bool:
    """Whether `coach_issues` wants both sides of this file."""
    name = path.rpartition("/")[2]
    named = name in MIXED or name in (".gitattributes", "ledger.json", *_REDIRECTING)
    return named or is_test_file(path) or is_source(path)


def is_source(path: str) -> bool:
    """Whether this is code of a language in which a test run can be ended from inside."""
    return _SOURCE.search(path) is not None


def manifest_paths() -> tuple[str, ...]:
    """The files that are wanted as `manifests`."""
    return MANIFESTS


def _on_tests(facts: CoachFacts, noticed: int) -> list[Reported]:
    texts = {path: sides for path, sides in facts.texts.items() if is_test_file(path)}
    found = [
        _issue(one.mechanism, one.what, noticed, path=one.path, evidence=one.evidence, class_="correctness")
        for one in weakenings(texts)
    ]
    # Plain code is looked into for one thing only; a large file of it is no reason for a finding.
    unread = [path for path in facts.not_read if is_test_file(path) or not is_source(path)]
    if unread:
        shown = [quote_path(path) for path in unread[:MAX_NAMED]]
        more = [f"and {len(unread) - MAX_NAMED} more"] if len(unread) > MAX_NAMED else []
        what = f"{len(unread)} changed files of tests and checks are too large to be compared by machine"
        evidence = "\n".join([*shown, *more])
        found.append(_issue("tests-not-compared", what, noticed, evidence=evidence, class_="correctness"))
    return found


def _hiding_lines(path: str, texts: tuple[str, str] | None) -> list[str]:
    if path.rpartition("/")[2] != ".gitattributes":
        return []
    if texts is None:
        return ["its text could not be read"]
    before = set(texts[0].splitlines())
    return [line for line in texts[1].splitlines() if line not in before and _HIDING.search(line)]


def _forging_lines(path: str, texts: tuple[str, str] | None) -> list[str]:
    if texts is None or not is_source(path) or is_test_file(path):
        return []
    before = set(texts[0].splitlines())
    lines = [line.strip() for line in texts[1].splitlines() if line not in before and _FORGING.search(line)]
    return [line[:200] for line in lines[:MAX_NAMED]]


def _is_ledger(path: str, texts: tuple[str, str] | None) -> bool:
    return path.rpartition("/")[2] == "ledger.json" and texts is not None and '"verificationRuns"' in texts[1]


def _issue(
    mechanism: str,
    what: str,
    severity: int,
    *,
    path: str = "",
    evidence: str = "",
    class_: FindingClass = "environment",
) -> Reported:
    title = f"{what}: {quote_path(path)}" if path and quote_path(path) not in what else what
    return make_reported(
        title=title[:200],
        severity=severity,
        class_=class_,
        source=COACH,
        mechanism=mechanism,
        description=title,
        location=Location(path=quote_path(path)) if path else None,
        evidence=evidence or None,
    )
