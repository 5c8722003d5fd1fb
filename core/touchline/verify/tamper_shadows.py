"""Whether a change puts something in place of a dependency or the standard library (spec page 5). Pure.

A module that stands where Python looks before its libraries, a package under `node_modules`, a manifest that sends a
dependency's name elsewhere. Modules inside a package shadow nothing. What only runs because of its name, or takes the
place of the test runner, blocks: no plan asks for it.
"""

from __future__ import annotations

import configparser
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from touchline.git.quoting import quote_path
from touchline.verify.tamper_tests import MAX_TOLD

_REDIRECTING = frozenset({"go.mod", "Cargo.toml", "package.json", "pyproject.toml", "requirements.txt"})
_REDIRECTS = re.compile(
    r"^\s*replace\b|=>|^\s*\[patch|\"(?:overrides|resolutions)\"\s*:|\"(?:file|link|portal):|"
    r"\bpath\s*=\s*[\"']|^\s*(?:-e\s+)?\.{1,2}/|@\s*file:"
)
_SOURCE_ROOTS = ("", "src", "lib", "python")
_TEST_FOLDERS = ("test", "tests", "spec", "specs", "e2e")
_RUN_BY_NAME = frozenset({"sitecustomize", "usercustomize"})
_TEST_RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose", "nose2", "pluggy", "coverage", "doctest"})
_STANDARD = (sys.stdlib_module_names | {"sitecustomize", "usercustomize"}) - {"test", "this", "antigravity"}
_MODULE_OF = {
    "pyyaml": "yaml",
    "beautifulsoup4": "bs4",
    "pillow": "PIL",
    "scikit-learn": "sklearn",
    "python-dateutil": "dateutil",
    "opencv-python": "cv2",
    "attrs": "attr",
    "pyjwt": "jwt",
    "protobuf": "google",
    "gitpython": "git",
    "pycryptodome": "Crypto",
}


@dataclass(frozen=True, slots=True)
class Shadow:
    """One thing that stands in the place of another."""

    path: str
    what: str
    evidence: str
    blocks: bool = False


def shadows(
    added: Sequence[str],
    texts: Mapping[str, tuple[str, str]],
    *,
    present: Collection[str],
    manifests: Mapping[str, str],
) -> list[Shadow]:
    """What `added` paths shadow, and what changed manifests redirect; `present` are all paths of the tree now."""
    names = dependencies(manifests)
    found = []
    for path in added:
        module = _module(path, present)
        if module in _RUN_BY_NAME or path.endswith(".pth"):
            found.append(Shadow(path, "a file that Python runs at every start", path, blocks=True))
        elif module in _TEST_RUNNERS:
            found.append(Shadow(path, f"a module in place of the test runner's own {module}", path, blocks=True))
        elif module in _STANDARD:
            found.append(Shadow(path, f"a module in place of the standard library's {module}", path))
        elif module in names:
            found.append(Shadow(path, f"a module in place of the dependency {module}", path))
        elif package := _vendored(path):
            found.append(Shadow(path, f"a package in place of the dependency {package}", path))
    return _once(found) + _redirects(texts)


def dependencies(manifests: Mapping[str, str]) -> frozenset[str]:
    """The module names that the manifests lead one to expect from outside; what cannot be read names none."""
    found: set[str] = set()
    for path, text in manifests.items():
        try:
            found.update(_READERS.get(path, _no_names)(text))
        except (ValueError, RecursionError, configparser.Error):
            continue
    return frozenset(_MODULE_OF.get(name.lower(), re.sub(r"[.-]", "_", name)) for name in found) - {"python"}


def _of_lines(lines: Iterable[object]) -> Iterator[str]:
    """The names at the beginning of requirement lines."""
    for line in lines:
        if isinstance(line, str) and (match := re.match(r"\s*([A-Za-z][A-Za-z0-9._-]*)", line)):
            yield match[1]


def _of_pyproject(text: str) -> Iterator[str]:
    value = tomllib.loads(text)
    project, tool = _table(value, "project"), _table(value, "tool")
    yield from _of_lines(_list(project.get("dependencies")))
    for groups in (_table(project, "optional-dependencies"), _table(value, "dependency-groups")):
        for group in groups.values():
            yield from _of_lines(_list(group))
    poetry = _table(tool, "poetry")
    yield from _table(poetry, "dependencies")
    for group in _table(poetry, "group").values():
        yield from _table(group, "dependencies") if isinstance(group, dict) else ()


def _of_pipfile(text: str) -> Iterator[str]:
    value = tomllib.loads(text)
    yield from (*_table(value, "packages"), *_table(value, "dev-packages"))


def _of_setup_cfg(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    wanted = [("options", "install_requires"), ("options", "tests_require")]
    if parser.has_section("options.extras_require"):
        wanted += [("options.extras_require", name) for name in parser["options.extras_require"]]
    for section, name in wanted:
        yield from _of_lines(parser.get(section, name, fallback="").splitlines())


def _of_requirements(text: str) -> Iterator[str]:
    return _of_lines(line for line in text.splitlines() if not line.lstrip().startswith(("#", "-")))


def _of_setup_py(text: str) -> Iterator[str]:
    for block in re.findall(r"(?:install|tests|extras)_require\w*\s*=\s*[\[{]([^\]}]*)", text):
        yield from _of_lines(re.findall(r"[\"']([^\"'\n]+)[\"']", block))


def _no_names(text: str) -> Iterator[str]:
    yield from ()


def _table(value: dict[str, object], name: str) -> dict[str, object]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_READERS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "pyproject.toml": _of_pyproject,
    "setup.cfg": _of_setup_cfg,
    "setup.py": _of_setup_py,
    "requirements.txt": _of_requirements,
    "Pipfile": _of_pipfile,
}
MANIFESTS = tuple(_READERS)
"""Files at the root that name dependencies; read at the base."""


def _module(path: str, present: Collection[str]) -> str:
    """The top-level module that a new file makes importable before all others; "" if none."""
    if not path.endswith((".py", ".so", ".pyc")):
        return ""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if stem == "__init__":
        folder, _, stem = folder.rpartition("/")
    # pytest puts a folder of tests on the path, unless it is a package.
    in_tests = folder.rpartition("/")[2] in _TEST_FOLDERS and f"{folder}/__init__.py" not in present
    return stem if folder in _SOURCE_ROOTS or in_tests else ""


def _vendored(path: str) -> str:
    match = re.search(r"(?:^|/)node_modules/((?:@[^/]+/)?[^/]+)/", path)
    return match[1] if match else ""


def _once(found: Sequence[Shadow]) -> list[Shadow]:
    """One row for each thing that is shadowed, at its first file."""
    first: dict[str, Shadow] = {}
    for one in found:
        first.setdefault(one.what, one)
    return list(first.values())


def _redirects(texts: Mapping[str, tuple[str, str]]) -> list[Shadow]:
    found = []
    for path, (before, now) in sorted(texts.items()):
        if path.rpartition("/")[2] not in _REDIRECTING:
            continue
        known = set(before.splitlines())
        lines = [line.strip() for line in now.splitlines() if line not in known and _REDIRECTS.search(line)]
        if lines:
            what = f"a dependency is taken from somewhere else: {quote_path(path)}"
            found.append(Shadow(path, what, "\n".join(lines[:MAX_TOLD])))
    return found
