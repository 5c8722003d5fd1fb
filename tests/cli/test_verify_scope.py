"""What `touchline verify` is about where no branch is there to compare with: the work of the last local run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from touchline.cli import main
from touchline.documents.report import Report


def git(repo: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout.strip()


def local_run(repo: Path, tmp_path: Path) -> None:
    """A local run on main that was approved; its work lies uncommitted in the tree."""
    script = tmp_path / "script.json"
    write = {"write": {"path": "calc.py", "content": "def divide(a, b):\n    return a / b\n"}}
    script.write_text(json.dumps({"version": 1, "player": [[write, {"finish": {"summary": "divide"}}]]}))
    settings: dict[str, Any] = {
        "reviewers": [{"name": "mine", "command": ["true"]}],
        "exerciser": {"command": ["true"]},
        "tests": {"enabled": False},
    }
    settings["executors"] = {"play": {"driver": "scripted", "script": str(script)}}
    settings["run"] = {"executor": "play"}
    (repo / "touchline.yaml").write_text(json.dumps(settings))
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Configure")
    plan = tmp_path / "plan.md"
    plan.write_text("# Divide\n")
    assert main(["run", "--no-pr", "--headless", "--repo", str(repo), "--plan-file", str(plan)]) == 0


def test_on_main_the_uncommitted_work_of_the_last_local_run_is_verified(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    local_run(repo, tmp_path)
    (repo / "mine.txt").write_text("not of the run\n")
    capsys.readouterr()
    assert main(["verify", "--repo", str(repo), "--json"]) == 0
    out, err = capsys.readouterr()
    report = Report.model_validate_json(out)
    assert (report.scope.mode, report.scope.included_files) == ("files", ["calc.py"])
    assert "verifying the 1 uncommitted paths of the local run" in err


def test_on_main_committed_work_is_compared_with_the_start_of_the_last_local_run(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    local_run(repo, tmp_path)
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "add", "calc.py")
    git(repo, "commit", "-q", "-m", "Divide")
    capsys.readouterr()
    assert main(["verify", "--repo", str(repo), "--json"]) == 0
    out, err = capsys.readouterr()
    report = Report.model_validate_json(out)
    assert (report.scope.mode, report.scope.merge_base) == ("branch", start)
    assert report.scope.included_files == ["calc.py"]
    assert f"comparing with {start[:12]}, where the local run" in err


def test_where_nothing_can_be_compared_the_options_are_named(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--repo", str(repo)]) == 2
    told = capsys.readouterr().err
    for option in ("--base", "--scope unstaged", "--scope staged", "--files"):
        assert option in told
