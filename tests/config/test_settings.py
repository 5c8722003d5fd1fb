"""What can be configured: every key described, forms of values, and no stored secret (spec page 8)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from touchline.commands.init import TEMPLATE
from touchline.config import keys, shape
from touchline.config.load import check_document
from touchline.config.source import parse_document
from touchline.documents.duration import parse_duration
from touchline.documents.settings import Settings
from touchline.errors import ConfigError


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        check_document(text.encode(), "f")
    return str(caught.value)


def all_keys(path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for key in shape.valid_keys(path):
        here = (*path, key)
        yield here
        for below in (here, (*here, "any"), (*here, 0)):
            yield from all_keys(below)


def described(schema: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    for name, definition in {"Settings": schema, **schema["$defs"]}.items():
        for key, field in definition.get("properties", {}).items():
            # pydantic leaves a text out that is word for word the one of the section it points to.
            section = schema["$defs"].get(field.get("$ref", "").rpartition("/")[2], {})
            yield f"{name}.{key}", field.get("description") or section.get("description")


def test_every_key_has_a_description_in_the_json_schema() -> None:
    found = dict(described(Settings.model_json_schema()))
    assert len(found) > 40
    assert [name for name, text in found.items() if not text] == []


def test_the_sections_are_those_of_the_specification() -> None:
    assert shape.valid_keys(()) == [
        "executors",
        "reviewers",
        "exerciser",
        "tests",
        "gates",
        "verify",
        "forge",
        "run",
        "permissions",
        "secrets",  # besides page 8: what page 5 calls the repository's own patterns
        "hooks",
    ]


def test_no_configuration_at_all_is_valid() -> None:
    assert check_document(b"", "f") == Settings()


def test_the_template_of_init_changes_nothing_until_it_is_uncommented() -> None:
    assert check_document(TEMPLATE.encode(), "f") == Settings()


def test_the_uncommented_template_is_valid_and_shows_every_key() -> None:
    text = re.sub(r"^#(?! \w|$)", "", TEMPLATE, flags=re.MULTILINE).encode()
    check_document(text, "f")
    marks = parse_document(text, "f").marks
    shown = {tuple("any" if step in NAMES else 0 if step == 1 else step for step in path) for path in marks}
    missing = [keys.render(path) for path in all_keys() if path not in shown]
    assert missing == []


NAMES = ("claude", "rehearsal", "git.example.com")


def test_a_command_is_split_as_a_shell_would_and_run_without_one() -> None:
    found = check_document(b"tests: {command: \"pytest -k 'a b'\"}", "f")
    assert found.tests.command == ("pytest", "-k", "a b")


def test_a_command_can_be_a_list_of_words() -> None:
    assert check_document(b"tests: {command: [sh, -c, 'a && b']}", "f").tests.command == ("sh", "-c", "a && b")


@pytest.mark.parametrize("line", ["a && b", "a | b", "a > b", "a; b", "a $(b)", "a `b`", "a &"])
def test_shell_syntax_in_a_command_is_refused_with_the_way_to_write_it(line: str) -> None:
    assert 'a shell takes a list: ["sh", "-c"' in refusal(f"tests: {{command: {line!r}}}")


@pytest.mark.parametrize("line", ['""', "[]", "['']", "'a \"b'", '"a\\0b"'])
def test_an_empty_or_broken_command_is_refused(line: str) -> None:
    assert "f:1:9: tests.command: expected a" in refusal(f"tests: {{command: {line}}}") or "words" in refusal(
        f"tests: {{command: {line}}}"
    )


@pytest.mark.parametrize("host", ["github.com", "git.example.com:8443", "localhost"])
def test_a_forge_is_named_by_its_host(host: str) -> None:
    assert list(check_document(f"forge: {{'{host}': {{}}}}".encode(), "f").forge) == [host]


@pytest.mark.parametrize("host", ["GitHub.com", "https://github.com", "github.com/x", "user@host", "-a", "a:b"])
def test_what_is_no_host_is_refused(host: str) -> None:
    assert "expected a host name" in refusal(f"forge: {{'{host}': {{}}}}")


def test_a_reviewer_is_an_executor_or_a_command_and_not_both() -> None:
    assert "expected either `executor` or `command`" in refusal("reviewers: [{name: a}]")
    assert "expected either `executor` or `command`" in refusal("reviewers: [{name: a, executor: b, command: c}]")


def test_two_reviewers_cannot_have_one_name() -> None:
    assert "'a' is there twice" in refusal("reviewers: [{name: a, executor: b}, {name: a, command: c}]")


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "MY_TOKEN", "DB_PASSWORD", "client_secret", "CREDENTIALS"])
def test_a_secret_cannot_be_stored_under_env_and_is_not_repeated(name: str) -> None:
    said = refusal(f"executors: {{a: {{env: {{{name}: hunter2}}}}}}")
    assert f"{name} belongs under `env_from`" in said
    assert "hunter2" not in said


def test_env_from_names_a_variable_and_never_holds_a_value() -> None:
    said = refusal("executors: {a: {env_from: {KEY: sk-ant-hunter2}}}")
    assert "expected the name of an environment variable, never its value" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(("text", "seconds"), [("1", 1), ("90s", 90), ("30m", 1800), ("6h", 21600), (" 5m ", 300)])
def test_a_duration_is_a_whole_number_with_an_optional_unit(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0m", "-1", "1.5h", "1d", "1h30m", "m", "٣", "1 h", "1H", "9" * 12])
def test_every_other_form_of_a_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="whole number of seconds"):
        parse_duration(text)


@given(st.text(max_size=12))
def test_any_text_is_a_positive_duration_or_refused(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 1
    assert seconds > 0


@pytest.mark.parametrize("written", ["90", '"90"', "90s"])
def test_a_duration_in_the_file_may_be_a_number_or_a_text(written: str) -> None:
    assert check_document(f"tests: {{timeout: {written}}}".encode(), "f").tests.timeout_s == 90


@pytest.mark.parametrize("written", ["true", "1.5", "0", "[1]"])
def test_a_duration_in_the_file_is_nothing_else(written: str) -> None:
    assert "f:1:9: tests.timeout: expected" in refusal(f"tests: {{timeout: {written}}}")


@pytest.mark.parametrize("pattern", ["(", "x*"])
def test_a_kind_of_secret_that_finds_nothing_or_everything_is_refused_with_its_name(pattern: str) -> None:
    with pytest.raises(ValidationError, match="regular expression for acme"):
        Settings.model_validate({"secrets": {"patterns": {"acme": pattern}}})
