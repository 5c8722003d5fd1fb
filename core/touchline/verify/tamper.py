"""What the coach itself notices about a change: the checks that it moved instead of passing (DESIGN.md; spec page 5).

Pure: facts in, findings with source `coach` out. Changed tests or CI configuration stay one below the threshold:
whether the plan asks for them is for a judge to say, who then reports 8. Git's own settings, hooks and the plan itself
are nothing that a plan asks for, so they block. (Fewer tests than at the base: `touchline.verify.tester_rows`.)
"""

from __future__ import annotations

import configparser
import fnmatch
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from touchline.documents.base import FindingClass, Location
from touchline.gates.reading import Reported
from touchline.git.quoting import quote_path
from touchline.verify.folding import COACH, make_reported

BLOCKING = 8

_CI = (
    ".github/workflows/*",
    ".github/actions/*",
    ".forgejo/workflows/*",
    ".gitea/workflows/*",
    ".gitlab-ci.yml",
    ".gitlab/ci/*",
    ".circleci/*",
    ".buildkite/*",
    ".woodpecker/*",
    ".woodpecker.y*ml",
    ".drone.y*ml",
    ".travis.yml",
    ".ci/*",
    "Jenkinsfile",
    "azure-pipelines.y*ml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    "codecov.y*ml",
    ".codecov.y*ml",
)
"""From the root of the repository; `*` crosses folders."""

_TESTS = (
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "noxfile.py",
    "conftest.py",
    ".coveragerc",
    "jest.config.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "karma.conf.*",
    ".mocharc*",
    "playwright.config.*",
    "cypress.config.*",
    "phpunit.xml*",
    ".rspec",
    "nextest.toml",
)
"""By file name, in any folder."""

_OURS = ("touchline.yaml", "VERIFICATION.md")

_HIDING = re.compile(
    r"\s(?:-diff|diff=|binary\b|linguist-generated(?!=false)|linguist-vendored(?!=false)|filter=|working-tree-encoding=)"
)


@dataclass(frozen=True, slots=True)
class CoachFacts:
    """What is known of a change against its base. `texts` has the two sides of the files named by `MIXED`."""

    changed: Sequence[str]
    threshold: int
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Path -> text at the base, text now; "" where the file is not there."""
    git_settings: Sequence[str] = ()
    """What differs in `.git/config`, hooks and the like since the start of the run (`touchline.git.fingerprint`)."""
    plan_changed: str = ""
    """The plan's own path, if a turn changed it."""


def coach_issues(facts: CoachFacts) -> list[Reported]:
    """The findings of the coach, in a fixed order."""
    noticed = max(1, facts.threshold - 1)
    found = []
    for path in sorted(facts.changed):
        kind = _kind(path, facts.texts.get(path))
        if kind:
            found.append(_issue(f"changed-{kind}", f"the change touches {_WORDS[kind]}", noticed, path=path))
        hidden = _hiding_lines(path, facts.texts.get(path))
        if hidden:
            what = "a change of attributes can hide files from review"
            found.append(_issue("hidden-from-review", what, noticed, path=path, evidence="\n".join(hidden)))
    for name in facts.git_settings:
        what = f"git's own settings or hooks were changed: {quote_path(name)}"
        found.append(_issue(f"git-settings {name}", what, BLOCKING, class_="security"))
    if facts.plan_changed:
        what = "the plan itself was changed; the copy from the start of the run counts"
        found.append(_issue("changed-plan", what, BLOCKING, path=facts.plan_changed, class_="plan-completeness"))
    return found


_WORDS = {
    "ci-configuration": "what CI runs",
    "test-configuration": "how tests are run",
    "verification-rules": "the rules by which it is verified",
}


def _kind(path: str, texts: tuple[str, str] | None) -> str:
    name = path.rpartition("/")[2]
    if path in _OURS:
        return "verification-rules"
    if any(fnmatch.fnmatchcase(path, pattern) for pattern in _CI):
        return "ci-configuration"
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in _TESTS):
        return "test-configuration"
    section = MIXED.get(name)
    if section is not None and (texts is None or _differs(section, texts)):
        return "test-configuration"
    return ""


def _differs(section: Callable[[str], object], texts: tuple[str, str]) -> bool:
    """Whether the part on tests differs; a side that cannot be read differs from everything."""
    try:
        return section(texts[0]) != section(texts[1])
    except (ValueError, RecursionError, configparser.Error):
        return True


def _pyproject(text: str) -> object:
    tools = tomllib.loads(text).get("tool", {})
    names = ("pytest", "tox", "coverage", "nox", "hatch")
    return {name: tools.get(name) for name in names} if isinstance(tools, dict) else tools


def _package_json(text: str) -> object:
    value = json.loads(text or "{}")
    if not isinstance(value, dict):
        return value
    scripts = value.get("scripts", {})
    named = {name: scripts[name] for name in sorted(scripts) if "test" in name} if isinstance(scripts, dict) else {}
    return named, *(value.get(name) for name in ("jest", "mocha", "vitest", "nyc", "c8", "ava"))


def _setup_cfg(text: str) -> object:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    names = [name for name in parser.sections() if name.startswith(("tool:pytest", "coverage", "tox"))]
    return {name: dict(parser[name]) for name in names}


def _makefile(text: str) -> object:
    """The rules whose target names a test or a check, with their recipes."""
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        if not line.startswith(("\t", " ", "#")) and line.strip():
            inside = bool(re.match(r"[^:=]*\b(?:test|tests|check|ci|coverage)\b[^:=]*::?(?!=)", line))
        if inside:
            kept.append(line.rstrip())
    return kept


MIXED: Mapping[str, Callable[[str], object]] = {
    "pyproject.toml": _pyproject,
    "package.json": _package_json,
    "setup.cfg": _setup_cfg,
    "Makefile": _makefile,
    "GNUmakefile": _makefile,
    "makefile": _makefile,
}
"""File names that say how tests are run among other things; only that part counts."""


def needs_text(path: str) -> bool:
    """Whether `coach_issues` wants both sides of this file."""
    name = path.rpartition("/")[2]
    return name in MIXED or name == ".gitattributes"


def _hiding_lines(path: str, texts: tuple[str, str] | None) -> list[str]:
    if path.rpartition("/")[2] != ".gitattributes":
        return []
    if texts is None:
        return ["its text could not be read"]
    before = set(texts[0].splitlines())
    return [line for line in texts[1].splitlines() if line not in before and _HIDING.search(line)]


def _issue(
    mechanism: str,
    what: str,
    severity: int,
    *,
    path: str = "",
    evidence: str = "",
    class_: FindingClass = "environment",
) -> Reported:
    title = f"{what}: {quote_path(path)}" if path else what
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
