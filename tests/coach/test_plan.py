from __future__ import annotations

from pathlib import Path

from touchline.coach.plan import MAX_PLAN_BYTES, find_plans, read_plan


def test_markdown_files_of_the_first_folder_that_has_any_are_candidates(tmp_path: Path) -> None:
    (tmp_path / "docs/plans").mkdir(parents=True)
    assert find_plans(tmp_path, ["plans", "docs/plans"]).candidates == ()
    (tmp_path / "docs/plans/b.md").write_text("b")
    (tmp_path / "docs/plans/a.md").write_text("a")
    (tmp_path / "docs/plans/note.txt").write_text("no plan")
    (tmp_path / "docs/plans/.hidden.md").write_text("no plan")
    assert find_plans(tmp_path, ["plans", "docs/plans"]).candidates == ("docs/plans/a.md", "docs/plans/b.md")


def test_a_plan_that_cannot_be_used_is_a_problem_in_words(tmp_path: Path) -> None:
    empty, big = tmp_path / "empty.md", tmp_path / "big.md"
    empty.write_text(" \n\n")
    with big.open("wb") as file:
        file.truncate(MAX_PLAN_BYTES + 1)
    for path, word in ((tmp_path / "none.md", "not exist"), (tmp_path, "folder"), (empty, "empty"), (big, "larger")):
        content, problem = read_plan(path)
        assert content == b""
        assert word in problem


def test_a_plan_in_another_encoding_is_still_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "latin.md"
    path.write_bytes("Größe".encode("latin-1"))
    assert read_plan(path) == ("Größe".encode("latin-1"), "")
