"""What a commit message says, and what it never mentions (spec page 5, "one semantic commit for each turn")."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.git.messages import MAX_SUBJECT, clean_message, message_digest

PATHS = ["src/a.py", "src/b.py"]
_NEVER = re.compile(
    r"(?i)\bturns? ?#?\d|\breview|\b(?:F|Q|G|CI|VI)-\d+\b|#\d|\bgh-\d+\b|\[(?:ci skip|skip ci|no ci)\]|\*\*\*no_ci"
    r"|(?:^|\W)@\w|[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("Reject empty names.", "Reject empty names\n"),
        ("Fix F-3: reject empty names as the reviewer asked in turn 2.", "Reject empty names\n"),
        (
            "Added a parser for dates (F-3, VI-4). Fixes #12. All tests pass.",
            "Added a parser for dates\n\nAll tests pass.\n",
        ),
        ("I added retries to the client", "Added retries to the client\n"),
        ("feat(api): add retries\n\nCloses: #4\nSigned-off-by: A <a@b.invalid>", "feat(api): add retries\n"),
        ("## Summary\n\n- Add a cache", "Add a cache\n"),
        ("fixup! Add a cache", "Add a cache\n"),
        ("Add a cache [skip ci]", "Add a cache\n"),
        ("***NO_CI*** Add a cache", "Add a cache\n"),
        ("Add a cache\n\nskip-checks: true", "Add a cache\n"),
        ("Add `@property` accessors", "Add `property` accessors\n"),
        ("Thank the maintainer @somebody", "Thank the maintainer somebody\n"),
        ("Crash no more, closes owner/repo#3 and resolves https://example.invalid/o/r/issues/4", "Crash no more\n"),
        ("\x1b[31mAdd red\x1b[0m\u202e text\x07", "Add red text\n"),
        ("This turns the list into a set", "This turns the list into a set\n"),
        ("Turn on logging by default", "Turn on logging by default\n"),
        ("Use SHA-256 and UTF-8", "Use SHA-256 and UTF-8\n"),
        ("Add a video player with a feedback form", "Add a video player with a feedback form\n"),
        (
            "Keep the cache small\n\nIt holds ten entries.\nOld ones go first.",
            "Keep the cache small\n\nIt holds ten entries.\nOld ones go first.\n",
        ),
    ],
)
def test_the_message_says_what_the_code_does_now(said: str, message: str) -> None:
    assert clean_message(said, paths=PATHS) == message


@pytest.mark.parametrize(
    "said",
    [
        "",
        "  \n\t",
        "Done.",
        "Addressed the review feedback",
        "F-3",
        "#12",
        "Turn 4",
        "\u200b",
        "Co-authored-by: A <a@b>",
    ],
)
def test_where_nothing_is_left_to_say_the_paths_are_the_subject(said: str) -> None:
    assert clean_message(said, paths=PATHS) == "Update src/a.py and src/b.py\n"


def test_many_paths_are_counted_and_none_still_gives_a_message() -> None:
    assert clean_message("", paths=[f"src/{number}.py" for number in range(5)]) == "Update 5 files in src\n"
    assert clean_message("", paths=["a.py", "b/c.py", "d.py"]) == "Update 3 files\n"
    assert clean_message("", paths=["x" * 200]) == "Update one file\n"
    assert clean_message("", paths=["new\nline \x1b[31m.py"]) == "Update new line .py\n"
    assert clean_message("", paths=["latin-\udce9.txt"]) == 'Update "latin-\\351.txt"\n'
    assert clean_message("") == "Update the implementation\n"


def test_a_long_subject_is_cut_at_a_word_and_told_in_full_below() -> None:
    said = "Make the client try again with growing pauses whenever the server answers that it is busy"
    subject, empty, body = clean_message(said).split("\n", 2)
    assert subject.endswith("…")
    assert len(subject) <= MAX_SUBJECT
    assert empty == ""
    assert body == f"{said}\n"


_PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            *(
                "turn 2",
                "Turn #3",
                "F-12",
                "VI-4",
                "CI-1",
                "review",
                "the reviewer said",
                "review feedback",
                "#12",
                "GH-3",
            ),
            *(
                "Fixes #1",
                "closes o/r#2",
                "@team",
                "[skip ci]",
                "[ci skip]",
                "***NO_CI***",
                "skip-checks: true",
                "\n\n",
            ),
            *(
                "Add a cache",
                ". ",
                ", ",
                ": ",
                "(",
                ")",
                "\n",
                "\x1b[0m",
                "\u202e",
                "F-#3",
                "@@x",
                "#F-3",
                "tu\u200brn 3",
            ),
        ]
    ),
)


@given(st.lists(_PIECES, max_size=15).map(" ".join))
def test_no_text_gets_a_mention_into_a_message(said: str) -> None:
    message = clean_message(said, paths=PATHS)
    assert not _NEVER.search(message), message
    subject, *rest = message.split("\n")
    assert 0 < len(subject) <= MAX_SUBJECT
    assert len(message) < 2200
    assert message.endswith("\n")
    assert not rest[1:] or rest[0] == ""


@given(st.lists(_PIECES, max_size=10).map("".join))
def test_glued_pieces_do_not_get_through_either(said: str) -> None:
    assert not _NEVER.search(clean_message(said, paths=PATHS))


def test_hostile_lengths_are_bounded_in_time() -> None:
    for piece in ("a/", "https://", "fixes ", "(", "[skip ", "F-1 and ", "@", "#1", "as per ", "-"):
        message = clean_message(piece * 50_000, paths=PATHS)
        assert len(message) < 2200


def test_the_digest_tells_messages_apart() -> None:
    assert message_digest("a\n") != message_digest("b\n")
    assert len(message_digest("\ud800")) == 64
