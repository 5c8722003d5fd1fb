"""The demo: the whole loop published to a remote of its own, everything in one folder, the local form on request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def demo(folder: Path, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "touchline", "demo", "--dir", str(folder), *argv],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def git(folder: Path, *argv: str) -> str:
    done = subprocess.run(["git", *argv], cwd=folder, check=True, timeout=30, capture_output=True)
    return done.stdout.decode().strip()


def told(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What the last lines say about where things are."""
    lines = [line.removeprefix("demo: ") for line in done.stderr.splitlines() if line.startswith("demo: ")]
    return {line[:9].strip(): line[9:] for line in lines}


def test_the_demo_publishes_two_turns_as_a_draft_and_says_where_to_look(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = demo(folder)
    head = git(folder / "slugs", "rev-parse", "HEAD")
    assert (done.returncode, done.stdout) == (
        0,
        "STATUS: APPROVED_DRAFT_OPEN\n"
        f"PR_URL: {folder}/slugs.git#change-1\n"
        "PR_STATE: draft\n"
        "BRANCH: touchline/slugs-for-titles -> main\n"
        f"HEAD_SHA: {head}\n"
        f"REMOTE_HEAD_SHA: {head}\n"
        "TURNS_USED: 2 of 3\n"
        "VERIFY_RUNS: 3\n"
        "REVIEWER: reviewer (Codex unavailable)\n",
    ), done.stderr
    assert git(folder / "slugs.git", "rev-parse", "touchline/slugs-for-titles") == head
    assert git(folder / "slugs", "log", "--format=%s", "main..") == "Fold accents in slugs\nImplement slugify"
    where = told(done)
    draft = Path(where["draft"]).read_text()
    assert draft.startswith("# Slugs for titles\n")
    assert "- Status: **APPROVED_DRAFT_OPEN**" in draft
    published = json.loads(git(folder / "slugs.git", "show", "refs/touchline/changes/1:change.json"))
    assert published["body"] in draft
    assert git(folder / "slugs", *where["commits"].split()[3:]).count("\ncommit ") == 1
    assert all(Path(where[name]).exists() for name in ("work", "ledger", "reports", "feedback", "record"))


def test_the_local_form_of_the_demo_publishes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = demo(folder, "--local", "--json")
    assert done.returncode == 0, done.stderr
    block = json.loads(done.stdout)
    head = git(folder / "slugs", "rev-parse", "main")
    assert (block["STATUS"], block["HEAD_SHA"], block["PR_URL"]) == ("APPROVED_NO_PR", head, "none")
    assert git(folder / "slugs", "status", "--porcelain") == "?? src/"
    assert sorted(path.name for path in folder.iterdir()) == ["slugs", "state"]


def test_the_demo_leaves_nothing_outside_its_folder(tmp_path: Path, clean_home: Path) -> None:
    """Neither in the temporary folder nor in HOME, where an old run of the user's would be pruned by a real start."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    old = clean_home / "state/player-coach/old-00000000/main-local"
    old.mkdir(parents=True)
    (old / "render.log").write_text("a run of the user's\n")
    for path in (old / "render.log", old):
        os.utime(path, (0, 0))
    (clean_home / "gitconfig").write_text("[core]\n\thooksPath = /nonexistent\n[commit]\n\tgpgSign = true\n")

    # The plugin library's own list of entry points, which any command of any program that uses it makes.
    entry_points = clean_home / ".cache"
    entry_points.mkdir()

    def listed() -> list[tuple[str, int]]:
        places = (
            path for path in (*clean_home.rglob("*"), *scratch.rglob("*")) if not path.is_relative_to(entry_points)
        )
        return sorted((str(path), path.lstat().st_mtime_ns) for path in places)

    before = listed()
    done = demo(tmp_path / "demo", TMPDIR=str(scratch))
    assert done.returncode == 0, done.stderr
    assert listed() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo", "scratch"]
