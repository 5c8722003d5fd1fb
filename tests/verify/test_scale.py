"""2,000 files and 100,000 changed lines: bounded prompts, and what was left out is named (spec page 5)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from touchline.executor import PermissionAnswer
from touchline.git.repository import Repository
from touchline.process.cancel import Cancellation
from touchline.verify.pipeline import verify
from touchline.verify.request import Verifier, VerifyRequest, VerifyServices
from touchline.verify.scope import MAX_PATCH_BYTES

FILES, LINES = 2000, 50


def git(repo: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


def path_of(number: int) -> str:
    return f"tests/part{number % 40}/test_{number}.py" if number % 4 == 0 else f"src/part{number % 40}/file{number}.py"


@pytest.mark.slow
def test_a_change_of_2000_files_and_100000_lines_is_reported_with_a_bounded_prompt(repo: Path, tmp_path: Path) -> None:
    for number in range(FILES):
        place = repo / path_of(number)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"def test_{number}():\n    assert {number} == {number}.0\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Many files")
    base = git(repo, "rev-parse", "HEAD")
    body = "".join(f"# line {line} of a change that is long enough to matter\n" for line in range(LINES))
    for number in range(FILES):
        with (repo / path_of(number)).open("a") as file:
            file.write(body)
    git(repo, "commit", "-q", "-a", "-m", "Change them all")
    prompt = tmp_path / "prompt.txt"
    keep = f"import sys\nopen({str(prompt)!r}, 'w').write(sys.stdin.read())\nprint({json.dumps({'issues': []})!r})"
    cancel = Cancellation()
    try:
        services = VerifyServices(
            judges=(Verifier("judge", command=(sys.executable, "-c", keep)),),
            exerciser=Verifier("exerciser", command=(sys.executable, "-c", "pass")),
            permit=lambda asked: PermissionAnswer(False, "not in this test"),
            cancel=cancel,
        )
        request = VerifyRequest(
            repo=Repository.open(repo),
            report_path=tmp_path / "1.json",
            output_folder=tmp_path / "output",
            mode="branch",
            head_sha=git(repo, "rev-parse", "HEAD"),
            base_commit=base,
            base_ref="origin/main",
        )
        started = time.monotonic()
        report = verify(request, services)
        seconds = time.monotonic() - started
    finally:
        cancel.close()
    print(f"{FILES} files, {FILES * LINES} changed lines: scope, judge and report in {seconds:.1f} s")
    assert report.status == "ok", report.error
    assert len(report.scope.included_files) == FILES
    assert report.findings == []
    text = prompt.read_text()
    assert len(text) < MAX_PATCH_BYTES + 100_000
    assert f"{FILES} files:" in text
    assert "(too long)" in text
    assert "and 1800 more" in text
