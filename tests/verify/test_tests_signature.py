"""Signatures are the same in every run of a failure (spec pages 4 and 5)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.verify.signature import clean_text, make_failure, relative_path, signature_of, stable


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<Foo object at 0x7f1f85e6e5f0>", "<Foo object at 0x7fa00000cafe>"),
        ("took 0.12s", "took 11.7s"),
        ("took 0.12s", "took 1.5e-05s"),
        ("at 1767225600.1234567", "at 1767225601.25"),
        ("at 2026-03-01T12:00:00.123Z", "at 2025-12-31T23:59:59.9Z"),
        ("cannot open /tmp/pytest-of-me/pytest-3/test_x0/a.txt", "cannot open /tmp/tmpab_12/a.txt"),
        ("cannot open /var/folders/x1/T/a", "cannot open /private/var/folders/y2/T/b"),
        ("File /home/ann/tool/src/a.py, line 12", "File /srv/worktree-7/src/a.py, line 14"),
        ("port 43211 in use", "port 50123 in use"),
        ("thread 'main' (16580) panicked", "thread 'main' (99) panicked"),
        ("id 0b1e4c5e-9f0a-4f6b-8d1c-2a3b4c5d6e7f", "id 1c2d3e4f-0000-4f6b-8d1c-ffffffffffff"),
        ("commit 1a2b3c4d5e6f", "commit ffeeddccbb99a"),
        ("assert {'a', 'b', 'c'} == set()", "assert {'c', 'a', 'b'} == set()"),
        ("\x1b[31mbad\x1b[0m\n  detail 1", "bad\r\n  detail 2"),
        ("   spaced    out ", "spaced out"),
    ],
)
def test_what_differs_from_run_to_run_is_no_part_of_a_signature(one: str, other: str) -> None:
    assert signature_of("tests.test_a::test_b", one) == signature_of("tests.test_a::test_b", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AssertionError: wrong colour", "AssertionError: wrong size"),
        ("ValueError: x", "TypeError: x"),
        ("assert {'a'} == set()", "assert {'b'} == set()"),
    ],
)
def test_different_failures_of_one_test_have_different_signatures(one: str, other: str) -> None:
    assert signature_of("t", one) != signature_of("t", other)


def test_different_tests_have_different_signatures_numbers_included() -> None:
    assert signature_of("test_case[1]", "no") != signature_of("test_case[2]", "no")
    assert signature_of("test_case[<X at 0x7f00aa>]", "no") == signature_of("test_case[<X at 0x7fbb00>]", "no")


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("tests/test_a.py", "tests/test_a.py"),
        ("./tests//test_a.py", "tests/test_a.py"),
        ("/srv/work/tests/test_a.py", "tests/test_a.py"),
        ("file:///srv/work/a.test.js", "a.test.js"),
        ("src\\a.rs", "src/a.rs"),
        ("/srv/work", None),
        ("/srv/worker/a.py", None),
        ("/srv/work/../other/a.py", None),
        ("../a.py", None),
        ("a/../../b.py", None),
        ("..", None),
        ("", None),
        (".", None),
    ],
)
def test_only_paths_inside_the_work_tree_are_locations(printed: str, found: str | None) -> None:
    assert relative_path(printed, "/srv/work") == found


@given(st.text(alphabet=st.characters(exclude_categories=())) | st.text(alphabet="./\\a "))
def test_no_printed_path_leaves_the_work_tree(printed: str) -> None:
    found = relative_path(printed, "/srv/work")
    assert found is None or (not found.startswith("/") and ".." not in found.split("/"))


@given(st.text(alphabet=st.characters(exclude_categories=())), st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_makes_a_bounded_clean_failure(name: str, message: str) -> None:
    failure = make_failure(name, message, root="/srv/work", path=message, line=-1, text=message)
    assert failure.name
    assert len(failure.signature) <= 240
    assert "\n" not in failure.signature + failure.name + failure.message
    assert "\x1b" not in failure.signature + failure.name + failure.text
    assert failure.line is None
    assert stable(stable(message)) == stable(message) or "<" in stable(message)


def test_long_texts_keep_both_ends_within_a_bound() -> None:
    failure = make_failure("t", "m", root="/", text="a" * 20_000 + "b" * 20_000)
    assert len(failure.text) < 17_000
    assert failure.text.startswith("aaa")
    assert failure.text.endswith("bbb")


@pytest.mark.parametrize("part", ["{", "/a", "\x1b[", "0x", "1.", "'", "a b ", "/tmp", "f" * 8 + " ", "-"])
def test_no_text_makes_a_signature_slow(part: str) -> None:
    began = time.process_time()
    stable(part * (1_000_000 // len(part)))
    assert time.process_time() - began < 2


def test_terminal_sequences_and_control_characters_are_taken_out() -> None:
    assert clean_text("\x1b]0;title\x07a\x1b[1;31mb\x1b[0m\x00\r\nc\rd\te") == "ab\nc\nd\te"
