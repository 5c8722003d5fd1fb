"""Changing one key leaves every other byte as it was (spec page 8)."""

from __future__ import annotations

import difflib
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.config.edit import with_value
from touchline.config.source import parse_document
from touchline.config.writing import create_file, replace_file
from touchline.errors import ConfigError

FILE = """\
# head
---
run:            # eol
  # about turns
  max_turns: 10   # ten
  plans: "docs/x"

# about tests
tests:
  command: 'pytest -q'
  timeout: 5m

executors:
    claude: &base
        model: "opus"   # the big one
        extra_args:
            - --a
            -   "--b"  # second
    two: *base
    three:
        <<: *base
        model: x

reviewers:
- name: a
  executor: claude
gates: {review: [one, 'two'], exerciser: []}
hooks:
  # modules: [x]
# the end
"""


def changed(path: tuple[str | int, ...], value: Any, text: str = FILE) -> list[str]:
    new = with_value(text.encode(), path, value, "f").decode()
    lines = difflib.unified_diff(text.splitlines(), new.splitlines(), n=0, lineterm="")
    return [line for line in list(lines)[2:] if not line.startswith("@@")]


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (("run", "max_turns"), 20, ["-  max_turns: 10   # ten", "+  max_turns: 20   # ten"]),
        (("run", "plans"), "a: b", ['-  plans: "docs/x"', '+  plans: "a: b"']),
        (("run", "severity"), 3, ["+  severity: 3"]),
        (("tests", "command"), "it's", ["-  command: 'pytest -q'", "+  command: 'it''s'"]),
        (("tests", "command"), ["sh", "-c", "a"], ["-  command: 'pytest -q'", "+  command: [sh, -c, a]"]),
        (("verify", "depth"), "deep", ["+", "+verify:", "+  depth: deep"]),
        (("executors", "three", "model"), "y", ["-        model: x", "+        model: y"]),
        (("executors", "three", "script"), "z", ["+        script: z"]),
        (("reviewers", 0, "executor"), "b", ["-  executor: claude", "+  executor: b"]),
        (("reviewers", 0, "model"), "m", ["-- name: a", "+- model: m", "+  name: a"]),
        (
            ("gates", "review", 1),
            "x",
            ["-gates: {review: [one, 'two'], exerciser: []}", "+gates: {review: [one, 'x'], exerciser: []}"],
        ),
        (("hooks", "modules"), ["y"], ["+  modules:", "+    - y"]),
    ],
)
def test_only_the_wanted_value_changes(path: tuple[str | int, ...], value: Any, lines: list[str]) -> None:
    assert changed(path, value) == lines
    new = parse_document(with_value(FILE.encode(), path, value, "f"), "f").value
    for step in path:
        new = new[step]  # type: ignore[index]
    assert new == value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("executors", "claude", "model"), "sonnet"),
        (("executors", "two", "model"), "sonnet"),
        (("executors", "claude", "extra_args", 0), "--c"),
    ],
)
def test_a_value_shared_by_an_alias_is_refused_instead_of_changed_elsewhere(
    path: tuple[str | int, ...], value: Any
) -> None:
    with pytest.raises(ConfigError, match="its text is shared"):
        with_value(FILE.encode(), path, value, "f")


def test_an_anchor_that_nobody_uses_stays() -> None:
    assert with_value(b"run: {plans: &p docs}\n", ("run", "plans"), "x", "f") == b"run: {plans: &p x}\n"


def test_an_item_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"there is no reviewers\[3\] to change"):
        with_value(FILE.encode(), ("reviewers", 3, "model"), "x", "f")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"run:\n  severity: 3\n"),
        (b"# only comments\n", b"# only comments\n\nrun:\n  severity: 3\n"),
        (b"run:\n", b"run:\n  severity: 3\n"),
        (b"run:", b"run:\n  severity: 3\n"),
        (b"run: ~\n", b"run: {severity: 3}\n"),
        (b"run: {}\n", b"run: {severity: 3}\n"),
        (b"{}\n", b"{run: {severity: 3}}\n"),
        (b"run:\r\n  max_turns: 4\r\n", b"run:\r\n  severity: 3\r\n  max_turns: 4\r\n"),
        (b"\xef\xbb\xbfrun:\n  severity: 9\n", b"\xef\xbb\xbfrun:\n  severity: 3\n"),
        (b"run:\n  severity:\n  max_turns: 4", b"run:\n  severity: 3\n  max_turns: 4"),
    ],
)
def test_sparse_files_and_their_line_ends_are_kept(before: bytes, after: bytes) -> None:
    assert with_value(before, ("run", "severity"), 3, "f") == after


texts = st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\ufffe\uffff"))
values = st.one_of(
    texts, st.integers(-(10**9), 10**9), st.booleans(), st.lists(texts, max_size=3), st.sampled_from(["a\nb", "- x"])
)
places = st.sampled_from(
    [
        ("run", "max_turns"),
        ("run", "plans"),
        ("run", "new"),
        ("tests", "command"),
        ("gates", "review"),
        ("gates", "new"),
        ("verify", "new"),
        ("hooks", "modules"),
        ("executors", "three", "model"),
        ("executors", "new", "model"),
        ("reviewers", 0, "name"),
    ]
)


@settings(max_examples=120, deadline=None)
@given(places, values)
def test_any_value_can_be_set_and_comments_and_other_values_stay(path: tuple[str | int, ...], value: Any) -> None:
    before = parse_document(FILE.encode(), "f").value
    new = with_value(FILE.encode(), path, value, "f")
    after: Any = parse_document(new, "f").value
    at = after
    for step in path[:-1]:
        at = at[step]
    assert at[path[-1]] == value
    assert [line for line in FILE.splitlines() if "#" in line and "ten" not in line] == [
        line for line in new.decode().splitlines() if "#" in line and line in FILE.splitlines() and "ten" not in line
    ]
    untouched = [name for name in before if name != path[0]]
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}


def test_replacing_keeps_the_mode_and_writes_through_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text("a")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_file(link, b"b")
    assert link.is_symlink()
    assert real.read_bytes() == b"b"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.yaml", "real.yaml"]


def test_a_new_file_is_private_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.yaml"
    replace_file(path, b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_written_is_a_configuration_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        replace_file(tmp_path / "file" / "config.yaml", b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        replace_file(tmp_path / "folder", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_an_existing_file_is_never_created_over(tmp_path: Path) -> None:
    path = tmp_path / "x"
    create_file(path, b"first")
    with pytest.raises(ConfigError, match="is left as it is"):
        create_file(path, b"second")
    assert path.read_bytes() == b"first"
