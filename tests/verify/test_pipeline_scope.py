from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_kit import (
    CONTENT,
    UNITTEST,
    command,
    commit,
    context,
    counting,
    git,
    notes,
    python,
    request_for,
    services,
    statuses,
)

from touchline.executor import (
    ExecutorSettings,
)
from touchline.gates.reading import read_report
from touchline.git.repository import Repository
from touchline.process.cancel import Cancellation
from touchline.verify.pipeline import verify
from touchline.verify.request import ScopeMode, Verifier, VerifyRequest
from touchline_scripted.executor import ScriptedExecutor


def test_another_head_or_changed_tracked_files_are_an_error_and_no_verdict(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    request = request_for(change, tmp_path)
    report = verify(replace(request, head_sha=request.base_commit), services(CONTENT, cancel=cancel))
    assert report.status == "error"
    assert "HEAD is" in str(report.error)
    (change / "calc.py").write_text("dirty\n")
    report = verify(request, services(CONTENT, cancel=cancel))
    assert report.status == "error"
    assert "calc.py" in str(report.error)
    assert (change / "calc.py").read_text() == "dirty\n"
    report = verify(replace(request, known_dirty=("calc.py",)), services(CONTENT, cancel=cancel))
    assert report.status == "ok"
    assert "calc.py" in report.scope.excluded_files


def test_a_delta_names_its_base_and_anything_else_is_a_full_audit(
    change: Path, tmp_path: Path, cancel: Cancellation
) -> None:
    first = git(change, "rev-parse", "HEAD")
    commit(change, "More", more="x = 1\n")
    request = request_for(change, tmp_path)
    report = verify(replace(request, since=first), services(CONTENT, cancel=cancel))
    assert (report.scope.delta_base_sha, report.scope.delta_files) == (first, ["more.py"])
    assert report.scope.included_files == ["README.md", "calc.py", "more.py"]
    report = verify(replace(request, since="1" * 40), services(CONTENT, cancel=cancel))
    assert (report.scope.delta_base_sha, report.scope.delta_files) == (None, [])


def test_untracked_files_are_named_as_not_part_of_a_branch(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    (change / "note.txt").write_text("mine\n")
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel))
    assert report.scope.excluded_files == ["note.txt"]


def local(repo: Path, tmp_path: Path, *files: str) -> VerifyRequest:
    head = git(repo, "rev-parse", "HEAD")
    return replace(
        request_for(repo, tmp_path),
        mode="files",
        base_ref=None,
        base_commit=head,
        head_sha=head,
        files=files,
        owned=files,
    )


def test_a_local_run_verifies_its_own_files_uncommitted(repo: Path, tmp_path: Path, cancel: Cancellation) -> None:
    (repo / "calc.py").write_text("def divide(a, b):\n    return a / b\n")
    (repo / "README.md").write_text("# mine\n")
    request = local(repo, tmp_path, "calc.py")
    judge = counting("a", tmp_path, '{"issues": []}')
    report = verify(request, services(judge, cancel=cancel))
    assert (report.scope.mode, report.scope.base_ref, report.scope.merge_base) == ("files", None, None)
    assert report.scope.included_files == ["calc.py"]
    assert report.scope.excluded_files == ["README.md"]
    prompt = (tmp_path / "prompt-1").read_text()
    assert "+def divide" in prompt
    assert "+# mine" not in prompt
    reading = read_report(report, context(request, tree_hash=report.scope.tree_hash))
    assert reading.problems == ()
    assert git(repo, "status", "--porcelain") == "M README.md\n?? calc.py"


def test_a_local_run_can_begin_before_the_first_commit(tmp_path: Path, cancel: Cancellation) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "calc.py").write_text("x = 1\n")
    request = VerifyRequest(
        repo=Repository.open(folder),
        report_path=tmp_path / "report.json",
        output_folder=tmp_path / "output",
        mode="files",
        head_sha="",
        base_commit="",
        files=("calc.py",),
        owned=("calc.py",),
        tests=UNITTEST,
    )
    judge = counting("a", tmp_path, '{"issues": []}')
    report = verify(request, services(judge, cancel=cancel))
    assert (report.status, report.scope.included_files) == ("ok", ["calc.py"])
    assert "+x = 1" in (tmp_path / "prompt-1").read_text()


def test_an_owned_file_that_a_verifier_changes_is_put_back(repo: Path, tmp_path: Path, cancel: Cancellation) -> None:
    (repo / "calc.py").write_text("mine\n")
    judge = command("a", python("import pathlib; pathlib.Path('calc.py').write_text('theirs')"))
    report = verify(local(repo, tmp_path, "calc.py"), services(judge, CONTENT, cancel=cancel))
    assert statuses(report)["a"] == "BLOCKED"
    assert (repo / "calc.py").read_text() == "mine\n"
    assert not (tmp_path / "output" / "verify-1" / "proof" / "objects").exists()


def test_staged_and_unstaged_changes_are_scopes_of_their_own(repo: Path, tmp_path: Path, cancel: Cancellation) -> None:
    (repo / "staged.py").write_text("s = 1\n")
    git(repo, "add", "staged.py")
    (repo / "README.md").write_text("# changed\n")
    request = replace(local(repo, tmp_path), files=(), owned=())
    modes: tuple[tuple[ScopeMode, str], ...] = (("staged", "staged.py"), ("unstaged", "README.md"))
    for mode, path in modes:
        report = verify(replace(request, mode=mode), services(CONTENT, cancel=cancel))
        assert (report.scope.mode, report.scope.included_files) == (mode, [path])


def test_a_file_name_that_is_no_text_goes_through(repo: Path, tmp_path: Path, cancel: Cancellation) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (repo / name).write_text("x\n")
    report = verify(local(repo, tmp_path, name), services(CONTENT, cancel=cancel))
    assert report.status == "ok"
    assert report.scope.included_files == ['"caf\\351.txt"']


def test_a_clean_checkout_is_made_ready_and_used(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    where = "import os, pathlib; pathlib.Path({!r}).write_text(os.getcwd()); assert pathlib.Path('made').exists()"
    judge = command("a", python(where.format(str(tmp_path / "where"))))
    (change / "stray.txt").write_text("x")
    request = replace(
        request_for(change, tmp_path),
        workspace="worktree",
        setup=python("import pathlib; assert not pathlib.Path('stray.txt').exists(); pathlib.Path('made').touch()"),
    )
    report = verify(request, services(judge, cancel=cancel))
    assert report.status == "ok"
    assert statuses(report)["a"] == "COMPLETED"
    place = Path((tmp_path / "where").read_text())
    assert place != change
    assert not place.exists()
    assert not (change / "made").exists()


def test_a_checkout_that_cannot_be_made_ready_blocks(change: Path, tmp_path: Path, cancel: Cancellation) -> None:
    request = replace(request_for(change, tmp_path), workspace="worktree", setup=python("exit('no network')"))
    report = verify(request, services(CONTENT, cancel=cancel))
    assert report.status == "blocked"
    assert "no network" in str(report.error)
    assert git(change, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize(("steps", "told"), [("", True), ("    - run: 'true'\n", False)])
def test_an_exerciser_that_was_not_seen_to_do_anything_is_said_to_have_only_its_word(
    change: Path, tmp_path: Path, cancel: Cancellation, steps: str, told: bool
) -> None:
    script = tmp_path / "script.yaml"
    used = "{answer: {status: PASSED, notes: used it}}"
    script.write_text(f"version: 1\nexerciser:\n  - - say: I look.\n{steps}    - {used}\n")
    exerciser = Verifier("exerciser", executor=ScriptedExecutor(ExecutorSettings(script=str(script))))
    report = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel, exerciser=exerciser))
    assert statuses(report)["exerciser"] == "PASSED"
    assert ("its word alone" in notes(report, "exerciser")) is told
    by_command = verify(request_for(change, tmp_path), services(CONTENT, cancel=cancel))
    assert "its word alone" not in notes(by_command, "exerciser")
