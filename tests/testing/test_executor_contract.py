"""The contract kit catches a bad driver, skips what is not declared, and cannot be weakened by overriding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from touchline.testing import SUITE_VERSION, find_cli
from touchline.testing.executors import ExecutorContract
from touchline.testing.repositories import commit_ahead, git, make_repository

GOOD = '''
import json, sys
from touchline.api import *
from touchline.testing import ExecutorContract
import pytest

class Driver:
    """Has no model: says what the script's first step says."""
    name = "mini"
    api_version = API_VERSION
    capabilities = frozenset()

    def __init__(self, model):
        self._model = model

    def check(self):
        return Readiness(True, "1.0")

    def run_turn(self, request, host):
        yield SessionStarted("chosen-by-me")
        with host.start(["cat"], stdin=request.prompt.encode()) as child:
            self._model.seen = "\\n".join(line.text for line in child.lines())
        text = getattr(self._model.steps[0], "text", "")
        yield TextDelta(text)
        yield TurnEnded(text)

    def settle_without_work(self, session_id, text, question):
        return question_or_silent(session_id, text, question)

class Model:
    steps, seen = (), ""
    def play(self, *steps): self.steps = steps
    def prompts(self): return [self.seen] if self.seen else []
    def tool_results(self): return []

class TestMini(ExecutorContract):
    @pytest.fixture
    def model(self): return Model()
    @pytest.fixture
    def executor(self, model): return Driver(model)
'''


def run_suite(folder: Path, source: str, *, keyword: str) -> subprocess.CompletedProcess[str]:
    """Run a third party's test file with pytest, as they would."""
    (folder / "test_mini.py").write_text(source)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", "-k", keyword, "test_mini.py"]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


BASICS = "declares or check_finds or question_that or without_work or large_prompt or guard or builds_no or unchanged"


def test_good_driver_passes_and_what_it_does_not_declare_is_skipped_with_its_name(tmp_path: Path) -> None:
    done = run_suite(tmp_path, GOOD, keyword=f"{BASICS} or unknown_session")
    assert done.returncode == 0, done.stdout
    assert "mini does not declare resume" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "keyword", "told"),
    [
        ("API_VERSION\n    cap", "API_VERSION + 1\n    cap", "declares", "api_version"),
        ('Readiness(True, "1.0")', "Readiness(False)", "check_finds", "installed"),
        ("        yield TurnEnded(text)", "        return", "without_work", "failed"),
        ('SessionStarted("chosen-by-me")', 'SessionStarted("x", "model-x")', "undeclared_shows", "does not declare it"),
        (
            "yield TextDelta(text)",
            "yield UsageReported(1, 1); yield TextDelta(text)",
            "undeclared_shows",
            "does not declare it",
        ),
        ("question_or_silent(session_id, text, question)", "None", "guard", "NoneType"),
        (
            "return question_or_silent(session_id, text, question)",
            'return TurnSettlement("undeclared", False, session_id)',
            "builds_no or guard",
            "settlements come from",
        ),
        ("stdin=request.prompt.encode()", "stdin=b''", "large_prompt", "arrives_whole"),
    ],
)
def test_bad_driver_fails_the_scenario_that_is_meant_for_it(
    tmp_path: Path, old: str, new: str, keyword: str, told: str
) -> None:
    assert old in GOOD
    done = run_suite(tmp_path, GOOD.replace(old, new), keyword=keyword)
    assert done.returncode == 1, done.stdout
    assert told in done.stdout


def test_overriding_a_scenario_fails_the_suite(tmp_path: Path) -> None:
    weaker = GOOD + "\n    def test_silent_stream_is_stalled(self): pass\n"
    done = run_suite(tmp_path, weaker, keyword="unchanged")
    assert done.returncode == 1
    assert "overridden without xfail(reason=...): test_silent_stream_is_stalled" in done.stdout


def test_deleting_a_scenario_fails_the_suite(tmp_path: Path) -> None:
    done = run_suite(tmp_path, GOOD + "\n    test_silent_stream_is_stalled = None\n", keyword="unchanged")
    assert done.returncode == 1


def test_overriding_a_scenario_as_a_known_failure_with_its_reason_is_allowed(tmp_path: Path) -> None:
    honest = (
        GOOD + '\n    @pytest.mark.xfail(reason="no streams")\n    def test_silent_stream_is_stalled(self): assert 0\n'
    )
    done = run_suite(tmp_path, honest, keyword="unchanged or silent_stream")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert "1 xfailed" in done.stdout


def test_class_without_its_fixture_is_told_what_to_give(tmp_path: Path) -> None:
    source = "from touchline.testing import ExecutorContract\nclass TestX(ExecutorContract):\n    pass\n"
    done = run_suite(tmp_path, source, keyword="declares")
    assert "a contract class gives the fixture `executor`" in done.stdout


def test_suite_has_a_version_and_dozens_of_scenarios() -> None:
    assert SUITE_VERSION >= 1
    names = [name for name in dir(ExecutorContract) if name.startswith("test_")]
    assert len(names) > 30


def test_missing_cli_is_skipped_loudly_on_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"install\.py FOLDER"):
        find_cli("no-such-cli")


def test_missing_cli_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no-such-cli"):
        find_cli("no-such-cli")


def test_installed_folder_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "node_modules" / ".bin" / "git"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("TOUCHLINE_CLIS", str(tmp_path))
    assert find_cli("git") == str(program)


def test_commit_ahead_is_known_before_it_becomes_the_head(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    before = git(repo, "rev-parse", "HEAD")
    commit = commit_ahead(repo)
    assert git(repo, "rev-parse", "HEAD") == before
    git(repo, "merge", "-q", "--ff-only", commit)
    assert git(repo, "rev-parse", "HEAD") == commit


def test_scripted_model_needs_no_pytest() -> None:
    code = "import sys; from touchline.testing import ScriptedModel; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
