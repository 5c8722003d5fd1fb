"""Which test command a project's files ask for (spec page 5, "No configuration at all")."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import ProcessError
from touchline.verify.detect import detect, detect_in

ALL = frozenset({"pytest", "python3", "uv", "poetry", "pnpm", "yarn", "npm", "go", "cargo", "make", "tox"})


def found(files: Mapping[str, str], programs: frozenset[str] = ALL) -> list[str] | None:
    names = {name.partition("/")[0] for name in files}
    command = detect(names, files.get, has_program=programs.__contains__)
    if command is None:
        return None
    assert command.why
    return list(command.argv)


@pytest.mark.parametrize(
    ("files", "argv"),
    [
        ({"pytest.ini": "[pytest]\n"}, "python3 -m pytest"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest"),
        ({"tox.ini": "[pytest]\naddopts = -q\n[testenv]\n"}, "python3 -m pytest"),
        ({"setup.cfg": "[tool:pytest]\n"}, "python3 -m pytest"),
        ({"tests/conftest.py": "", "a.py": ""}, "python3 -m pytest"),
        ({"pyproject.toml": "[project]\nname='x'\n", "tests/test_a.py": ""}, "python3 -m pytest"),
        ({"setup.py": "", "test_a.py": ""}, "python3 -m pytest"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n", "uv.lock": ""}, "uv run pytest"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n", "poetry.lock": ""}, "poetry run pytest"),
        ({"tox.ini": "[tox]\nenvlist = py\n"}, "tox"),
        ({"tox.toml": "", "setup.py": ""}, "tox"),
        ({"pyproject.toml": "[tool.tox]\n"}, "tox"),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, "npm test"),
        ({"package.json": '{"scripts": {"test": "vitest run"}}', "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": '{"scripts": {"test": "vitest run"}}', "bun.lock": ""}, "npm test"),
        ({"go.mod": "module example.test/x\n"}, "go test ./..."),
        ({"Cargo.toml": "[package]\n"}, "cargo test"),
        ({"Makefile": "all:\n\ttrue\ntest: all\n\ttrue\n"}, "make test"),
        ({"Makefile": ".PHONY: test\ncheck test lint:\n\ttrue\n"}, "make test"),
        ({"GNUmakefile": "test::\n\ttrue\n"}, "make test"),
        ({"Makefile": "test:\n", "go.mod": "module x\n"}, "go test ./..."),
        ({"Makefile": "test:\n", "pyproject.toml": "[project]\nname='x'\n"}, "make test"),
        ({"package.json": "{not json", "Makefile": "test:\n"}, "make test"),
        ({"pyproject.toml": "not = [toml", "Makefile": "test:\n"}, "make test"),
    ],
)
def test_a_project_s_files_tell_its_test_command(files: dict[str, str], argv: str) -> None:
    assert found(files) == argv.split()


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "make test\npytest\n"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": '{"scripts": {"test": " "}}'},
        {"package.json": '{"scripts": {"test": 1}}'},
        {"package.json": '{"scripts": []}'},
        {"package.json": "[]"},
        {"package.json": "[" * 100_000},
        {"Makefile": "test := 1\n"},
        {"Makefile": "test ::= 1\n"},
        {"Makefile": "TEST = a\n# test: x\n\ttest: y\nother: test\nlatest:\n"},
        {"pyproject.toml": "[project]\nname='x'\n"},
        {"tox.ini": "no section"},
        {"GNUmakefile": "all:\n", "Makefile": "test:\n"},
    ],
)
def test_without_a_sign_of_tests_there_is_no_command(files: dict[str, str]) -> None:
    assert found(files) is None


def test_what_is_not_installed_is_not_chosen_where_there_is_another_way() -> None:
    files = {"pyproject.toml": "[tool.pytest.ini_options]\n", "uv.lock": ""}
    assert found(files, frozenset({"python3"})) == ["python3", "-m", "pytest"]
    assert found(files, frozenset({"python"})) == ["python", "-m", "pytest"]
    assert found(files, frozenset()) == ["python3", "-m", "pytest"]
    tests = {"pyproject.toml": "[project]\nname='x'\n", "tests/test_a.py": ""}
    assert found(tests, frozenset({"python3"})) == ["python3", "-m", "unittest", "discover", "-s", "tests"]
    package = {**tests, "tests/__init__.py": ""}
    assert found(package, frozenset({"python3"})) == ["python3", "-m", "unittest", "discover"]
    mentioned = {**tests, "requirements-dev.txt": "pytest>=8\n"}
    assert found(mentioned, frozenset({"python3"})) == ["python3", "-m", "pytest"]
    plugin = {**tests, "requirements.txt": "django-pytest-like\n"}
    assert found(plugin, frozenset({"python3"})) == ["python3", "-m", "unittest", "discover", "-s", "tests"]


def test_a_virtual_environment_is_used_by_its_full_path(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    command = detect_in(tmp_path)
    assert command is not None
    assert command.argv == (str(tmp_path / ".venv/bin/python"), "-m", "pytest")


def test_a_folder_on_disk_is_read_without_waiting_for_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    (tmp_path / "Makefile").write_bytes(b"test:\xff\n")
    assert detect_in(tmp_path) is None
    (tmp_path / "Makefile").write_text("test:\n\ttrue\n")
    command = detect_in(tmp_path, path="/nowhere")
    assert command is not None
    assert command.argv == ("make", "test")
    with pytest.raises(ProcessError, match="cannot look for tests"):
        detect_in(tmp_path / "absent")


@given(
    st.dictionaries(
        st.sampled_from(["package.json", "pyproject.toml", "tox.ini", "setup.cfg", "Makefile", "test_a.py"]),
        st.text(max_size=60) | st.sampled_from(["{}", "null", '{"scripts": null}', "[tool]", "tool = 1", "[a]\n[a]"]),
    )
)
def test_no_content_breaks_the_search(files: dict[str, str]) -> None:
    argv = found(files)
    assert argv is None or argv[0] in {"npm", "make", "python3", "tox"}


def test_a_project_whose_only_python_files_are_its_tests_is_a_python_project(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/notes.txt").write_text("no test")
    assert detect_in(tmp_path, path="/nowhere") is None
    (tmp_path / "tests/test_value.py").write_text("import unittest\n")
    command = detect_in(tmp_path, path="/nowhere")
    assert command is not None
    assert command.argv == ("python3", "-m", "unittest", "discover", "-s", "tests")
