"""Whether a change took tests away or the force from them (spec page 5; severities: DESIGN.md). Pure.

Compares the tests of a file at the base with those of now, by name. A test that only moved or was renamed is the same
test; what is gone, switched off, lost assertions, or cannot fail any more is told, with the lines that show it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from touchline.git.quoting import quote_path
from touchline.verify.tamper_languages import LANGUAGES, Case, Cases, extension, read_cases
from touchline.verify.tamper_python import read_python

MAX_TOLD = 20
"""Lines of evidence for one finding."""
MAX_CANDIDATES = 50

_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs", "e2e"})
_NAME = re.compile(
    r"test_.*\.py|.*_tests?\.py|tests?\.py|conftest\.py|sitecustomize\.py|usercustomize\.py|.*_test\.go|"
    r".*[._-](?:test|spec|cy)\.[cm]?[jt]sx?|.*(?:Test|Tests|TestCase|IT|Spec)\.(?:java|kt|scala|groovy|cs|swift|php)|"
    r".*_(?:test|spec)\.(?:rb|exs|dart|cc|cpp|cxx|c)|.*\.bats|.*\.rs"
)
_Texts = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Weakening:
    """One way in which the tests of one file have less force than at the base."""

    path: str
    mechanism: str
    what: str
    evidence: str


def is_test_file(path: str) -> bool:
    """Whether the file may hold tests. Rust keeps them beside the code, so any of its files may."""
    *folders, name = path.split("/")
    in_folder = not _FOLDERS.isdisjoint(folders) and extension(name) in LANGUAGES
    return in_folder or _NAME.fullmatch(name) is not None


def weakenings(texts: _Texts) -> list[Weakening]:
    """What the two sides of the changed test files show, by path."""
    sides = {path: (_read(path, before), _read(path, now)) for path, (before, now) in texts.items()}
    pool = _Pool(
        case for before, now in sides.values() for name, case in now.by_name.items() if name not in before.by_name
    )
    found = []
    for path in sorted(sides):
        found += _of_file(path, *sides[path], pool=pool, deleted=not texts[path][1])
    return found


class _Pool:
    """The tests that are new in some file: each may be, once, a test that is gone from another place."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._by_leaf: dict[str, list[Case]] = {}
        self._by_assertion: dict[str, list[Case]] = {}
        self._taken: set[int] = set()
        for case in cases:
            self._by_leaf.setdefault(_leaf(case.name), []).append(case)
            for one in dict.fromkeys(case.assertions):
                self._by_assertion.setdefault(one, []).append(case)

    def take(self, old: Case) -> Case | None:
        """The test that `old` is now, under its name or, under another one, with all of its assertions."""
        wanted = Counter(old.assertions)
        namesakes = self._by_leaf.get(_leaf(old.name), ())
        # Many tests of other things bear the same name: one that moved has kept something of what it asserts.
        found = self._first(case for case in namesakes if not wanted or wanted & Counter(case.assertions))
        if found is None and wanted:
            candidates = self._by_assertion.get(old.assertions[0], ())[:MAX_CANDIDATES]
            found = self._first(case for case in candidates if not wanted - Counter(case.assertions))
        if found is not None:
            self._taken.add(id(found))
        return found

    def _first(self, cases: Iterable[Case]) -> Case | None:
        return next((case for case in cases if id(case) not in self._taken), None)


def _read(path: str, text: str) -> Cases:
    if not text:
        return Cases()
    kind = extension(path)
    if kind == "py":
        return read_python(text)
    language = LANGUAGES.get(kind)
    return read_cases(text, language) if language is not None else Cases()


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def _of_file(path: str, before: Cases, now: Cases, *, pool: _Pool, deleted: bool) -> list[Weakening]:
    gone: list[str] = []
    lost: list[str] = []
    weak: list[str] = []
    skips: list[str] = []
    reworded: list[str] = []
    for name, old in before.by_name.items():
        new = now.by_name.get(name) or pool.take(old)
        if new is None:
            gone.append(name)
            continue
        missing = [*(Counter(old.assertions) - Counter(new.assertions)).elements()]
        fewer = len(new.assertions) < len(old.assertions)
        (lost if fewer else reworded).extend(f"{name}: {one}" for one in missing)
        if new.runs < old.runs:
            lost.append(f"{name}: runs with {new.runs} sets of values instead of {old.runs}")
        weak += [f"{name}: {one}" for one in (Counter(new.weak) - Counter(old.weak)).elements()]
        skips += [f"{name}: {one}" for one in (Counter(new.skips) - Counter(old.skips)).elements()]
    for name, new in now.by_name.items():
        if name not in before.by_name:
            skips += [f"{name}: {one}" for one in new.skips if _leaf(name) in {_leaf(old) for old in gone}]
            weak += [f"{name}: {one}" for one in new.weak]
    skips += (Counter(now.skips) - Counter(before.skips)).elements()
    meddling = [*(Counter(now.meddling) - Counter(before.meddling)).elements()]
    title = "a file of tests was deleted" if deleted else "tests were deleted"
    told = (
        ("tests-deleted", title, gone),
        ("tests-skipped", "tests are switched off", skips),
        ("assertions-removed", "assertions of existing tests were removed", lost),
        ("assertions-changed", "existing tests assert something else than before", reworded),
        ("tests-without-force", "tests that cannot fail", weak),
        ("test-run-interference", "test code that ends the run or changes how it is judged", meddling),
    )
    return [
        Weakening(path, mechanism, f"{what}: {quote_path(path)}", _listed(lines))
        for mechanism, what, lines in told
        if lines
    ]


def _listed(lines: Iterable[str]) -> str:
    shown = list(lines)
    more = [f"and {len(shown) - MAX_TOLD} more"] if len(shown) > MAX_TOLD else []
    return "\n".join([*shown[:MAX_TOLD], *more])
