"""Which files say how a change is checked: CI, tests, coverage, lint, hooks, our own rules (DESIGN.md). Pure.

Of a file that says other things too, only the part on checks counts.
"""

from __future__ import annotations

import configparser
import fnmatch
import json
import re
import tomllib
from collections.abc import Callable, Mapping

WORDS = {
    "ci-configuration": "what CI runs",
    "test-configuration": "how tests are run",
    "coverage-configuration": "how coverage is measured",
    "lint-configuration": "what the linters, type checkers and scanners look for",
    "hook-configuration": "the repository's git hooks",
    "verification-rules": "the rules by which it is verified",
    "agent-instructions": "what agents are told that work or judge here",
}
"""What a change of each kind touches."""

_PATHS: Mapping[str, tuple[str, ...]] = {
    "verification-rules": ("touchline.yaml", "VERIFICATION.md"),
    "ci-configuration": (
        ".github/workflows/*",
        ".github/actions/*",
        ".forgejo/workflows/*",
        ".gitea/workflows/*",
        ".gitlab-ci.y*ml",
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
        ".appveyor.yml",
        "cloudbuild.y*ml",
    ),
    "hook-configuration": (
        ".pre-commit-config.y*ml",
        ".pre-commit-hooks.y*ml",
        ".husky/*",
        ".githooks/*",
        ".git-hooks/*",
        ".hooks/*",
        "lefthook.y*ml",
        ".lefthook.y*ml",
        ".lefthook/*",
        ".overcommit.yml",
        ".lintstagedrc*",
        "lint-staged.config.*",
    ),
    "agent-instructions": (
        ".claude/*",
        ".codex/*",
        ".opencode/*",
        ".grok/*",
        ".cursor/*",
        ".github/copilot-instructions.md",
        ".mcp.json",
        "opencode.json*",
    ),
}
"""From the root of the repository; `*` crosses folders."""

_NAMES: Mapping[str, tuple[str, ...]] = {
    "test-configuration": (
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "noxfile.py",
        "conftest.py",
        "jest.config.*",
        "jest.setup.*",
        "vitest.config.*",
        "vitest.workspace.*",
        "karma.conf.*",
        ".mocharc*",
        "playwright.config.*",
        "cypress.config.*",
        "phpunit.xml*",
        ".rspec",
        "nextest.toml",
        "bunfig.toml",
    ),
    "coverage-configuration": (".coveragerc", ".nycrc*", ".c8rc*", "codecov.y*ml", ".codecov.y*ml", ".simplecov"),
    "lint-configuration": (
        "ruff.toml",
        ".ruff.toml",
        ".flake8",
        "pylintrc",
        ".pylintrc",
        "mypy.ini",
        ".mypy.ini",
        "pyrightconfig.json",
        ".bandit",
        ".eslintrc*",
        ".eslintignore",
        "eslint.config.*",
        "biome.json*",
        "tslint.json",
        ".stylelintrc*",
        ".golangci.y*ml",
        "clippy.toml",
        ".clippy.toml",
        "deny.toml",
        ".rubocop.yml",
        ".rubocop_todo.yml",
        "detekt.y*ml",
        "checkstyle*.xml",
        "phpstan*.neon*",
        "psalm.xml*",
        ".clang-tidy",
        ".shellcheckrc",
        ".semgrep*",
        "sonar-project.properties",
        ".secrets.baseline",
        ".gitleaks.toml",
        ".gitleaksignore",
        ".trivyignore*",
    ),
    "agent-instructions": ("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", ".cursorrules"),
}
"""By file name, in any folder."""

_Section = Mapping[str, object]


def changed_settings(path: str, texts: tuple[str, str] | None) -> tuple[str, ...]:
    """The kinds of checks that a change of the file touches; without its texts a mixed file counts as changed."""
    name = path.rpartition("/")[2]
    found = [kind for kind, patterns in _PATHS.items() if _any(path, patterns)]
    found += [kind for kind, patterns in _NAMES.items() if _any(name, patterns)]
    read = MIXED.get(name)
    if read is not None:
        found += ["test-configuration"] if texts is None else _differing(read, texts)
    return tuple(dict.fromkeys(found))


def _any(text: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


def _differing(read: Callable[[str], _Section], texts: tuple[str, str]) -> list[str]:
    """The kinds whose part differs; a side that cannot be read differs from everything."""
    try:
        before, now = read(texts[0]), read(texts[1])
    except (ValueError, RecursionError, configparser.Error):
        return ["test-configuration"] if texts[0] != texts[1] else []
    return [kind for kind in dict.fromkeys([*before, *now]) if before.get(kind) != now.get(kind)]


_TOOLS = {
    "test-configuration": ("pytest", "tox", "nox", "hatch", "nose", "hypothesis"),
    "coverage-configuration": ("coverage",),
    "lint-configuration": ("ruff", "mypy", "pylint", "flake8", "pyright", "basedpyright", "bandit", "black", "ty"),
}


def _pyproject(text: str) -> _Section:
    tools = tomllib.loads(text).get("tool", {})
    if not isinstance(tools, dict):
        return {"test-configuration": tools}
    return {kind: {name: tools.get(name) for name in names} for kind, names in _TOOLS.items()}


_SCRIPT = re.compile(r"test|spec|check|verify|\bci\b|e2e")
_HOOK_SCRIPTS = ("prepare", "precommit", "pre-commit", "prepush", "pre-push", "husky")


def _package_json(text: str) -> _Section:
    value = json.loads(text or "{}")
    if not isinstance(value, dict):
        return {"test-configuration": value}
    scripts = value.get("scripts")
    scripts = scripts if isinstance(scripts, dict) else {}
    runners = [value.get(name) for name in ("jest", "mocha", "vitest", "ava", "tap")]
    return {
        "test-configuration": ({name: scripts[name] for name in sorted(scripts) if _SCRIPT.search(name)}, runners),
        "coverage-configuration": [value.get("nyc"), value.get("c8"), scripts.get("coverage")],
        "lint-configuration": [
            value.get("eslintConfig"),
            value.get("eslintIgnore"),
            {name: scripts[name] for name in sorted(scripts) if "lint" in name},
        ],
        "hook-configuration": [
            value.get("husky"),
            value.get("lint-staged"),
            value.get("simple-git-hooks"),
            {name: scripts[name] for name in _HOOK_SCRIPTS if name in scripts},
        ],
    }


def _setup_cfg(text: str) -> _Section:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)

    def part(*names: str) -> dict[str, dict[str, str]]:
        return {name: dict(parser[name]) for name in parser.sections() if name.startswith(names)}

    return {
        "test-configuration": part("tool:pytest", "pytest", "tox", "aliases"),
        "coverage-configuration": part("coverage"),
        "lint-configuration": part("flake8", "mypy", "pylint", "pycodestyle", "bandit"),
    }


def _makefile(text: str) -> _Section:
    """The rules whose target names a test or a check, with their recipes."""
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        if not line.startswith(("\t", " ", "#")) and line.strip():
            inside = bool(re.match(r"[^:=]*\b(?:test|tests|check|ci|coverage|lint|verify)\b[^:=]*::?(?!=)", line))
        if inside:
            kept.append(line.rstrip())
    return {"test-configuration": kept}


def _cargo(text: str) -> _Section:
    value = tomllib.loads(text)
    return {
        "test-configuration": [value.get(name) for name in ("test", "bench")],
        "lint-configuration": [value.get("lints"), (value.get("workspace") or {}).get("lints")]
        if isinstance(value.get("workspace") or {}, dict)
        else value.get("workspace"),
    }


MIXED: Mapping[str, Callable[[str], _Section]] = {
    "pyproject.toml": _pyproject,
    "package.json": _package_json,
    "setup.cfg": _setup_cfg,
    "Cargo.toml": _cargo,
    "Makefile": _makefile,
    "GNUmakefile": _makefile,
    "makefile": _makefile,
}
"""File names that say how a change is checked among other things."""
