"""Running a project's real tests and judging them (spec pages 4 and 5)."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from touchline.process import Completed
from touchline.process.cancel import Cancellation
from touchline.process.environment import clean_environment
from touchline.verify.testrun import ParsedTests, TestCommand, TestCounts, TestsResult
from touchline.verify.tests import is_go_test, is_pytest, judge, run_tests, shrinkage, with_json, with_junit

Run = Callable[..., TestsResult]
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    return folder


@pytest.fixture
def run_in(project: Path, tmp_path: Path) -> Run:
    """Run a command in the project with a bounded, cleaned environment."""

    def run(*argv: str, timeout_s: float = 60, env: dict[str, str] | None = None, **rest: object) -> TestsResult:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return run_tests(
            TestCommand(argv, "configured"),
            cwd=project,
            timeout_s=timeout_s,
            output_path=tmp_path / "out put" / "tests-1.log",
            env=clean_environment(kept, add=env),
            run_id="run-1",
            **rest,  # type: ignore[arg-type]
        )

    return run


def test_a_passing_suite_is_counted_and_leaves_nothing_in_the_project(project: Path, run_in: Run) -> None:
    (project / "test_a.py").write_text("def test_one(): pass\ndef test_two(): pass\n")
    result = run_in(*PYTEST, env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert (result.status, result.counts, result.failures) == ("PASSED", TestCounts(passed=2), ())
    assert result.reason == "2 passed, 0 failed, 0 skipped"
    assert [path.name for path in project.iterdir()] == ["test_a.py"]
    assert b"2 passed" in result.output_path.read_bytes()
    assert "2 passed" in result.tail


def test_failures_have_names_places_and_signatures_that_the_next_run_repeats(project: Path, run_in: Run) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_a.py").write_text(
        "import pytest, time, tempfile\n"
        "def test_good(): pass\n"
        "def test_bad():\n"
        "    x = object()\n"
        "    assert x == time.time(), f'{x} in {tempfile.mkdtemp()} at {time.time()}'\n"
        "@pytest.fixture\n"
        "def boom(): raise RuntimeError('no')\n"
        "def test_setup(boom): pass\n"
        "@pytest.mark.skip\n"
        "def test_later(): pass\n"
    )
    first = run_in(*PYTEST)
    assert first.status == "FAILED"
    assert first.returncode == 1
    assert first.counts == TestCounts(passed=1, failed=2, skipped=1)
    assert [(failure.name, failure.path, failure.line) for failure in first.failures] == [
        ("tests.test_a::test_bad", "tests/test_a.py", 5),
        ("tests.test_a::test_setup", "tests/test_a.py", 7),
    ]
    (project / "tests" / "test_a.py").write_text("\n\n" + (project / "tests" / "test_a.py").read_text())
    second = run_in(*PYTEST)
    assert [failure.signature for failure in first.failures] == [failure.signature for failure in second.failures]
    assert [failure.line for failure in second.failures] == [7, 9]


def test_a_module_that_does_not_import_is_a_failure(project: Path, run_in: Run) -> None:
    (project / "test_a.py").write_text("import no_such_module\n")
    result = run_in(*PYTEST)
    assert result.status == "FAILED"
    assert [failure.path for failure in result.failures] == ["test_a.py"]
    assert "no_such_module" in result.failures[0].signature


@pytest.mark.parametrize(
    "content",
    [
        "",
        "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n",
        "import pytest\n@pytest.mark.xfail\ndef test_a(): assert False\n",
        "import pytest\npytest.skip('all', allow_module_level=True)\n",
    ],
)
def test_no_test_or_only_skipped_ones_is_never_a_pass(project: Path, run_in: Run, content: str) -> None:
    (project / "test_a.py").write_text(content)
    result = run_in(*PYTEST)
    assert result.status == "FAILED"
    assert "no test ran" in result.reason


def test_a_conftest_that_makes_failures_exit_with_zero_does_not_pass(project: Path, run_in: Run) -> None:
    (project / "conftest.py").write_text("def pytest_sessionfinish(session): session.exitstatus = 0\n")
    (project / "test_a.py").write_text("def test_a(): assert False\n")
    result = run_in(*PYTEST)
    assert result.returncode == 0
    assert result.status == "FAILED"
    assert result.reason == "0 passed, 1 failed, 0 skipped, although the exit status is 0"


def test_the_project_s_own_pytest_options_stay_in_force(project: Path, run_in: Run) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = -k one\n")
    (project / "test_a.py").write_text("def test_one(): pass\ndef test_two(): pass\ndef test_one_b(): pass\n")
    result = run_in(*PYTEST, env={"PYTEST_ADDOPTS": "--deselect test_a.py::test_one_b"})
    assert result.counts == TestCounts(passed=1)


def test_a_project_without_the_report_plugin_is_counted_by_its_closing_line(project: Path, run_in: Run) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p no:junitxml\n")
    (project / "test_a.py").write_text("def test_one(): pass\ndef test_two(): assert 0\n")
    result = run_in(*PYTEST)
    assert (result.status, result.counts) == ("FAILED", TestCounts(passed=1, failed=1))
    assert [failure.name for failure in result.failures] == ["test_a.py::test_two"]


def test_a_report_that_the_tests_replace_is_not_trusted_to_be_a_file(project: Path, run_in: Run) -> None:
    (project / "conftest.py").write_text(
        "import os\n"
        "def pytest_unconfigure(config):\n"
        "    path = config.option.xmlpath\n"
        "    os.unlink(path)\n"
        "    os.mkfifo(path)\n"
    )
    (project / "test_a.py").write_text("def test_one(): pass\n")
    began = time.monotonic()
    result = run_in(*PYTEST)
    assert time.monotonic() - began < 30
    # What the output claims could be anybody's: nothing is known, which never passes where the base was counted.
    assert (result.status, result.counts) == ("PASSED", None)
    assert run_in(*PYTEST, baseline=TestCounts(passed=1)).status == "FAILED"


def test_unittest_is_counted_from_what_it_prints(project: Path, run_in: Run) -> None:
    (project / "test_a.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\n"
        "    def test_b(self): pass\n    @unittest.skip('x')\n    def test_c(self): pass\n"
    )
    result = run_in(sys.executable, "-m", "unittest")
    assert (result.status, result.counts) == ("FAILED", TestCounts(passed=1, failed=1, skipped=1))
    assert [(failure.path, failure.line) for failure in result.failures] == [("test_a.py", 3)]


@pytest.mark.skipif(shutil.which("node") is None, reason="NOT TESTED: node is not installed")
def test_node_s_own_tests_are_counted(project: Path, run_in: Run) -> None:
    (project / "a.test.js").write_text(
        "const test = require('node:test'); const assert = require('node:assert');\n"
        "test('adds', () => {});\n"
        "test('fails', () => { assert.strictEqual(1, 2); });\n"
        "test('later', { skip: true }, () => {});\n"
    )
    result = run_in("node", "--test", "--test-reporter=tap")
    assert (result.status, result.counts) == ("FAILED", TestCounts(passed=1, failed=1, skipped=1))
    assert [(failure.name, failure.path) for failure in result.failures] == [("fails", "a.test.js")]


@pytest.mark.skipif(shutil.which("npm") is None, reason="NOT TESTED: npm is not installed")
def test_a_test_program_that_is_missing_behind_npm_is_blocked(project: Path, run_in: Run) -> None:
    (project / "package.json").write_text('{"name": "x", "scripts": {"test": "no-such-runner --all"}}')
    result = run_in("npm", "test", env={"npm_config_update_notifier": "false"})
    assert result.status == "BLOCKED"
    assert result.reason == "a program that the tests need was not found (exit status 127)"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="NOT TESTED: cargo is not installed")
def test_cargo_is_counted(project: Path, run_in: Run) -> None:
    (project / "src").mkdir()
    (project / "Cargo.toml").write_text('[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n')
    (project / "src" / "lib.rs").write_text(
        "#[cfg(test)]\nmod tests {\n  #[test] fn ok() {}\n  #[test] fn bad() { let a = 1; assert_eq!(a, 2); }\n}\n"
    )
    env = {"CARGO_HOME": str(project / "cargo-home")}
    toolchains = Path(pwd.getpwuid(os.getuid()).pw_dir, ".rustup")
    if toolchains.is_dir():  # a part of the installed program, not of anybody's configuration
        env["RUSTUP_HOME"] = str(toolchains)
    version = subprocess.run(["cargo", "--version"], env=os.environ | env, capture_output=True, timeout=60, check=False)
    if version.returncode != 0:
        pytest.skip("NOT TESTED: cargo is installed without a toolchain")
    result = run_in("cargo", "test", "--offline", timeout_s=120, env=env)
    assert (result.status, result.counts) == ("FAILED", TestCounts(passed=1, failed=1))
    assert [(failure.name, failure.path, failure.line) for failure in result.failures] == [
        ("tests::bad", "src/lib.rs", 4)
    ]


def test_a_command_that_tells_no_number_passes_with_the_count_unknown(run_in: Run) -> None:
    result = run_in("sh", "-c", "echo fine")
    assert (result.status, result.counts) == ("PASSED", None)
    assert result.reason == "exit status 0; the number of tests is unknown"
    assert result.tail == "fine"


def test_an_exit_status_counts_whatever_the_text_says(run_in: Run) -> None:
    result = run_in("sh", "-c", "echo '5 passed in 0.1s'; exit 3")
    assert (result.status, result.returncode) == ("FAILED", 3)
    assert result.reason == "5 passed, 0 failed, 0 skipped, and exit status 3"


def test_a_test_process_that_kills_itself_failed(run_in: Run) -> None:
    result = run_in("sh", "-c", "kill -SEGV $$")
    assert result.status == "FAILED"
    assert result.reason in ("the tests were ended by SIGSEGV", "exit status 139; the number of tests is unknown")


def test_tests_that_do_not_end_are_stopped_with_all_their_children_and_blocked(project: Path, run_in: Run) -> None:
    began = time.monotonic()
    result = run_in("sh", "-c", "sleep 60 & echo $! > child; echo begun; wait", timeout_s=1)
    assert time.monotonic() - began < 20
    assert result.status == "BLOCKED"
    assert result.reason == "the tests did not end within 1 s and were stopped"
    assert "begun" in result.tail
    assert not Path("/proc", (project / "child").read_text().strip()).exists()


def test_a_cancelled_run_is_blocked(run_in: Run) -> None:
    cancel = Cancellation()
    cancel.set()
    result = run_in("sh", "-c", "sleep 60", cancel=cancel)
    assert result.status == "BLOCKED"
    assert "cancelled" in result.reason


@pytest.mark.parametrize("argv", [("no-such-program-at-all",), ("./missing.sh",), ("./plain.txt",)])
def test_a_program_that_cannot_be_started_is_blocked_and_named(
    project: Path, run_in: Run, argv: tuple[str, ...]
) -> None:
    (project / "plain.txt").write_text("text")
    result = run_in(*argv)
    assert result.status == "BLOCKED"
    assert argv[0].removeprefix("./") in result.reason
    assert result.counts is None


def test_output_that_cannot_be_kept_is_blocked(project: Path, tmp_path: Path, run_in: Run) -> None:
    (tmp_path / "out put").write_text("a file")
    result = run_in("true")
    assert result.status == "BLOCKED"
    assert "tests-1.log" in result.reason


def test_endless_output_is_bounded_and_the_last_of_it_still_counted(run_in: Run) -> None:
    result = run_in("sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' 'x'; echo; echo '7 passed in 1.00s'")
    assert (result.status, result.counts) == ("PASSED", TestCounts(passed=7))
    assert len(result.tail) <= 5000


def test_the_environment_is_the_one_given_and_stdin_is_empty(run_in: Run) -> None:
    result = run_in("sh", "-c", 'echo "$TOUCHLINE_ASKED-$PYTEST_ADDOPTS"; cat', env={"TOUCHLINE_ASKED": "yes"})
    assert result.tail == "yes-"


def test_less_testing_than_at_the_base_is_noticed(run_in: Run) -> None:
    result = run_in("sh", "-c", "echo '3 passed, 2 skipped in 1.00s'", baseline=TestCounts(passed=6, skipped=1))
    assert result.status == "PASSED"
    assert result.shrunk == (
        "there are 5 tests; there were 7 at the base",
        "2 tests are skipped; there were 1 at the base",
    )


def test_a_command_that_no_longer_counts_its_tests_never_passes(run_in: Run) -> None:
    silent = run_in("true", baseline=TestCounts(passed=6))
    assert silent.status == "FAILED"
    assert silent.reason == "exit status 0, but it no longer tells how many tests ran; at the base it told 6"
    assert silent.shrunk == ("the number of tests is no longer known; there were 6 at the base",)
    assert run_in("true", baseline=None).status == "PASSED"
    assert run_in("true", baseline=TestCounts()).status == "PASSED"


@pytest.mark.parametrize(
    ("counts", "baseline", "number"),
    [
        (TestCounts(5), None, 0),
        (None, None, 0),
        (None, TestCounts(), 0),
        (TestCounts(5), TestCounts(5), 0),
        (TestCounts(6), TestCounts(4, 1), 0),
        (TestCounts(4, 1), TestCounts(5), 0),
        (TestCounts(4, 0, 1), TestCounts(5), 1),
        (TestCounts(4), TestCounts(5), 1),
    ],
)
def test_the_same_or_more_testing_is_no_finding(
    counts: TestCounts | None, baseline: TestCounts | None, number: int
) -> None:
    assert len(shrinkage(counts, baseline)) == number


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("pytest -q", True),
        ("/usr/bin/py.test", True),
        ("python -m pytest tests", True),
        ("/x/.venv/bin/python3.12 -m pytest", True),
        ("uv run --extra dev pytest -q", True),
        ("poetry run pytest", True),
        ("tox", False),
        ("make test", False),
        ("uv pip install pytest", False),
        ("python -m unittest", False),
        ("pytest-watch", False),
        ("", False),
    ],
)
def test_only_pytest_itself_is_asked_for_a_report(argv: str, expected: bool) -> None:
    assert is_pytest(argv.split()) is expected


def test_go_is_asked_for_events_once() -> None:
    assert is_go_test(["go", "test", "./..."])
    assert not is_go_test(["go", "vet"])
    assert not is_go_test(["go"])
    assert with_json(["go", "test", "./..."]) == ("go", "test", "-json", "./...")
    assert with_json(["go", "test", "-json"]) == ("go", "test", "-json")


def test_options_for_pytest_are_added_to_the_user_s(tmp_path: Path) -> None:
    env = with_junit({"A": "1", "PYTEST_ADDOPTS": "-x"}, tmp_path / "a b.xml")
    assert env == {"A": "1", "PYTEST_ADDOPTS": f"-x --junitxml='{tmp_path}/a b.xml' -o junit_family=xunit1"}


@pytest.mark.parametrize("ending", ["wall", "idle", "grace", "cancelled", "lost"])
def test_a_run_that_did_not_end_by_itself_is_never_judged_by_what_it_printed(ending: str) -> None:
    completed = Completed(("x",), 0, b"", b"", ending, 1.0)  # type: ignore[arg-type]
    assert judge(completed, ParsedTests(TestCounts(passed=3)), timeout_s=1).status == "BLOCKED"


def test_an_end_that_nobody_saw_is_blocked() -> None:
    completed = Completed(("x",), None, b"", b"", "exited", 1.0)
    assert judge(completed, ParsedTests(TestCounts(passed=3)), timeout_s=1).status == "BLOCKED"
