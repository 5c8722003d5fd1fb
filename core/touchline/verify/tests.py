"""Running the project's tests and judging what came of it (spec pages 4 and 5).

The exit status always counts, and so does every number that is known: failures with exit status 0 are failures,
no test run or all skipped is no pass. What could not be run at all is BLOCKED with its reason.
"""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from touchline.errors import ProcessError
from touchline.ledger.atomic import read_regular
from touchline.process import Completed, run
from touchline.process.cancel import Cancellation
from touchline.state import make_private_folder
from touchline.verify.go_events import parse_go
from touchline.verify.junit import MAX_XML_BYTES, parse_junit
from touchline.verify.signature import clean_text
from touchline.verify.summaries import parse_summaries
from touchline.verify.testrun import ParsedTests, TestCommand, TestCounts, TestsResult, TestsStatus

MAX_OUTPUT_BYTES = 16 * 1024 * 1024
MAX_TAIL = 4000
"""Code points of the output that go into a report; the whole is kept at `output_path`."""

_PYTEST = frozenset({"pytest", "py.test"})
_RUNNERS = frozenset({"uv", "poetry", "pdm", "pipenv", "hatch", "rye", "pixi"})
_PYTHON = re.compile(r"python(?:[23](?:\.[0-9]+)?)?|pypy3?")
_MODULE = re.compile(r"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
_PYTEST_USAGE_ERROR = 4
_SHELL_NOT_STARTED = {126: "could not be run", 127: "was not found"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a test run amounts to."""

    status: TestsStatus
    reason: str
    shrunk: tuple[str, ...] = ()


def run_tests(
    command: TestCommand,
    *,
    cwd: Path,
    timeout_s: float,
    output_path: Path,
    env: Mapping[str, str],
    run_id: str,
    cancel: Cancellation | None = None,
    baseline: TestCounts | None = None,
) -> TestsResult:
    """Run `command` in `cwd`, its whole output kept at `output_path`, and judge it against `baseline`.

    `env` is the cleaned environment. Whatever the command does is a value; nothing is raised for it.
    """

    def once(argv: Sequence[str], environment: Mapping[str, str]) -> Completed:
        return run(
            argv,
            cwd=cwd,
            env=environment,
            timeout_s=timeout_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
            keep="tail",
            output_path=output_path,
            supervised=True,
            run_id=run_id,
            cancel=cancel,
        )

    pytest, go = is_pytest(command.argv), is_go_test(command.argv)
    xml = output_path.with_name(f"{output_path.name}.junit.xml")
    try:
        make_private_folder(output_path.parent)
        with suppress(FileNotFoundError):
            xml.unlink()
        with_xml = not any(word.startswith("--junit") for word in command.argv)
        completed = once(with_json(command.argv) if go else command.argv, with_junit(env, xml) if pytest else env)
        if pytest and completed.returncode == _PYTEST_USAGE_ERROR and b"--junitxml" in completed.stderr:
            # The project switched that plugin off: its tests still run, counted by their closing line.
            completed = once(command.argv, env)
            with_xml = False
    except ProcessError as error:
        return _never_ran(command, f"{error.what}. {error.fix}", output_path)
    except OSError as error:
        return _never_ran(command, f"no output can be kept at {output_path}: {error.strerror}", output_path)

    root = str(cwd.absolute())
    stdout, stderr = _text(completed.stdout), _text(completed.stderr)
    parsed: ParsedTests | None = None
    if pytest:
        parsed = _read_junit(xml, root)
        if parsed is None and with_xml and completed.returncode == 0:
            # It was cut off before its report; a closing line in its output could be anybody's.
            parsed = ParsedTests()
    elif go and not completed.truncated:
        parsed, stdout = parse_go(stdout, root=root, module=_go_module(cwd))
    if parsed is None:
        parsed = parse_summaries(f"{stdout}\n{stderr}", root=root)
    verdict = judge(completed, parsed, timeout_s=timeout_s, baseline=baseline)
    return TestsResult(
        status=verdict.status,
        reason=verdict.reason,
        command=command,
        counts=parsed.counts,
        failures=parsed.failures if verdict.status == "FAILED" else (),
        shrunk=verdict.shrunk,
        tail=_tail(stdout, stderr),
        returncode=completed.returncode,
        duration_s=completed.duration_s,
        output_path=output_path,
    )


def judge(
    completed: Completed, parsed: ParsedTests, *, timeout_s: float, baseline: TestCounts | None = None
) -> Verdict:
    """The verdict on an ended test run. Pure."""
    if completed.ending in ("wall", "idle", "grace"):
        return Verdict("BLOCKED", f"the tests did not end within {timeout_s:g} s and were stopped")
    if completed.ending == "cancelled":
        return Verdict("BLOCKED", "the run was cancelled while the tests ran")
    code = completed.returncode
    if completed.ending != "exited" or code is None:
        return Verdict("BLOCKED", "how the tests ended is not known")
    if code in _SHELL_NOT_STARTED and parsed.counts is None:
        reason = f"a program that the tests need {_SHELL_NOT_STARTED[code]} (exit status {code})"
        return Verdict("BLOCKED", reason)
    counts = parsed.counts
    shrunk = shrinkage(counts, baseline)
    if code != 0:
        return Verdict("FAILED", _failed_words(code, counts), shrunk)
    if counts is None and baseline is not None and baseline.total:
        # The same command counted its tests at the base: something ended it before it could, or silenced it.
        reason = f"exit status 0, but it no longer tells how many tests ran; at the base it told {baseline.total}"
        return Verdict("FAILED", reason, shrunk)
    if counts is None:
        return Verdict("PASSED", "exit status 0; the number of tests is unknown", shrunk)
    if counts.failed:
        return Verdict("FAILED", f"{counts}, although the exit status is 0", shrunk)
    if counts.ran == 0:
        reason = f"no test ran: all {counts.skipped} were skipped" if counts.skipped else "no test ran"
        return Verdict("FAILED", reason, shrunk)
    return Verdict("PASSED", str(counts), shrunk)


def shrinkage(counts: TestCounts | None, baseline: TestCounts | None) -> tuple[str, ...]:
    """In words, how there is less testing than at the base; empty when there is not, or the base is unknown."""
    if baseline is None:
        return ()
    if counts is None:
        if baseline.total == 0:
            return ()
        return (f"the number of tests is no longer known; there were {baseline.total} at the base",)
    found = []
    if counts.total < baseline.total:
        found.append(f"there are {counts.total} tests; there were {baseline.total} at the base")
    if counts.skipped > baseline.skipped:
        found.append(f"{counts.skipped} tests are skipped; there were {baseline.skipped} at the base")
    return tuple(found)


def is_pytest(argv: Sequence[str]) -> bool:
    """Whether `argv` runs pytest itself, directly, as a module, or behind a runner of virtual environments."""
    words = [PurePosixPath(word).name for word in argv]
    if not words:
        return False
    if words[0] in _RUNNERS and "run" in words[1:]:
        return any(word in _PYTEST for word in words[words.index("run") + 1 :])
    is_module = bool(_PYTHON.fullmatch(words[0])) and list(argv[1:3]) in (["-m", "pytest"], ["-m", "py.test"])
    return words[0] in _PYTEST or is_module


def is_go_test(argv: Sequence[str]) -> bool:
    """Whether `argv` is `go test` and nothing else around it."""
    return len(argv) >= 2 and PurePosixPath(argv[0]).name == "go" and argv[1] == "test"


def with_json(argv: Sequence[str]) -> tuple[str, ...]:
    """`go test` asked for events."""
    return tuple(argv) if "-json" in argv else (*argv[:2], "-json", *argv[2:])


def with_junit(env: Mapping[str, str], xml: Path) -> dict[str, str]:
    """`env` with a report asked of pytest; the older of its formats also names each test's file."""
    ours = f"--junitxml={shlex.quote(str(xml.absolute()))} -o junit_family=xunit1"
    theirs = env.get("PYTEST_ADDOPTS", "")
    return {**env, "PYTEST_ADDOPTS": f"{theirs} {ours}".strip()}


def _failed_words(code: int, counts: TestCounts | None) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"the tests were ended by {signal.Signals(-code).name}"
        return f"the tests were ended by signal {-code}"
    if counts is None:
        return f"exit status {code}; the number of tests is unknown"
    if counts.failed == 0:
        nothing = "no test ran" if counts.ran == 0 else str(counts)
        return f"{nothing}, and exit status {code}"
    return f"{counts} (exit status {code})"


def _never_ran(command: TestCommand, reason: str, output_path: Path) -> TestsResult:
    return TestsResult(
        status="BLOCKED",
        reason=reason.strip(),
        command=command,
        counts=None,
        failures=(),
        shrunk=(),
        tail="",
        returncode=None,
        duration_s=0.0,
        output_path=output_path,
    )


def _read_junit(xml: Path, root: str) -> ParsedTests | None:
    try:
        return parse_junit(read_regular(xml, max_bytes=MAX_XML_BYTES), root=root)
    except OSError:  # not written, or replaced by something that is no report: the text output remains
        return None


def _go_module(cwd: Path) -> str:
    try:
        found = _MODULE.search(read_regular(cwd / "go.mod", max_bytes=MAX_OUTPUT_BYTES).decode("utf-8", "replace"))
    except OSError:
        return ""
    return found[1] if found else ""


def _text(data: bytes) -> str:
    return clean_text(data.decode("utf-8", "replace"))


def _tail(stdout: str, stderr: str) -> str:
    parts = [text.strip("\n")[-MAX_TAIL // 2 :] for text in (stdout, stderr) if text.strip()]
    return "\n[stderr]\n".join(parts)
