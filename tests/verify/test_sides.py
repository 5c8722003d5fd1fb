from __future__ import annotations

import os
import subprocess
from pathlib import Path

from touchline.git.repository import Repository
from touchline.verify import sides
from touchline.verify.coachfacts import gather_facts
from touchline.verify.sides import MAX_TEXT_BYTES, base_texts, read_sides


def git(repo: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def test_both_sides_of_changed_added_deleted_and_oddly_named_files(repo: Path) -> None:
    odd = "a b\nc.py"
    (repo / odd).write_text("one\n")
    (repo / "gone.py").write_text("was here\n")
    (repo / "same.py").write_bytes(b"\xff\r\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Base")
    base = git(repo, "rev-parse", "HEAD")
    (repo / odd).write_text("two\n")
    (repo / "gone.py").unlink()
    (repo / "new.py").write_text("new\n")
    opened = Repository.open(repo)
    paths = [odd, "gone.py", "new.py", "same.py", "never.py"]
    found = read_sides(opened, base, paths)
    assert found.texts == {
        odd: ("one\n", "two\n"),
        "gone.py": ("was here\n", ""),
        "new.py": ("", "new\n"),
        "same.py": ("\ufffd\r\n", "\ufffd\r\n"),
        "never.py": ("", ""),
    }
    assert read_sides(opened, "", ["new.py"]).texts == {"new.py": ("", "new\n")}
    git(repo, "add", "--all")
    tree = git(repo, "write-tree")
    (repo / "new.py").write_text("later\n")
    assert read_sides(opened, base, paths, target=tree) == found
    assert base_texts(opened, base, ["gone.py", "new.py"]) == {"gone.py": "was here\n"}


def test_neither_attributes_nor_links_nor_pipes_decide_what_is_read(repo: Path) -> None:
    (repo / ".gitattributes").write_text("*.py filter=evil -diff\n")
    (repo / "a.py").write_text("text\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Base")
    git(repo, "config", "filter.evil.smudge", "echo evil")
    base = git(repo, "rev-parse", "HEAD")
    (repo / "secret").write_text("outside\n")
    (repo / "a.py").unlink()
    (repo / "a.py").symlink_to("secret")
    os.mkfifo(repo / "b.py")
    (repo / "c.py").mkdir()
    found = read_sides(Repository.open(repo), base, ["a.py", "b.py", "c.py"])
    assert found.texts == {"a.py": ("text\n", ""), "b.py": ("", ""), "c.py": ("", "")}


def test_what_is_too_much_is_left_out_by_name(repo: Path) -> None:
    base = git(repo, "rev-parse", "HEAD")
    (repo / "tests").mkdir()
    (repo / "tests/test_big.py").write_bytes(b"#" * (MAX_TEXT_BYTES + 1))
    (repo / "tests/test_a.py").write_text("def test_a():\n    assert True\n")
    opened = Repository.open(repo)
    changed = ["tests/test_a.py", "tests/test_big.py"]
    assert read_sides(opened, base, changed).left_out == ("tests/test_big.py",)
    facts = gather_facts(opened, base, changed, threshold=5)
    assert (facts.added, facts.not_read) == (changed, ("tests/test_big.py",))
    many = [f"tests/test_{number:05}.py" for number in range(sides.MAX_FILES + 2)]
    assert read_sides(opened, base, many).left_out == tuple(many[-2:])
