from __future__ import annotations

import pytest

from touchline.verify.tamper import CoachFacts, coach_issues, needs_text


def seen(path: str, before: str = "", after: str = "") -> list[tuple[str, int]]:
    facts = CoachFacts((path,), 5, texts={path: (before, after)} if before or after else {})
    return [(one.issue.mechanism, one.finding.severity) for one in coach_issues(facts)]


@pytest.mark.parametrize(
    ("path", "mechanism"),
    [
        (".github/workflows/ci.yml", "changed-ci-configuration"),
        (".github/workflows/deep/er/ci.yml", "changed-ci-configuration"),
        (".gitlab-ci.yml", "changed-ci-configuration"),
        ("Jenkinsfile", "changed-ci-configuration"),
        ("tox.ini", "changed-test-configuration"),
        ("sub/conftest.py", "changed-test-configuration"),
        ("jest.config.ts", "changed-test-configuration"),
        ("touchline.yaml", "changed-verification-rules"),
        ("VERIFICATION.md", "changed-verification-rules"),
    ],
)
def test_changed_checks_are_noticed_one_below_the_threshold(path: str, mechanism: str) -> None:
    assert seen(path) == [(mechanism, 4)]


@pytest.mark.parametrize(
    "path", ["src/a.py", "docs/tox.ini.md", "tests/test_a.py", "other/touchline.yaml", "README.md"]
)
def test_ordinary_files_are_not(path: str) -> None:
    assert seen(path) == []


def test_the_severity_is_never_below_one() -> None:
    assert [one.finding.severity for one in coach_issues(CoachFacts(("tox.ini",), 1))] == [1]


@pytest.mark.parametrize(
    ("path", "before", "after", "noticed"),
    [
        ("pyproject.toml", '[project]\nname = "a"\n', '[project]\nname = "b"\n', False),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", '[tool.pytest.ini_options]\naddopts = "-k x"\n', True),
        ("pyproject.toml", "[project]\n", "[project\n", True),
        ("pyproject.toml", 'tool = "x"\n', 'tool = "x"\na = 1\n', False),
        ("package.json", '{"version": "1"}', '{"version": "2"}', False),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', True),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "jest", "dev": "x"}}', False),
        ("package.json", '{"jest": {"a": 1}}', "{}", True),
        ("package.json", "{}", "[", True),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", False),
        ("setup.cfg", "[tool:pytest]\n", "[tool:pytest]\naddopts = -x\n", True),
        ("Makefile", "build:\n\tcc a\ntest:\n\tpytest\n", "build:\n\tcc b\ntest:\n\tpytest\n", False),
        ("Makefile", "test:\n\tpytest\n", "test:\n\ttrue\n", True),
        ("Makefile", "test: build\n\tpytest\n", "test:\n\tpytest\n", True),
    ],
)
def test_of_mixed_files_only_the_part_on_tests_counts(path: str, before: str, after: str, noticed: bool) -> None:
    assert needs_text(path)
    assert bool(seen(path, before, after)) is noticed


def test_a_mixed_file_whose_sides_are_not_known_is_noticed() -> None:
    assert seen("package.json") == [("changed-test-configuration", 4)]


@pytest.mark.parametrize(
    ("line", "noticed"),
    [
        ("*.py -diff", True),
        ("src/** linguist-generated=true", True),
        ("*.py binary", True),
        ("*.py filter=x", True),
        ("*.py diff=python", True),
        ("*.py text eol=lf", False),
        ("src/** linguist-generated=false", False),
    ],
)
def test_attributes_that_can_hide_a_change_are_noticed(line: str, noticed: bool) -> None:
    found = seen("src/.gitattributes", "*.md text\n", f"*.md text\n{line}\n")
    assert found == ([("hidden-from-review", 4)] if noticed else [])
    assert seen(".gitattributes", f"{line}\n", f"{line}\n*.md text\n") == []


def test_git_settings_hooks_and_the_plan_block() -> None:
    facts = CoachFacts((), 9, git_settings=("hook pre-commit",), plan_changed="docs/plans/p.md")
    found = coach_issues(facts)
    assert [(one.issue.class_, one.finding.severity, one.finding.sources) for one in found] == [
        ("security", 8, ["coach"]),
        ("plan-completeness", 8, ["coach"]),
    ]
    assert "hook pre-commit" in found[0].finding.title
    assert found[1].path == "docs/plans/p.md"
