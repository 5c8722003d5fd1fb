from __future__ import annotations

import pytest

from touchline.verify.tamper import CoachFacts, coach_issues, needs_text
from touchline.verify.tamper_shadows import dependencies


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


@pytest.mark.parametrize(
    ("path", "mechanism"),
    [
        (".pre-commit-config.yaml", "changed-hook-configuration"),
        (".husky/pre-push", "changed-hook-configuration"),
        ("lefthook.yml", "changed-hook-configuration"),
        ("ruff.toml", "changed-lint-configuration"),
        ("sub/.eslintrc.json", "changed-lint-configuration"),
        ("mypy.ini", "changed-lint-configuration"),
        (".secrets.baseline", "changed-lint-configuration"),
        (".coveragerc", "changed-coverage-configuration"),
        ("codecov.yml", "changed-coverage-configuration"),
        ("AGENTS.md", "changed-agent-instructions"),
        (".claude/settings.json", "changed-agent-instructions"),
    ],
)
def test_hooks_linters_coverage_and_agent_instructions_are_checks_too(path: str, mechanism: str) -> None:
    assert seen(path) == [(mechanism, 4)]


@pytest.mark.parametrize(
    ("path", "before", "after", "mechanism"),
    [
        ("pyproject.toml", "[tool.ruff]\n", '[tool.ruff]\nexclude = ["*"]\n', "changed-lint-configuration"),
        ("pyproject.toml", "[tool.coverage.report]\nfail_under = 90\n", "", "changed-coverage-configuration"),
        (
            "package.json",
            '{"scripts": {"lint": "eslint ."}}',
            '{"scripts": {"lint": "true"}}',
            "changed-lint-configuration",
        ),
        ("package.json", '{"husky": {"a": 1}}', "{}", "changed-hook-configuration"),
        ("setup.cfg", "[flake8]\n", "[flake8]\nexclude = .\n", "changed-lint-configuration"),
        ("Cargo.toml", "[lints.rust]\nunsafe_code = 'forbid'\n", "", "changed-lint-configuration"),
    ],
)
def test_the_part_of_a_mixed_file_says_what_was_changed(path: str, before: str, after: str, mechanism: str) -> None:
    facts = CoachFacts((path,), 5, texts={path: (before, after)})
    assert [one.issue.mechanism for one in coach_issues(facts)] == [mechanism]


def shadowed(
    path: str, *, present: tuple[str, ...] = (), manifests: dict[str, str] | None = None
) -> list[tuple[str, int]]:
    facts = CoachFacts((path,), 5, added=(path,), present=present, manifests=manifests or {})
    return [(one.finding.title, one.finding.severity) for one in coach_issues(facts) if one.issue.class_ == "security"]


PYPROJECT = (
    '[project]\nname = "x"\ndependencies = ["requests>=2", "PyYAML"]\n[dependency-groups]\ntest = ["pytest-mock"]\n'
)


@pytest.mark.parametrize(
    ("path", "severity"),
    [
        ("json.py", 4),
        ("src/json/__init__.py", 4),
        ("requests.py", 4),
        ("yaml/__init__.py", 4),
        ("tests/pytest_mock.py", 4),
        ("pytest.py", 8),
        ("unittest/__init__.py", 8),
        ("tests/unittest.py", 8),
        ("sitecustomize.py", 8),
        ("evil.pth", 8),
        ("web/node_modules/react/index.js", 4),
    ],
)
def test_what_takes_the_place_of_a_library_is_noticed_and_of_the_runner_blocks(path: str, severity: int) -> None:
    assert [level for _, level in shadowed(path, manifests={"pyproject.toml": PYPROJECT})] == [severity]


@pytest.mark.parametrize(
    ("path", "present"),
    [
        ("mypackage/json.py", ()),
        ("src/mypackage/types.py", ()),
        ("tests/json.py", ("tests/__init__.py",)),
        ("tests/test_json.py", ()),
        ("x.py", ()),
        ("test/__init__.py", ()),
        ("requests/readme.md", ()),
    ],
)
def test_a_module_inside_a_package_shadows_nothing(path: str, present: tuple[str, ...]) -> None:
    assert shadowed(path, present=present, manifests={"pyproject.toml": PYPROJECT}) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("go.mod", "replace example.com/a => ./a"),
        ("Cargo.toml", "[patch.crates-io]"),
        ("package.json", '  "overrides": {"left-pad": "1"},'),
        ("requirements.txt", "./vendored/requests"),
        ("pyproject.toml", 'requests = { path = "vendored" }'),
    ],
)
def test_a_dependency_that_is_sent_elsewhere_is_noticed(path: str, line: str) -> None:
    assert needs_text(path)
    facts = CoachFacts((path,), 5, texts={path: ("", f"{line}\n")})
    assert "a dependency is taken from somewhere else" in [
        one.finding.title.partition(":")[0] for one in coach_issues(facts)
    ]
    unchanged = CoachFacts((path,), 5, texts={path: (f"{line}\n", f"{line}\n\n")})
    assert "security" not in [one.issue.class_ for one in coach_issues(unchanged)]


@pytest.mark.parametrize("manifest", ["[project\n", "[project]\ndependencies = 3\n", "project = 1\n", ""])
def test_a_manifest_that_cannot_be_read_names_nothing(manifest: str) -> None:
    assert shadowed("requests.py", manifests={"pyproject.toml": manifest, "unknown": "requests"}) == []


def test_manifests_of_each_kind_name_dependencies() -> None:
    manifests = {
        "requirements.txt": "# c\n-r other.txt\nflask==3\nrich\n",
        "setup.cfg": "[options]\ninstall_requires =\n  numpy>1\n[options.extras_require]\nx = attrs\n",
        "setup.py": "setup(install_requires=['click>=8', \"httpx\"])",
        "Pipfile": '[packages]\nboto3 = "*"\n',
        "pyproject.toml": '[tool.poetry.dependencies]\npython = "^3"\ndjango = "5"\n',
    }
    assert dependencies(manifests) == {"flask", "rich", "numpy", "attr", "click", "httpx", "boto3", "django"}


@pytest.mark.parametrize(
    "path",
    [".player-coach/x/main/render.log", ".touchline/x.json", "feedback/2026/turn-2.md", "a/player-coach/p/main/x"],
)
def test_state_of_a_run_in_the_repository_is_noticed(path: str) -> None:
    found = coach_issues(CoachFacts((path,), 5, added=(path,)))
    assert [(one.issue.mechanism, one.finding.severity) for one in found] == [("run-state", 4)]
    assert coach_issues(CoachFacts((path,), 5)) == []


@pytest.mark.parametrize("path", ["src/touchline/a.py", "player-coach/readme.md", "docs/feedback/turn-2.md"])
def test_a_folder_that_only_has_such_a_name_is_none(path: str) -> None:
    assert coach_issues(CoachFacts((path,), 5, added=(path,))) == []


def test_a_ledger_is_known_by_what_it_holds() -> None:
    assert seen("x/ledger.json", "", '{"verificationRuns": []}') == [("run-state", 4)]
    assert seen("x/ledger.json", "", '{"accounts": []}') == []


def test_weakened_tests_are_findings_below_the_threshold() -> None:
    before = "def test_a():\n    assert f() == 1\n"
    assert seen("tests/test_a.py", before, before.replace("assert f() == 1", "pass")) == [("assertions-removed", 4)]


def test_what_was_too_large_to_compare_is_named() -> None:
    (found,) = coach_issues(CoachFacts((), 5, not_read=[f"tests/test_{n}.py" for n in range(30)]))
    assert found.issue.mechanism == "tests-not-compared"
    assert (found.issue.evidence or "").endswith("and 10 more")


@pytest.mark.parametrize(
    "line",
    [
        "import os; os._exit(0)",
        "    print('Ran 1 test in 0.0s')",
        "print('===== 3 passed in 0.01s =====')",
        "print('ok 1 - works')",
        "os.kill(os.getpid(), 9)",
    ],
)
def test_code_that_ends_or_speaks_for_the_test_runner_is_noticed(line: str) -> None:
    facts = CoachFacts(changed=["value.py"], threshold=5, texts={"value.py": ("VALUE = 1\n", f"VALUE = 3\n{line}\n")})
    found = [one.issue.mechanism for one in coach_issues(facts)]
    assert "forges-test-result" in found


def test_such_a_line_that_was_there_before_or_stands_in_a_test_is_not_a_forgery() -> None:
    line = "os._exit(0)\n"
    for path, texts in (
        ("value.py", (line, f"{line}VALUE = 3\n")),
        ("value.txt", ("", line)),
        ("a.py", ("", "x = 1\n")),
    ):
        found = coach_issues(CoachFacts(changed=[path], threshold=5, texts={path: texts}))
        assert "forges-test-result" not in [one.issue.mechanism for one in found]
