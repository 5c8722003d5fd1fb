"""Text of others in a published text: read, never obeyed. A Markdown parser of somebody else is the judge of that."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from touchline.coach.publish.inert import CUT, NO_TITLE, ZERO_WIDTH, inert, inert_title

HOSTILE = {
    "shell": "$(touch pwned) `touch pwned`; touch pwned && rm -rf . | sh > out ${IFS}",
    "options": "--upload-pack=touch pwned",
    "one letter option": "-x",
    "html": "<!-- hidden --> <script>x</script> <img src=x onerror=y> &lt;b&gt; &#60;b&#62;",
    "markers": "<!-- touchline:end --> <!-- touchline:state --> <!-- touchline:begin -->",
    "heading": "# Final State",
    "second heading": "Final State\n===========\n- Status: **READY_FOR_REVIEW**",
    "rule": "---",
    "list": "1. one\n2) two\n* three\n+ four\n- [x] done",
    "table": "a | b | c\n|---|---|\n| 1 | 2 |",
    "fence": "```\ncode\n``` ~~~ ~~gone~~",
    "quote": "> said",
    "link": "[text](https://example.invalid) ![image](https://example.invalid/x.png) <https://example.invalid>",
    "reference": "[a]: https://example.invalid 'title'",
    "mention": "@everyone @team/people a@example.invalid",
    "issue": 'closes #1, fixes GH-2, owner/repo#3, !4 %5 &6 %"v1" resolves https://example.invalid/o/r/issues/7',
    "quick action": "/close",
    "escapes": "\x1b[2J\x1b]0;owned\x07\x1b[31mred \x9b31m \x08\x08\r\x00",
    "bidi": "\u202eevil\u202c \u2066x\u2069 \u200f\u200e\u061c",
    "invisible": "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\u034fh\u180ei\U000e0041j\ufe0fk\u3164l\u115fm",
    "breaks": "one\ntwo\r\nthree\u2028four\u2029five\x85six\x0bseven\x0ceight",
    "surrogate": "half \ud800 a character",
    "backslash": "\\# \\\\# \\<b> \\",
}
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
anything = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="#*_`~[]()<>!|\\-=+>&@/:. \n1aw\u200b\u202e\x1b", max_size=60),
    st.lists(st.sampled_from(sorted(HOSTILE.values())), max_size=4).map(" ".join),
)


def tokens(text: str) -> list[Any]:
    """Every token of a text, those inside of lines too."""
    return [one for token in MARKDOWN.parse(text) for one in (token, *(token.children or ()))]


def shown(text: str) -> str:
    """What a reader of the rendered text sees."""
    return "".join(one.content for one in tokens(text) if one.type == "text").replace(ZERO_WIDTH, "")


def is_plain(text: str, *around: str) -> bool:
    """Whether a parser finds nothing but text in it, beside the `around` kinds that stand there on purpose."""
    allowed = {"paragraph_open", "paragraph_close", "inline", "text", "text_special", *around}
    return {one.type for one in tokens(text)} <= allowed


@given(anything)
@example(HOSTILE["issue"])
def test_a_parser_finds_nothing_but_text_in_it_wherever_it_stands(text: str) -> None:
    line = inert(text)
    assert is_plain(line), tokens(line)
    item = ("bullet_list_open", "list_item_open", "list_item_close", "bullet_list_close")
    assert is_plain(f"- {line}", *item)
    assert is_plain(f"- Turn 1: {line}", *item)
    assert is_plain(f"> {line}", "blockquote_open", "blockquote_close")
    table = f"| a | b |\n|---|---|\n| 1 | {line} |"
    assert sum(one.type == "td_open" for one in tokens(table)) == 2
    assert not {one.type for one in tokens(table)} & {"html_inline", "link_open", "code_inline", "em_open", "s_open"}


@given(anything)
def test_it_is_one_line_in_which_nothing_is_unseen_but_our_own_breaks(text: str) -> None:
    line = inert(text)
    assert "\n" not in line
    assert all(unicodedata.category(one) not in UNSEEN for one in line.replace(ZERO_WIDTH, ""))
    line.encode()


@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Zs"]), max_size=200
    )
)
def test_what_can_be_read_stays_readable(text: str) -> None:
    assert shown(inert(text)).strip("\\") == " ".join(text.split()).strip("\\")


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_mentions_nobody_refers_to_nothing_and_starts_no_command(kind: str) -> None:
    """Hosts read the rendered text for these, so a backslash alone does not help."""
    read = "".join(one.content for one in tokens(inert(HOSTILE[kind])) if one.type.startswith("text"))
    assert not re.search(r"@\w|(?<![\w])[#!%&]\w|(?i:gh-\d)|https?://|www\.", read), read
    assert not read.startswith("/")
    assert "<!--" not in inert(HOSTILE[kind])


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_title_is_one_line_without_references_states_or_anything_unseen(kind: str) -> None:
    title = inert_title(HOSTILE[kind])
    assert title.strip()
    assert all(unicodedata.category(one) not in UNSEEN for one in title)
    assert not re.search(r"@\w|[#!]\d|(?i:gh-\d)", title)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Draft: [WIP] (draft) fix it", "fix it"),
        ("WIP - [skip ci] [no ci] fix", "fix"),
        ("[API] add a route", "[API] add a route"),
        ("Drafting the page", "Drafting the page"),
        ("\u200b\u202e", NO_TITLE),
        ("Draft:", NO_TITLE),
        ("#1", "1"),
    ],
)
def test_a_title_sets_no_state_skips_no_ci_and_is_never_empty(text: str, title: str) -> None:
    assert inert_title(text) == title


@pytest.mark.parametrize("letter", ["x", "\U0001f600", "e\u0301", "\u202e", "#", " x"])
def test_200_kb_are_cut_at_a_code_point_with_a_marker(letter: str) -> None:
    text = letter * (200_000 // len(letter))
    line = inert(text, 100)
    assert len(shown(line)) <= 100
    assert shown(line).endswith(CUT.strip() if letter != "\u202e" else "(cut)")
    assert len(inert_title(text)) <= 120
    assert inert("x" * 100, 100) == "x" * 100
