from __future__ import annotations

import shutil
from pathlib import Path

from touchline.git.contents import restore, save
from touchline.git.repository import Repository
from touchline.git.trees import changed_paths, snapshot


def _restore_everything(repo: Path, owned: list[str], change, folder: Path):
    opened = Repository.open(repo)
    before = snapshot(opened, owned)
    left_out = save(opened, before, folder)
    change()
    after = snapshot(opened, owned)
    paths = changed_paths(before, after)
    result = restore(opened, before, paths, folder)
    return left_out, paths, result, changed_paths(before, snapshot(opened, owned))


def test_edited_deleted_and_retyped_files_are_put_back(
    odd_repo: Path, odd_names: tuple[str, ...], tmp_path: Path
) -> None:
    (odd_repo / "run.sh").write_text("#!/bin/sh\n")
    (odd_repo / "run.sh").chmod(0o755)
    (odd_repo / "README.md").write_text("edited by the player, not committed\n")
    (odd_repo / "link").symlink_to("./README.md")

    def change() -> None:
        for name in odd_names[::2]:
            (odd_repo / name).write_text("changed")
        for name in odd_names[1::2]:
            (odd_repo / name).unlink()
        shutil.rmtree(odd_repo / "folder with space")
        (odd_repo / "run.sh").chmod(0o644)
        (odd_repo / "link").unlink()
        (odd_repo / "link").write_text("no link")
        (odd_repo / "README.md").unlink()
        (odd_repo / "README.md").mkdir()
        (odd_repo / "README.md/inside").write_text("in the way")

    left_out, paths, result, still = _restore_everything(odd_repo, ["run.sh", "link"], change, tmp_path / "saved")
    assert left_out == ()
    assert set(paths) == {*odd_names, "run.sh", "link", "README.md"}
    assert set(result.restored) == set(paths)
    assert result.failed == ()
    assert still == ()
    assert (odd_repo / "run.sh").stat().st_mode & 0o777 == 0o755
    assert [(moved / "inside").read_text() for moved in result.moved] == ["in the way"]


def test_a_file_that_the_player_had_deleted_and_a_verifier_made_again_is_moved_away(repo: Path, tmp_path: Path) -> None:
    (repo / "README.md").unlink()
    left_out, paths, result, still = _restore_everything(
        repo, [], lambda: (repo / "README.md").write_text("again"), tmp_path / "saved"
    )
    assert (left_out, paths, still) == ((), ("README.md",), ())
    assert not (repo / "README.md").exists()
    assert [moved.read_text() for moved in result.moved] == ["again"]


def test_a_folder_replaced_by_a_link_is_made_again_and_nothing_is_written_through_it(
    repo: Path, git, tmp_path: Path
) -> None:
    (repo / "d").mkdir()
    (repo / "d/f").write_text("inside")
    git(repo, "add", "-A")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("outside")

    def change() -> None:
        shutil.rmtree(repo / "d")
        (repo / "d").symlink_to(outside)

    _, _, result, still = _restore_everything(repo, [], change, tmp_path / "saved")
    assert still == ()
    assert result.restored == ("d/f",)
    assert (outside / "f").read_text() == "outside"


def test_only_what_git_cannot_give_back_is_copied(odd_repo: Path, tmp_path: Path) -> None:
    opened = Repository.open(odd_repo)
    (odd_repo / "README.md").write_text("not in git\n")
    save(opened, snapshot(opened), tmp_path / "saved")
    assert [place.read_text() for place in (tmp_path / "saved/objects").iterdir()] == ["not in git\n"]


def test_what_does_not_fit_is_named_and_small_files_go_first(repo: Path, tmp_path: Path) -> None:
    (repo / "small").write_text("s")
    (repo / "large").write_text("l" * 1000)
    opened = Repository.open(repo)
    before = snapshot(opened, ["small", "large"])
    assert save(opened, before, tmp_path / "saved", max_bytes=100) == ("large",)
    (repo / "large").write_text("other")
    (repo / "small").write_text("other")
    result = restore(opened, before, ["large", "small"], tmp_path / "saved")
    assert result.restored == ("small",)
    assert [path for path, _ in result.failed] == ["large"]


def test_a_saved_copy_that_was_altered_is_not_put_back(repo: Path, tmp_path: Path) -> None:
    (repo / "README.md").write_text("the player's\n")
    opened = Repository.open(repo)
    before = snapshot(opened)
    save(opened, before, tmp_path / "saved")
    for copy in (tmp_path / "saved/objects").iterdir():
        copy.write_text("forged\n")
    (repo / "README.md").write_text("a verifier's\n")
    result = restore(opened, before, ["README.md"], tmp_path / "saved")
    assert result.restored == ()
    assert (repo / "README.md").read_text() == "a verifier's\n"


def test_a_submodule_is_named_as_not_restorable(with_submodule: Path, tmp_path: Path) -> None:
    inner = with_submodule / "lib/sub/inner.txt"
    left_out, paths, result, still = _restore_everything(
        with_submodule, [], lambda: inner.write_text("changed"), tmp_path / "saved"
    )
    assert (left_out, paths, still) == (("lib/sub",), ("lib/sub",), ("lib/sub",))
    assert [path for path, _ in result.failed] == ["lib/sub"]


def test_an_empty_file_and_many_files_come_back(repo: Path, git, tmp_path: Path) -> None:
    for number in range(300):
        (repo / f"f{number}").write_text("" if number % 7 == 0 else f"{number}\n" * number)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "many")

    def change() -> None:
        for number in range(300):
            (repo / f"f{number}").write_text("changed")

    _, paths, result, still = _restore_everything(repo, [], change, tmp_path / "saved")
    assert len(paths) == len(result.restored) == 300
    assert still == ()
