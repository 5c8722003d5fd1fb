"""Which command runs a project's tests, read from its files (spec page 5, "No configuration at all").

`names` and `read` give the project as it stood before the work being judged, so that this work never chooses the
command. Nothing found is None: said in the verdict, never a pass. Only `detect_in` looks at a disk.
"""

from __future__ import annotations

import configparser
import json
import re
import shutil
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path

from touchline.errors import ProcessError
from touchline.ledger.atomic import read_regular
from touchline.process import run
from touchline.verify.testrun import TestCommand

Read = Callable[[str], str | None]
HasProgram = Callable[[str], bool]

_MAX_FILE_BYTES = 2 * 1024 * 1024
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_NO_TEST_YET = re.compile(r"no test specified", re.IGNORECASE)
_PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py", "tests/conftest.py")
_PYTHON_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini")
_REQUIREMENTS = re.compile(r"(?:dev-|test-)?requirements[\w-]*\.txt")
_PYTEST_WORD = re.compile(r"(?<![\w-])pytest(?![\w])", re.IGNORECASE)
_LOCKED_RUNNERS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile.lock": "pipenv"}
_NODE_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_VENVS = (".venv", "venv")
IMPORT_S = 20.0
_TEST_FOLDERS = ("tests", "test")
_PYTHON_SOURCE = re.compile(r"[^/]+\.py|tests?/(?:test_\w+|\w+_test)\.py")


def detect(names: Collection[str], read: Read, *, has_program: HasProgram) -> TestCommand | None:
    """The test command of a project, None if its files tell none.

    `names` are the entries of its top folder, and of its test folders as `tests/name`; `read` gives a file's text
    by relative path, None if there is no such text; `has_program` tells whether a program (a name, or a path from
    the top folder) can be run.
    """
    for find in (_python, _node, _go, _cargo, _make):
        command = find(names, read, has_program)
        if command is not None:
            return command
    return None


def detect_in(folder: Path, *, path: str | None = None) -> TestCommand | None:
    """The test command of the project in `folder` as it is now; `path` is the PATH to look programs up on.

    A virtual environment's interpreter is named by its full path, so that the same command also runs in a
    throw-away work tree.
    """

    def read(name: str) -> str | None:
        try:
            return read_regular(folder / name, max_bytes=_MAX_FILE_BYTES).decode()
        except (OSError, UnicodeDecodeError):
            return None

    def has_program(name: str) -> bool:
        return shutil.which(str(folder / name) if "/" in name else name, path=path) is not None

    try:
        names = {entry.name for entry in folder.iterdir()}
        for tests in names.intersection(_TEST_FOLDERS):
            if (folder / tests).is_dir():
                names.update(f"{tests}/{entry.name}" for entry in (folder / tests).iterdir())
    except OSError as error:
        raise ProcessError(
            f"cannot look for tests in {folder}: {error.strerror or error}", fix="Check the path."
        ) from error
    command = detect(names, read, has_program=has_program)
    if command is not None and command.argv[1:3] == ("-m", "pytest"):
        command = _with_what_is_installed(command, folder, names, has_program)
    if command is None or "/" not in command.argv[0]:
        return command
    return TestCommand((str(folder.absolute() / command.argv[0]), *command.argv[1:]), command.why)


def _with_what_is_installed(
    command: TestCommand, folder: Path, names: Collection[str], has_program: HasProgram
) -> TestCommand:
    """`command` if its interpreter has pytest; else the program pytest, else unittest: what can really be run."""
    interpreter = command.argv[0]
    program = str(folder / interpreter) if "/" in interpreter else interpreter
    try:
        asked = run([program, "-I", "-c", "import pytest"], cwd=folder, timeout_s=IMPORT_S)
    except ProcessError:
        return command
    if asked.returncode == 0:
        return command
    if has_program("pytest"):
        return TestCommand(("pytest",), f"{command.why}; {interpreter} has no pytest, the program pytest is there")
    where = next((name for name in _TEST_FOLDERS if name in names), None)
    argv = (interpreter, "-m", "unittest", "discover", *(("-s", where) if where else ()))
    return TestCommand(argv, f"{command.why}; but {interpreter} has no pytest")


def _python(names: Collection[str], read: Read, has_program: HasProgram) -> TestCommand | None:
    configured = _pytest_configuration(names, read)
    folder = next((name for name in _TEST_FOLDERS if name in names), None)
    single = next((name for name in sorted(names) if re.fullmatch(r"test_\w+\.py|\w+_test\.py", name)), None)
    is_python = any(name in names for name in _PYTHON_FILES) or any(_PYTHON_SOURCE.fullmatch(name) for name in names)
    if configured:
        return _with_pytest(names, has_program, configured)
    if is_python and (folder or single) and (_mentions_pytest(names, read) or has_program("pytest")):
        return _with_pytest(names, has_program, f"a Python project with {folder or single}")
    if tox := _tox_configuration(names, read):
        return TestCommand(("tox",), tox)
    if is_python and (folder or single):
        argv = [_interpreter(names, has_program), "-m", "unittest", "discover"]
        if folder and read(f"{folder}/__init__.py") is None:
            argv += ["-s", folder]
        return TestCommand(tuple(argv), f"a Python project with {folder or single} and no sign of pytest")
    return None


def _pytest_configuration(names: Collection[str], read: Read) -> str | None:
    for name in _PYTEST_FILES:
        if (name in names or "/" in name) and read(name) is not None:
            return f"{name} is there"
    tool = _toml(read("pyproject.toml") if "pyproject.toml" in names else None).get("tool")
    if isinstance(tool, dict) and "pytest" in tool:
        return "pyproject.toml configures pytest"
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if name in names and _ini(read(name)).has_section(section):
            return f"{name} configures pytest"
    return None


def _tox_configuration(names: Collection[str], read: Read) -> str | None:
    if "tox.toml" in names:
        return "tox.toml is there"
    if "tox.ini" in names and any(
        section == "tox" or section.startswith("testenv") for section in _ini(read("tox.ini")).sections()
    ):
        return "tox.ini configures tox"
    tool = _toml(read("pyproject.toml") if "pyproject.toml" in names else None).get("tool")
    return "pyproject.toml configures tox" if isinstance(tool, dict) and "tox" in tool else None


def _mentions_pytest(names: Collection[str], read: Read) -> bool:
    files = [name for name in names if name in (*_PYTHON_FILES, "Pipfile") or _REQUIREMENTS.fullmatch(name)]
    return any(_PYTEST_WORD.search(read(name) or "") for name in files)


def _with_pytest(names: Collection[str], has_program: HasProgram, why: str) -> TestCommand:
    for lock, runner in _LOCKED_RUNNERS.items():
        if lock in names and has_program(runner):
            return TestCommand((runner, "run", "pytest"), f"{why}, {lock} too")
    return TestCommand((_interpreter(names, has_program), "-m", "pytest"), why)


def _interpreter(names: Collection[str], has_program: HasProgram) -> str:
    for venv in _VENVS:
        if venv in names and has_program(f"{venv}/bin/python"):
            return f"{venv}/bin/python"
    return "python3" if has_program("python3") or not has_program("python") else "python"


def _node(names: Collection[str], read: Read, has_program: HasProgram) -> TestCommand | None:
    if "package.json" not in names:
        return None
    try:
        package = json.loads(read("package.json") or "")
    except (ValueError, RecursionError):
        return None
    scripts = package.get("scripts") if isinstance(package, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(script, str) or not script.strip() or _NO_TEST_YET.search(script):
        return None
    manager = next(
        (program for lock, program in _NODE_MANAGERS.items() if lock in names and has_program(program)), "npm"
    )
    argv = ("bun", "run", "test") if manager == "bun" else (manager, "test")
    return TestCommand(argv, "package.json has a test script")


def _go(names: Collection[str], read: Read, has_program: HasProgram) -> TestCommand | None:
    return TestCommand(("go", "test", "./..."), "go.mod is there") if "go.mod" in names else None


def _cargo(names: Collection[str], read: Read, has_program: HasProgram) -> TestCommand | None:
    return TestCommand(("cargo", "test"), "Cargo.toml is there") if "Cargo.toml" in names else None


def _make(names: Collection[str], read: Read, has_program: HasProgram) -> TestCommand | None:
    for name in _MAKEFILES:  # the order in which make looks
        if name in names:
            has_target = any(_is_test_rule(line) for line in (read(name) or "").split("\n"))
            return TestCommand(("make", "test"), f"{name} has a test target") if has_target else None
    return None


def _is_test_rule(line: str) -> bool:
    targets, colon, rest = line.partition(":")
    if not colon or line[:1] in ("\t", " ", "#") or "=" in targets or "#" in targets:
        return False
    return "test" in targets.split() and not rest.lstrip(":").startswith("=")


def _toml(text: str | None) -> dict[str, object]:
    try:
        return tomllib.loads(text or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _ini(text: str | None) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return configparser.RawConfigParser()
    return parser
