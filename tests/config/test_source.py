"""Reading YAML: positions, plain values, and hostile texts that end in an error within a moment (spec page 8)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.config.source import MAX_BYTES, parse_document, parse_value
from touchline.errors import ConfigError


def value(text: str | bytes) -> dict[str, object]:
    return parse_document(text.encode() if isinstance(text, str) else text, "f").value


def refusal(text: str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        value(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5),
        ("-5", -5),
        ("0x10", 16),
        ("010", "010"),
        ("1_000", "1_000"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        ("true", True),
        ("yes", "yes"),
        ("off", "off"),
        ("~", None),
        ("null", None),
        ("30m", "30m"),
        ("2026-12-01", "2026-12-01"),
        ('"5"', "5"),
        ("'true'", "true"),
        ("!!str 5", "5"),
        ("[a, 1, [b]]", ["a", 1, ["b"]]),
        ("{a: {b: c}}", {"a": {"b": "c"}}),
        ("", None),
        ("9" * 30, "9" * 30),
    ],
)
def test_scalars_are_read_by_the_rules_of_yaml_1_2(text: str, expected: object) -> None:
    found = parse_value(text, "x")
    assert found == expected
    assert type(found) is type(expected)


def test_every_key_and_item_knows_its_line_and_column() -> None:
    parsed = parse_document(b"run:\n  max_turns: 3\nreviewers:\n  - name: a\n", "f.yaml")
    assert parsed.where(("run", "max_turns")) == "f.yaml:2:3"
    assert parsed.where(("reviewers", 0)) == "f.yaml:4:5"
    assert parsed.where(("reviewers", 0, "missing")) == "f.yaml:4:5"
    assert parsed.where(("nowhere",)) == "f.yaml:1:1"


def test_an_empty_file_and_a_file_of_comments_say_nothing() -> None:
    assert value("") == value("# a\n# b\n") == value("\ufeff# bom\n") == value("---\n") == {}


def test_anchors_aliases_and_merge_keys_are_followed() -> None:
    text = "a: &base {x: 1, y: 2}\nb: *base\nc: {<<: *base, y: 3}\nd: {<<: [*base, {z: 4}]}\n"
    assert value(text) == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 2},
        "c": {"x": 1, "y": 3},
        "d": {"x": 1, "y": 2, "z": 4},
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("run: {a: 1, a: 2}", "f:1:13: the key `a` is there twice, first in line 1"),
        ("run:\n\tmax_turns: 1\n", "f:2:1: this is not YAML"),
        ("a: 'x", "f:1:6: this is not YAML"),
        ("a: b: c", "Put a text that holds `: ` in quotes"),
        (b"a: \xff\n", "f:1:4: this is not UTF-8"),
        (b"a: 1\nb: x\xe9\n", "f:2:5: this is not UTF-8"),
        ("a: 1\nb: \x07", "f:2:4: a control character is not allowed"),
        ("- a", "f:1:1: expected a mapping of sections"),
        ("just text", "f:1:1: expected a mapping of sections"),
        ("a: &a [*a]", "the alias `*a` stands inside itself"),
        ("a: *b", "the alias `*b` is not defined above"),
        ("a: !!python/object/apply:os.system [ls]", "python/object/apply:os.system is not read"),
        ("a: !mine x", "the tag !mine is not read"),
        ("a: !!binary aGk=", "is not read"),
        ("a: 1\n---\nb: 2\n", "f:2:1: a second document begins"),
        ("%YAML 1.1\n---\na: yes\n", "a % directive is not read"),
        ("? [a]\n: 1\n", "a key is no text"),
        ("? *x\n: 1\n", "a key is an alias"),
        (": 1\n", "a key is empty"),
        ("a: {<<: 3}", "`<<` merges only mappings"),
        ("a: " + "[" * 50 + "]" * 50, "more than 32 levels are nested"),
    ],
)
def test_what_is_no_plain_yaml_mapping_is_refused_with_its_place(text: str | bytes, says: str) -> None:
    assert says in refusal(text)


def test_tabs_get_the_advice_to_use_spaces() -> None:
    assert "Indent with spaces" in refusal("run:\n\ta: 1\n")


def test_no_refusal_repeats_the_text_of_the_file() -> None:
    for text in ("a: 'hunter2\n", "a: hunter2: x\n", "a: hunter2\x07\n", "hunter2\n", "a: [hunter2\n- b"):
        assert "hunter2" not in refusal(text)


def outcome(text: bytes) -> object:
    try:
        return value(text)
    except ConfigError as exc:
        return "refused" if str(exc).startswith("f:") else str(exc)


def billion_laughs() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "\n".join(lines).encode()


def deep_aliases() -> bytes:
    return "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 60))]).encode()


@pytest.mark.parametrize(
    "text",
    [
        billion_laughs(),
        deep_aliases(),
        b"[" * 200_000,
        b"{a: " * 50_000,
        b"- " * 100_000,
        b"a:\n" + b" " * 200_000,
        b"&a " * 50_000,
        b"? " * 50_000,
        b"a: '" + b"\n" * 200_000,
        b"x" * (MAX_BYTES + 1),
        b"a: [" + b"1," * 30_000 + b"1]",
    ],
    ids=["laughs", "depth", "lists", "maps", "dashes", "spaces", "anchors", "keys", "open", "size", "values"],
)
def test_a_hostile_file_is_an_answer_within_seconds_and_never_a_hang(text: bytes) -> None:
    begun = time.process_time()
    assert outcome(text) in ({"a": None}, "refused")
    assert time.process_time() - begun < 5


def test_the_billion_laughs_are_refused_by_name() -> None:
    assert "values once aliases are expanded" in refusal(billion_laughs())


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(alphabet="a:-[]{}&*!|>'\"#% \n\t?,<0", max_size=60).map(str.encode)))
def test_any_bytes_give_a_mapping_or_a_configuration_error(data: bytes) -> None:
    found = outcome(data)
    assert found == "refused" or isinstance(found, dict)
