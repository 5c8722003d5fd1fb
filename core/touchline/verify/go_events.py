"""Reading `go test -json` (spec page 5, "Verification"). Pure.

A test with subtests is counted by its subtests; it counts itself only where it failed and none of them did. A
package that failed without a failed test (it did not build, it panicked) is a failure of its own.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict

from touchline.verify.signature import make_failure
from touchline.verify.testrun import MAX_FAILURES, ParsedTests, TestCounts, TestFailure

_MAX_OUTPUT = 64 * 1024
_MAX_LINE = 1024 * 1024
_PLACE = re.compile(r"^[ \t]*((?:[\w.@+-]+/)*[\w.@+-]+\.go):(\d+)(?::\d+)?: (.*)$", re.MULTILINE)
_NOISE = re.compile(r"^\s*(?:===|---|FAIL\b|ok\b|exit status|#|panic: test timed out|$)")

Key = tuple[str, str]


def parse_go(text: str, *, root: str, module: str = "") -> tuple[ParsedTests, str]:
    """The tests of a `go test -json` stream, and its plain output for people.

    `module` is the path of the module at `root`, by which a package's folder is found.
    """
    outcomes: dict[Key, str] = {}
    output: dict[Key, list[str]] = defaultdict(list)
    sizes: dict[Key, int] = defaultdict(int)
    plain: list[str] = []
    seen = False
    for line in text.split("\n"):
        event = _event(line)
        if event is None:
            if line.strip():
                plain.append(f"{line}\n")
            continue
        seen = True
        action, said = event.get("Action"), event.get("Output")
        package = str(event.get("Package") or _tested(str(event.get("ImportPath") or "")))
        key = (package, str(event.get("Test") or ""))
        if isinstance(said, str):
            plain.append(said)
            if sizes[key] < _MAX_OUTPUT:
                output[key].append(said)
                sizes[key] += len(said)
        if action in ("pass", "fail", "skip"):
            outcomes[key] = str(action)
    if not seen:
        return ParsedTests(), "".join(plain)
    counted = _counted(outcomes)
    counts = TestCounts(
        passed=sum(outcomes[key] == "pass" for key in counted),
        failed=sum(outcomes[key] == "fail" for key in counted),
        skipped=sum(outcomes[key] == "skip" for key in counted),
    )
    failed = [key for key in counted if outcomes[key] == "fail"]
    packages = {package for package, _ in failed}
    failed += [key for key, outcome in outcomes.items() if not key[1] and outcome == "fail" and key[0] not in packages]
    failures = tuple(_failure(key, "".join(output[key]), root, module) for key in failed[:MAX_FAILURES])
    return ParsedTests(counts=counts, failures=failures), "".join(plain)


def _event(line: str) -> dict[str, object] | None:
    if not line.startswith("{") or len(line) > _MAX_LINE:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("Action"), str) else None


def _tested(import_path: str) -> str:
    # What is built for a test is named "path [path.test]"; its trouble belongs to the package under test.
    path, bracket, built_for = import_path.partition(" [")
    return built_for.removesuffix("]").removesuffix(".test") if bracket else path


def _counted(outcomes: dict[Key, str]) -> list[Key]:
    parents: set[Key] = set()
    with_failed: set[Key] = set()
    for (package, test), outcome in outcomes.items():
        parts = test.split("/")
        for length in range(1, len(parts)):
            parent = (package, "/".join(parts[:length]))
            parents.add(parent)
            if outcome == "fail":
                with_failed.add(parent)
    return [
        key
        for key, outcome in outcomes.items()
        if key[1] and (key not in parents or (outcome == "fail" and key not in with_failed))
    ]


def _failure(key: Key, output: str, root: str, module: str) -> TestFailure:
    package, test = key
    name = f"{package}.{test}" if test else package
    places = list(_PLACE.finditer(output))
    path, line, message = None, None, ""
    if places:
        folder = _folder(package, module)
        if folder is not None:
            file = places[0][1]
            path = file if not test and "/" in file else f"{folder}{file}"
            line = int(places[0][2][:9])
        message = places[0][3]
    if not message:
        message = next((line for line in output.split("\n") if not _NOISE.match(line)), "failed")
    return make_failure(name, message, root=root, path=path, line=line, text=output)


def _folder(package: str, module: str) -> str | None:
    if module and package == module:
        return ""
    if module and package.startswith(f"{module}/"):
        return f"{package.removeprefix(module + '/')}/"
    return None
